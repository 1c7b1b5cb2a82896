"""What holds documents and files to their sources: quotations, output, the list of commands, and the layout of the code.

In a README, a comment before a fenced block says what the block holds:

    <!-- quote solutions/04_tma_single_stage.cu loop -->
        the region "loop" of that file: // [region loop] ... // [end region], without the exercise's markers,
        moved to the left margin
    <!-- output solutions/04_tma_single_stage.emu --m 256 --n 256 --k 256 -->
        what that program of the build folder prints, with "..." for the time it took
    <!-- quote lessons/12_your_own_kernel/scale_tiles.cu -->
        the whole file, without the marks of its regions
    <!-- report scale_tiles/no_wait -->
        the short report of that program with that bug in it, or of the right one, as if its file were my_kernel.cu
"""

import difflib
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

from workbook import base, bugs, report
from workbook.base import BUILD, OK, SKIPPED, WRONG, Stop, load_text, save_text, shown
from workbook.build import tools
from workbook.lessons import MARKER
from workbook.run import run

BLOCK = re.compile(r"<!-- (quote|output|report) (.+?) -->\n```(\w*)\n(.*?)```\n", re.DOTALL)
COMMANDS = re.compile(r"(<!-- commands -->\n).*?(<!-- commands: end -->\n)", re.DOTALL)
TIME_LIMIT_S = 60


class Unavailable(Exception):
    """The source of a block cannot be had; the message says why."""


def region(path, name=None):
    """The lines of a named region, or of the whole file, without exercise markers, dedented."""
    if not name:
        return "".join(line + "\n" for line in load_text(base.ROOT / path).splitlines() if not MARKER.match(line))
    found = re.search(rf"^ *// \[region {re.escape(name)}\]\n(.*?)^ *// \[end region\]$", load_text(base.ROOT / path), re.M | re.S)
    if found is None:
        raise Unavailable(f"{path} has no region {name}")
    return textwrap.dedent("\n".join(line for line in found[1].splitlines() if not MARKER.match(line))) + "\n"


def short_report(label):
    """What `make try` shows of a program of the corpus with a bug in it, or of the right one."""
    name, _, bug = label.partition("/")
    wrong = None if bug == "right" else bugs.find_bug(name, bug)
    done = bugs.execute(bugs.build(bugs.find(name), wrong), "", "in-order")
    lines = report.body(done, printed=True) or ["0 findings", *report.seen_lines(done)]
    source = f"build/bugs/{name}/{bug}.cu"
    return "\n".join(lines).replace(shown(base.BUILD / "bugs" / name / f"{bug}.cu"), source).replace(source, "my_kernel.cu").replace(
        f"{bug}.cu", "my_kernel.cu") + "\n"


def output(program, *words):
    """What a program of the build folder prints."""
    if not (BUILD / program).exists():
        raise Unavailable(f"{shown(BUILD / program)} is not built")
    return re.sub(r"^  time .*$", "  time     ...", run([BUILD / program, *words], TIME_LIMIT_S).output, flags=re.M)


def command_table():
    """The README's table: the Makefile's `## make NAME   what it does` comments."""
    rows = [re.fullmatch(r"## (make \S+(?: \S+=\S+)*)  +(.+)", line) for line in load_text(base.ROOT / "Makefile").splitlines()]
    return "\n".join(["| command | what it does |", "|---|---|", *(f"| `{r[1]}` | {r[2]} |" for r in rows if r)]) + "\n"


def quotes(write):
    """Compares every block with its source, or brings all of them up to date."""
    failures, blocks = [], 0
    for path in [base.ROOT / "README.md", *sorted((base.ROOT / "lessons").glob("*/README.md"))]:
        if not path.exists():
            continue
        text = load_text(path)

        def bring(found):
            nonlocal blocks
            blocks += 1
            kind, words, old = found[1], found[2].split(), found[4]
            at = f"{shown(path)}:{text[:found.start()].count(chr(10)) + 1}"
            try:
                new = {"quote": region, "output": output, "report": short_report}[kind](*words)
            except (Unavailable, OSError, TypeError, Stop) as error:
                failures.append(f"{at}: {error}")
                return found[0]
            if old != new and not write:
                diff = difflib.unified_diff(old.splitlines(), new.splitlines(), "document", "source", lineterm="")
                failures.append(f"{at}: out of date; run: workbook quotes --write\n" + "\n".join(diff))
            return f"<!-- {kind} {found[2]} -->\n```{found[3]}\n{new}```\n"

        renewed = BLOCK.sub(bring, text)
        table = COMMANDS.sub(lambda m: m[1] + command_table() + m[2], renewed)
        if table != renewed and not write:
            failures.append(f"{shown(path)}: the table of commands is not that of the Makefile; run: workbook quotes --write")
        if sum(text.count(f"<!-- {kind} ") for kind in ("quote", "output", "report")) != len(BLOCK.findall(text)):
            failures.append(f"{shown(path)}: a quote, output or report comment is not followed by a fenced block")
        if write and table != text:
            save_text(path, table)
            print(f"renewed {shown(path)}")
    print("\n".join(failures) or f"{blocks} quoted blocks are up to date")
    return WRONG if failures else OK


def help_text():
    """What `make` prints: the Makefile's own ## comments."""
    print("".join(line[3:] + "\n" for line in load_text(base.ROOT / "Makefile").splitlines() if line.startswith("## ") or line == "##"),
          end="")
    return OK


FOLDERS = ("common", "solutions", "checks")  # lessons: the student's own, and derived from solutions
ENDINGS = {".cpp", ".hpp", ".cu", ".cuh", ".h"}
VERSION = "14."  # another version lays the code out differently


def find_clang_format():
    venv = tools()["VENV"] if (BUILD / "tools.env").exists() else base.ROOT / ".venv"
    inside = [str(p) for p in Path(venv).glob("lib/python3*/site-packages/clang_format/data/bin/clang-format")]
    for candidate in (*inside, "clang-format-14", "clang-format"):
        path = shutil.which(candidate)
        if path and f"version {VERSION}" in run([path, "--version"], TIME_LIMIT_S).output:
            return path
    return None


def layout(write):
    """Compares the project's C++ and CUDA files with the layout of .clang-format, or applies it."""
    clang_format = find_clang_format()
    if clang_format is None:
        print(f"SKIPPED: no clang-format {VERSION}x here; `make setup` brings one where it can reach the package index")
        return SKIPPED
    files = sorted(shown(p) for f in FOLDERS for p in (base.ROOT / f).rglob("*") if p.suffix in ENDINGS)
    if write:
        return subprocess.run([clang_format, "-i", *files], cwd=base.ROOT).returncode
    done = run([clang_format, "--dry-run", "--Werror", *files], 300, cwd=base.ROOT)
    wrong = sorted(set(re.findall(r"^([^:\n]+):\d+:\d+: error: code should be clang-formatted", done.output, re.M)))
    if not wrong and done.code != OK:
        raise Stop("clang-format failed", ("why", done.output[:400]))
    print("".join(f"not laid out as .clang-format says: {name}\n" for name in wrong) +
          (f"{len(wrong)} of {len(files)} files; try: make format" if wrong else f"{len(files)} files are laid out as .clang-format says"))
    return WRONG if wrong else OK
