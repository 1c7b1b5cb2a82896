"""The corpus of deliberate bugs: what a patch says about itself, and how it is applied.

checks/bugs/NN_name/BUG.patch changes solutions/NN_name.cu; checks/bugs/standalone/PROGRAM/BUG.patch changes
checks/bugs/standalone/PROGRAM.cu. A patch is a header of 'key: value' lines (a value goes on in indented lines), an
empty line, and a unified diff:

  bug        its name, that of the file
  title      what goes wrong, one line
  class      the kind of mistake (README.md of checks/bugs lists them)
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

from run_common import ROOT, die, lessons

FOLDER = ROOT / "checks" / "bugs"
STANDALONE = FOLDER / "standalone"
KEYS = ("bug", "title", "class", "h200", "sanitizer", "expect", "run", "why")
NOT_MEASURED = "not measured"
# More K tiles than any lesson has stages in its ring, and fewer; ragged in M, N and K, with two tiles in M.
LONG, SHORT = "--m 136 --n 120 --k 584", "--m 136 --n 120 --k 72"


@dataclass
class Program:
    """A right program, from which the bugs are made."""
    name: str  # '04_tma_single_stage', or the stem of a stand-alone source
    source: object
    folder: object  # of its patches
    runs: list  # argument strings

    @property
    def label(self):
        return self.name[:2] if self.name[:2].isdigit() else self.name


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

    def __str__(self):
        return self.written

    def meets(self, finding_id, line):
        return any(finding_id == i and text in line for i, text in self.places)


@dataclass
class Bug:
    program: Program
    path: object
    header: dict
    diff: list  # lines of the unified diff
    expect: Expectation

    @property
    def name(self):
        return self.path.stem

    @property
    def run(self):
        return self.header.get("run", self.program.runs[0])


def programs():
    """Every program of the corpus: the lessons in order, then the stand-alone ones."""
    found = [Program(l.name, l.solution, FOLDER / l.name, [LONG, SHORT]) for l in lessons()]
    return found + [Program(p.stem, p, STANDALONE / p.stem, [""]) for p in sorted(STANDALONE.glob("*.cu"))]


def parse_expectation(path, written):
    if m := re.fullmatch(r"numbers ([a-z-]+)", written):
        return Expectation("numbers", written, text=m[1])
    if m := re.fullmatch(r'refused "(.+)"', written):
        return Expectation("refused", written, text=m[1])
    group = r'([a-z-]+(?: \| [a-z-]+)*) at "([^"]+)"'
    if m := re.fullmatch(rf"(advice )?({group}(?: \| {group})*)", written):
        places = [(i, text) for ids, text in re.findall(group, m[2]) for i in ids.split(" | ")]
        return Expectation("advice" if m[1] else "error", written, places)
    die(f"the 'expect:' of {path} cannot be read", f"where {written}",
        'try   one of the forms that the head of run_bugs_corpus.py lists')


def read(program, path):
    """The Bug in a patch file; ends with a message if a header is missing, unknown or empty."""
    lines = path.read_text().splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("--- a/")), None)
    if start is None:
        die(f"{path} holds no diff", "why   no line starts with '--- a/'")
    header, key = {}, None
    for number, line in enumerate(lines[:start], 1):
        if m := re.match(r"([a-z0-9]+): +(\S.*)$", line):
            key = m[1]
            if key not in KEYS or key in header:
                die(f"header '{key}' is unknown or there twice", f"where {path}:{number}", "try   " + ", ".join(KEYS))
            header[key] = m[2].strip()
        elif line.startswith(" ") and key:
            header[key] += " " + line.strip()
        elif line.strip():
            die("this header line cannot be read", f"where {path}:{number}: {line}", "try   key: value")
    missing = [k for k in KEYS if k not in header and k != "run"]
    if missing:
        die(f"{path} lacks a header", "why   no " + ", ".join(missing))
    if header["bug"] != path.stem:
        die(f"{path} calls itself {header['bug']}", f"try   bug: {path.stem}")
    return Bug(program, path, header, lines[start:], parse_expectation(path, header["expect"]))


def bugs(program):
    return [read(program, p) for p in sorted(program.folder.glob("*.patch"))]


def find(label):
    """The program that '04', '4', '04_tma_single_stage' or a stand-alone name means."""
    everything = programs()
    number = label.zfill(2) if label.isdigit() else None
    for p in everything:
        if label == p.name or number == p.label:
            return p
    die(f"there is no program '{label}' in the corpus", "try   one of: " + ", ".join(p.label for p in everything))


def find_bug(label, name):
    program = find(label)
    path = program.folder / f"{name}.patch"
    if not path.exists():
        die(f"lesson {program.label} has no bug '{name}'",
            "try   one of: " + (", ".join(b.name for b in bugs(program)) or "none yet"))
    return read(program, path)


def hunks(bug):
    """[(old lines, new lines)] of the diff, context included."""
    found = []
    for line in bug.diff[2:]:
        if line.startswith("@@"):
            found.append(([], []))
        elif not found:
            die("the diff has text before its first '@@'", f"where {bug.path}")
        elif line[:1] in (" ", "-", "+", ""):
            if line[:1] != "+":
                found[-1][0].append(line[1:])
            if line[:1] != "-":
                found[-1][1].append(line[1:])
        else:
            die("a line of the diff starts with neither blank, '-' nor '+'", f"where {bug.path}: {line}")
    return found


def apply(bug):
    """The text of the patched source. A hunk fits at exactly one place of the source, or this ends with a message."""
    relative = bug.program.source.relative_to(ROOT)
    if bug.diff[0].split("\t")[0] != f"--- a/{relative}" or bug.diff[1].split("\t")[0] != f"+++ b/{relative}":
        die("the diff is against another file", f"where {bug.path}", f"why   its program is {relative}")
    lines = bug.program.source.read_text().splitlines()
    for old, new in hunks(bug):
        places = [i for i in range(len(lines) - len(old) + 1) if lines[i:i + len(old)] == old]
        if len(places) != 1:
            die("a patch does not apply", f"where {bug.path}, the hunk with: " + (old[len(old) // 2] if old else ""),
                f"why   its lines occur {len(places)} times in {relative}", "try   make the diff again", code=1)
        lines[places[0]:places[0] + len(old)] = new
    return "\n".join(lines) + "\n"


def write_header(bug, **values):
    """Replaces header lines of a patch file, such as h200='correct (5 of 5 runs)'."""
    header = dict(bug.header, **values)
    keys = [k for k in KEYS if k in header]
    text = "".join(f"{k + ':':<11}{header[k]}\n" for k in keys)
    bug.path.write_text(text + "\n" + "\n".join(bug.diff) + "\n")
