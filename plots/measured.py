"""The README's measured table, written from the newest file of plots/data.

usage: measured.py --write | --check
Exit: 0 written or equal, 1 the README differs from the data, 2 bad input.
"""

import sys
from pathlib import Path

from data import lessons, load, middle, newest, pick

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->"
SQUARES = [(s, s, s) for s in (1024, 2048, 4096, 8192)]
RAGGED = (4104, 3992, 2056)


def cell(rows, lesson, size):
    ratio = middle(rows, lesson, size, "ratio_median")
    return "" if ratio is None else f"{middle(rows, lesson, size, 'tflops'):.0f} ({ratio:.2f})"


def table():
    path = newest()
    header, rows = load(path)
    runs = [len(pick(rows, lesson, size, "tflops")) for lesson in lessons(rows) for size in SQUARES + [RAGGED]]
    lines = [
        f"Measured on one {header['device']} (driver {header['driver']}, toolkit {header['toolkit']}, {header['date']}, commit "
        f"{header['commit']}): TFLOP/s, and in brackets the ratio to the best of cuBLASLt's heuristics, timed in turns in the "
        f"same process on random data. Medians over {min(runs)} to {max(runs)} processes of 20 samples each; every result was "
        f"compared with a reference. The numbers come from [{path.name}](plots/data/{path.name}).",
        "",
        "| M = N = K | " + " | ".join(str(s[0]) for s in SQUARES) + " | " + " x ".join(map(str, RAGGED)) + " |",
        "|---" * (len(SQUARES) + 2) + "|",
    ]
    for lesson in lessons(rows):
        lines.append(f"| {lesson} | " + " | ".join(cell(rows, lesson, size) for size in SQUARES + [RAGGED]) + " |")
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:] not in (["--write"], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    text = README.read_text()
    if BEGIN not in text or END not in text:
        print(f"measured: {README} has lost its markers {BEGIN.strip()} and {END}", file=sys.stderr)
        return 2
    before, rest = text.split(BEGIN, 1)
    wanted = before + BEGIN + table() + END + rest.split(END, 1)[1]
    if sys.argv[1] == "--write":
        README.write_text(wanted)
        return 0
    if wanted != text:
        print("README.md: the measured table differs from the data\n  try    python3 plots/measured.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
