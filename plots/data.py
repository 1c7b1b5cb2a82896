"""Reads <folder>/<gpu>-<part>-<date>.csv: a header of '# key: value' lines, then the rows. plots/data has the recorded runs,
plots/mine those of `make bench` on a reader's machine."""

import csv
import sys
from pathlib import Path
from statistics import median

RECORDED = Path(__file__).resolve().parent / "data"
MINE = RECORDED.with_name("mine")
NEEDED = ("device", "driver", "toolkit", "date", "commit")


def newest(part, folder=RECORDED):
    """The newest file of a part; of a day, the last by number: no number, -2, -3. None when there is none."""
    return max(folder.glob(f"*-{part}-*.csv"), key=lambda p: (load(p)[0]["date"], len(p.name), p.name), default=None)


def load(path, needed=NEEDED):
    """(header, rows); numbers as numbers. A file without its provenance is refused."""
    lines = Path(path).read_text().splitlines()
    header = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    missing = [key for key in needed if key not in header]
    if missing:
        print(f"plots: {path} does not say its {', '.join(missing)}\n  try    make bench again", file=sys.stderr)
        sys.exit(2)
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    if not rows:
        print(f"plots: {path} has no rows\n  try    remove it, then make bench again", file=sys.stderr)
        sys.exit(2)
    for row in rows:
        for key, value in row.items():
            try:
                row[key] = float(value) if "." in value or "e" in value else int(value)
            except ValueError:
                pass
    return header, rows


def beside(predicted, recorded):
    """Others' kernels: what was predicted, with `recorded` (TFLOP/s under sustained load) and, at the size that was counted, `counted`
    (cycles) of the H200; those that it has run."""
    key = lambda row: (row["source"], row["kernel"], row["tile"], row["m"])
    found = {key(row): row for row in recorded if row["state"] == "sustained"}
    return [dict(row, recorded=found[key(row)]["tflops"], counted=found[key(row)]["cycles"], error=row["predicted"] / found[key(row)]["tflops"] - 1)
            for row in predicted if key(row) in found]


def sizes(rows):
    return sorted({(r["m"], r["n"], r["k"]) for r in rows})


def lessons(rows):
    return sorted({r["lesson"] for r in rows})


def pick(rows, lesson, size, key):
    return [r[key] for r in rows if r["lesson"] == lesson and (r["m"], r["n"], r["k"]) == size]


def middle(rows, lesson, size, key):
    values = pick(rows, lesson, size, key)
    return median(values) if values else None
