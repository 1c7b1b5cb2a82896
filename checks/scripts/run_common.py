"""What the scripts behind the make targets share: places, tools, lessons, and how a message looks."""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BUILD_DIR") or "build")
if not BUILD.is_absolute():
    BUILD = ROOT / BUILD

OK, WRONG, BAD_INPUT, TODO_OPEN, SKIPPED = 0, 1, 2, 3, 77  # exit codes of every program here


def die(what, *lines, code=BAD_INPUT):
    """Ends the script with a message: what happened, then lines such as 'why ...' and 'try ...'."""
    print("error: " + what, *("  " + line for line in lines), sep="\n", file=sys.stderr)
    sys.exit(code)


def tools():
    """The answers of setup.sh as a dict: CMAKE, CTEST, NVCC, PYTHON, ..."""
    path = BUILD / "tools.env"
    if not path.exists():
        die(f"{path} does not exist", "why   setup has not run for this build folder", "try   make setup")
    return dict(re.findall(r"^(\w+)='(.*)'$", path.read_text(), re.M))


class Lesson:
    """One rung of the ladder; every path follows from its name, such as 04_tma_single_stage."""

    def __init__(self, name):
        self.name = name
        self.number = name[:2]
        self.solution = ROOT / "solutions" / f"{name}.cu"
        self.exercise = ROOT / "lessons" / name / f"{name}.cu"
        self.readme = ROOT / "lessons" / name / "README.md"

    def program(self, device, group="solutions"):
        """The built program for device 'gpu' or 'emu'; group is 'solutions' or 'lessons'."""
        return BUILD / group / (self.name + (".emu" if device == "emu" else ""))


def lessons(wanted=None):
    """All lessons in order, or those that `wanted` names: '04', '4' or '04_tma_single_stage'."""
    names = sorted(p.stem for p in (ROOT / "solutions").glob("[0-9][0-9]_*.cu"))
    if not names:
        die("no lesson found", f"where {ROOT / 'solutions'} has no NN_name.cu")
    if not wanted:
        return [Lesson(n) for n in names]
    number = wanted.zfill(2) if wanted.isdigit() else None
    chosen = [Lesson(n) for n in names if n == wanted or n[:2] == number]
    if not chosen:
        die(f"there is no lesson '{wanted}'", "try   one of: " + ", ".join(names))
    return chosen


def colour(text, code):
    """`text` in a terminal colour (32 green, 31 red, 33 yellow, 2 dim) where the output is a terminal."""
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        return f"\033[{code}m{text}\033[0m"
    return text


def table(header, rows, paint=None):
    """Prints rows under a header. Cells that look like numbers are right-aligned. paint(column, cell, padded)
    may return the padded cell in a colour."""
    rows = [[str(c) for c in row] for row in rows]
    widths = [max(len(r[i]) for r in [header] + rows) for i in range(len(header))]
    number = re.compile(r"^[-+]?[\d.,]+( [A-Za-z/%]+)?$")
    right = [any(number.match(r[i]) for r in rows) and all(number.match(r[i]) or r[i] in ("-", "n/a") for r in rows)
             for i in range(len(header))]

    def line(cells, brush=None):
        out = []
        for i, cell in enumerate(cells):
            padded = cell.rjust(widths[i]) if right[i] else cell.ljust(widths[i])
            out.append(brush(i, cell, padded) if brush else padded)
        print("  " + "  ".join(out).rstrip())

    line(header)
    print("  " + "  ".join("-" * w for w in widths))
    for row in rows:
        line(row, paint)
