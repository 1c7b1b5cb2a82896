"""What every command shares: places, exit codes, the one form of an error, and how text is laid out."""

import os
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / (os.environ.get("BUILD_DIR") or "build")
WIDTH = 110  # columns, as in .clang-format

# Exit codes of every program and command here. For `make` 0 is success and all others are failure.
OK = 0         # what was asked for happened
WRONG = 1      # a program, test or file is not right
BAD_INPUT = 2  # an argument, the environment or the machine is at fault: nothing was judged
TODO_OPEN = 3  # a program has reached a blank that is still open
SKIPPED = 77   # it could not run here


class Stop(Exception):
    """Ends the command with a message: what happened, and lines such as ("where", ...), ("why", ...), ("try", ...)."""

    def __init__(self, what, *lines, code=BAD_INPUT):
        super().__init__(what)
        self.code = code
        self.lines = [(label, text) for label, text in lines if text]

    def __str__(self):
        rows = [f"  {label:<6} {text}".replace("\n", "\n" + " " * 9) for label, text in self.lines]
        return "\n".join([f"error: {self.args[0]}", *rows])


def handed_out():
    """Whether this is a student's copy of the workbook, which `make handout` has written: it has no worked programs."""
    return (ROOT / "checks" / "handout.txt").exists()


def disk_full():
    return Stop("the disk is full", ("where", f"{shown(BUILD)} or {os.environ.get('TMPDIR', '/tmp')}"),
                ("try", "make room, or build elsewhere: BUILD_DIR=folder"))


def shown(path):
    """A path as a reader of the checkout writes it."""
    try:
        return str(Path(os.path.normpath(path)).relative_to(ROOT))
    except ValueError:
        return str(path)


def load_text(path):
    """A file's text; bytes that are no UTF-8 are shown as such."""
    return Path(path).read_text(encoding="utf-8", errors="replace")


def save_text(path, text):
    """Writes a file whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


GREEN, RED, YELLOW, CYAN, DIM = 32, 31, 33, 36, 2


def colour(text, code):
    """`text` in a colour where the output is a terminal."""
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        return f"\033[{code}m{text}\033[0m"
    return text


def paragraph(label, text, width=WIDTH):
    """'  label  text', wrapped under itself."""
    lines = [line for part in str(text).splitlines() for line in textwrap.wrap(part, width - 9) or [""]]
    return "\n".join(f"  {label if i == 0 else '':<6} {line}" for i, line in enumerate(lines))


def table(header, rows, paint=None):
    """Prints rows under a header. A column of numbers is right-aligned. paint(column, cell) may return a colour."""
    rows = [[str(c) for c in row] for row in rows]
    widths = [max(len(r[i]) for r in [header] + rows) for i in range(len(header))]
    number = re.compile(r"[-+]?[\d.,]+( [A-Za-z/%]+)?|-|n/a")
    right = [bool(rows) and all(number.fullmatch(r[i]) for r in rows) for i in range(len(header))]

    def line(cells, brush=None):
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right)]
        if brush:
            padded = [colour(p, brush(i, c)) if brush(i, c) else p for i, (c, p) in enumerate(zip(cells, padded))]
        print("  " + "  ".join(padded).rstrip())

    line(header)
    line(["-" * w for w in widths])
    for row in rows:
        line(row, paint)
