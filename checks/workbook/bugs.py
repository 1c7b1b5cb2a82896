"""The corpus of deliberate bugs: what a patch says about itself, how it is applied, and what must come of it.

checks/bugs/NN_name/BUG.patch changes solutions/NN_name.cu; checks/bugs/standalone/PROGRAM/BUG.patch changes
checks/bugs/standalone/PROGRAM.cu, or lessons/NN_your_own_kernel/PROGRAM.cu. A patch is a header of 'key: value' lines (a value
goes on in indented lines), an empty line, and a unified diff:

  bug        its name, that of the file
  title      what goes wrong, one line
  h200       what the hardware showed, measured; 'not measured' until then
  sanitizer  what the tools of compute-sanitizer said; 'not measured' until then
  expect     what the emulator must say, under every schedule; one of
               ID at "TEXT"         one error, with this id, at a source line that holds TEXT; 'A | B at "TEXT"' and
                                    'A at "TEXT" | B at "OTHER"' where the rule itself makes both right
               advice ID at "TEXT"  no error, right numbers, and this advice
               numbers KIND         no error, and wrong numbers that the comparison names KIND
                                    ('wrong' where a program only says that)
               refused "TEXT"       the host or the runtime refuses, and the program says TEXT
  run        arguments of the program; optional
  why        two sentences
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from workbook import base
from workbook.base import BAD_INPUT, BUILD, OK, WRONG, Stop, load_text, save_text, shown
from workbook.lessons import lessons
from workbook.program import make
from workbook.run import run, schedules

KEYS = ("bug", "title", "h200", "sanitizer", "expect", "run", "why")
NOT_MEASURED = "not measured"
# More K tiles than any lesson has stages in its ring, and fewer; ragged in M, N and K, with two tiles in M.
LONG, SHORT = "--m 136 --n 120 --k 584", "--m 136 --n 120 --k 72"
LIMIT_S = 100


def folder():
    return base.ROOT / "checks" / "bugs"


@dataclass(frozen=True)
class Program:
    """A right program, from which the bugs are made. name: '04_tma_single_stage', or the stem of a stand-alone source."""
    name: str
    source: Path
    patches: Path
    runs: tuple  # argument strings

    @property
    def label(self):
        return self.name.split("_")[0] if self.name[:2].isdigit() else self.name

    @property
    def built(self):
        """The right program, which the build has made."""
        return BUILD / ("solutions" if self.source.parent.name == "solutions" else "standalone") / f"{self.name}.emu"

    @property
    def target(self):
        return f"{self.built.parent.name}.{self.name}.emu"


@dataclass
class Expectation:
    """The contract of a bug: kind 'error' or 'advice' (places), 'numbers' (text: their kind) or 'refused' (text)."""
    kind: str
    written: str
    places: list = field(default_factory=list)  # (id, text of the line)
    text: str = ""

    @property
    def ids(self):
        return list(dict.fromkeys(i for i, _ in self.places))

    def meets(self, finding):
        return any(finding["id"] == i and text in source_line(finding) for i, text in self.places)


@dataclass
class Bug:
    program: Program
    path: Path
    header: dict
    diff: list  # lines of the unified diff
    expect: Expectation

    @property
    def name(self):
        return self.path.stem

    @property
    def label(self):
        return f"{self.program.label}/{self.name}"

    @property
    def run(self):
        return self.header.get("run", self.program.runs[0])


def programs():
    """Every program of the corpus: the lessons in order, with those beside a lesson (04b), then the stand-alone ones."""
    sources = sorted([l.solution for l in lessons()] + [*(base.ROOT / "solutions").glob("[0-9][0-9]b_*.cu")])
    found = [Program(p.stem, p, folder() / p.stem, (LONG, SHORT)) for p in sources]
    alone = folder() / "standalone"
    sources = [*sorted(alone.glob("*.cu")), *sorted((base.ROOT / "lessons").glob("[0-9][0-9]_your_own_kernel/*.cu"))]
    return found + [Program(p.stem, p, alone / p.stem, ("",)) for p in sources]


def parse_expectation(path, written):
    m = re.fullmatch(r"numbers ([a-z0-9-]+)", written)
    if m:
        return Expectation("numbers", written, text=m[1])
    m = re.fullmatch(r'refused "(.+)"', written)
    if m:
        return Expectation("refused", written, text=m[1])
    group = r'([a-z-]+(?: \| [a-z-]+)*) at "([^"]+)"'
    m = re.fullmatch(rf"(advice )?({group}(?: \| {group})*)", written)
    if not m:
        raise Stop(f"the 'expect:' of {shown(path)} cannot be read", ("where", written),
                   ("try", f"one of the forms that the head of {shown(__file__)} lists"))
    places = [(i, text) for ids, text in re.findall(group, m[2]) for i in ids.split(" | ")]
    return Expectation("advice" if m[1] else "error", written, places)


def read(program, path):
    """The Bug in a patch file; Stop where a header is missing, unknown or empty."""
    lines = load_text(path).splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("--- a/")), None)
    if start is None:
        raise Stop(f"{shown(path)} holds no diff", ("why", "no line starts with '--- a/'"))
    header, key = {}, None
    for number, line in enumerate(lines[:start], 1):
        m = re.match(r"([a-z0-9]+): +(\S.*)$", line)
        if m:
            key = m[1]
            if key not in KEYS or key in header:
                raise Stop(f"header '{key}' is unknown or there twice", ("where", f"{shown(path)}:{number}"), ("try", ", ".join(KEYS)))
            header[key] = m[2].strip()
        elif line.startswith(" ") and key:
            header[key] += " " + line.strip()
        elif line.strip():
            raise Stop("this header line cannot be read", ("where", f"{shown(path)}:{number}: {line}"), ("try", "key: value"))
    missing = [k for k in KEYS if k not in header and k != "run"]
    if missing:
        raise Stop(f"{shown(path)} lacks a header", ("why", "no " + ", ".join(missing)))
    if header["bug"] != path.stem:
        raise Stop(f"{shown(path)} calls itself {header['bug']}", ("try", f"bug: {path.stem}"))
    return Bug(program, path, header, lines[start:], parse_expectation(path, header["expect"]))


def bugs(program):
    return [read(program, p) for p in sorted(program.patches.glob("*.patch"))]


def find(label):
    """The program that '04', '4', '04_tma_single_stage' or a stand-alone name means."""
    number = label.zfill(2) if label.isdigit() else label
    for p in programs():
        if number in (p.name, p.label):
            return p
    raise Stop(f"there is no lesson or program '{label}' with bugs", ("try", "one of: " + ", ".join(p.label for p in programs())))


def find_bug(label, name):
    program = find(label)
    path = program.patches / f"{name}.patch"
    if not path.exists():
        raise Stop(f"{program.label} has no bug '{name}'", ("try", "one of: " + ", ".join(b.name for b in bugs(program))))
    return read(program, path)


def hunks(bug):
    """[(old lines, new lines)] of the diff, context included."""
    found = []
    for line in bug.diff[2:]:
        if line.startswith("@@"):
            found.append(([], []))
        elif not found:
            raise Stop("the diff has text before its first '@@'", ("where", shown(bug.path)))
        elif line[:1] in (" ", "-", "+", ""):
            if line[:1] != "+":
                found[-1][0].append(line[1:])
            if line[:1] != "-":
                found[-1][1].append(line[1:])
        else:
            raise Stop("a line of the diff starts with neither blank, '-' nor '+'", ("where", f"{shown(bug.path)}: {line}"))
    return found


def apply(bug):
    """The text of the patched source. A hunk fits at exactly one place of the source, or this ends with a message."""
    relative = bug.program.source.relative_to(base.ROOT)
    if [line.split("\t")[0] for line in bug.diff[:2]] != [f"--- a/{relative}", f"+++ b/{relative}"]:
        raise Stop("the diff is against another file", ("where", shown(bug.path)), ("why", f"its program is {relative}"))
    lines = load_text(bug.program.source).splitlines()
    for old, new in hunks(bug):
        places = [i for i in range(len(lines) - len(old) + 1) if lines[i:i + len(old)] == old]
        if len(places) != 1:
            raise Stop("a patch does not apply", ("where", f"{shown(bug.path)}, the hunk with: {(old or [''])[len(old) // 2]}"),
                       ("why", f"its lines occur {len(places)} times in {relative}"), ("try", "make the diff again"), code=WRONG)
        lines[places[0]:places[0] + len(old)] = new
    return "\n".join(lines) + "\n"


def write_header(bug, **values):
    """Replaces header lines of a patch file, such as h200='correct (5 of 5 runs)'."""
    header = dict(bug.header, **values)
    text = "".join(f"{k + ':':<11}{header[k]}\n" for k in KEYS if k in header)
    save_text(bug.path, text + "\n" + "\n".join(bug.diff) + "\n")


def build(program, bug=None, device="emu"):
    """The program with the bug in it, or the right one. Raises DoesNotCompile."""
    right = program.built
    if device == "emu" and not right.exists():
        raise Stop(f"{shown(right)} does not exist", ("try", f"cmake --build {shown(BUILD)} --target {program.target}"))
    if device == "emu" and not bug:
        return right
    name = bug.name if bug else "right"
    source = BUILD / "bugs" / program.name / f"{name}.cu"
    text = apply(bug) if bug else load_text(program.source)
    if not source.exists() or load_text(source) != text:
        save_text(source, text)
    return make(source, source.with_suffix(".emu" if device == "emu" else ""), device, (program.source, right), text)


def execute(executable, arguments, schedule):
    """One run under the emulator; a stand-alone program takes no arguments."""
    return run([executable, *arguments.split()], LIMIT_S, json_option=bool(arguments), EMU_SCHEDULE=schedule, EMU_TIME_LIMIT=LIMIT_S - 20)


def source_line(finding):
    """The text of the line a finding points at."""
    try:
        return load_text(finding["file"]).splitlines()[finding["line"] - 1].strip()
    except (OSError, IndexError):
        return ""


def kind_of_numbers(done):
    """'right', or what the comparison calls the wrong numbers; a stand-alone program only says 'wrong'."""
    if not done.result:
        return "wrong" if ": wrong, " in done.output else "right" if ": right, " in done.output else "none"
    return done.result.get("classification", "none")


def describe(done):
    """What came out, in one line."""
    if done.code is None:
        return f"no end within {done.limit_s:g} s"
    said = [f"{f['id']} at \"{source_line(f)}\"" for f in done.errors]
    if not said:
        said = [f"advice {f['id']} at \"{source_line(f)}\"" for f in done.findings] or ["no finding"]
        said += [f"numbers: {kind_of_numbers(done)}"]
    return "; ".join(said + [f"exit code {done.code}"])


def deviation(expect, done):
    """'' when a run came out as `expect` (None: a right program) asks for, else what came out."""
    errors = done.errors
    if expect is None:
        good = done.code == OK and not done.findings
    elif expect.kind == "error":
        good = done.code == WRONG and len(errors) == 1 and expect.meets(errors[0])
    elif expect.kind == "advice":
        good = done.code == OK and not errors and done.findings and all(expect.meets(f) for f in done.findings)
    elif expect.kind == "numbers":
        good = done.code == WRONG and not errors and kind_of_numbers(done) == expect.text
    else:
        good = (done.code in (WRONG, BAD_INPUT) and not errors and expect.text in done.output
                and done.result.get("verdict") in (None, "error"))
    return "" if good else describe(done)


def judge(executable, expect, runs):
    """[(arguments, schedule, what came out)] of every run that did not come out as it should."""
    tried = [(a, s, deviation(expect, execute(executable, a, s))) for a in runs for s in schedules()]
    return [(a, s, said) for a, s, said in tried if said]
