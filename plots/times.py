"""Runs the micro-benchmarks that were recorded on an H200 under the emulator's timed schedule, and writes plots/data/emulator-times.csv.

They are one program, checks/bench/hopper_times.cu. BUILD_DIR names the build folder.
Exit: 0 written or equal, 1 the file differs, 2 bad input, 77 it is of another toolkit.
"""

import csv
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "checks"))
from data import load, newest
from emulated import run_script, table
from workbook import build
from workbook.base import BUILD, OK, Stop
from workbook.run import run

OUT = ROOT / "plots" / "data" / "emulator-times.csv"
PROGRAM = BUILD / "bench" / "hopper_times.emu"


def rows():
    """A row for each benchmark that is recorded and that takes cycles of an SM."""
    build.prepare("bench.hopper_times.emu")
    done = run([PROGRAM], 300, merge=False, EMU_SCHEDULE="timed", EMU_CHECK="off")
    if done.code != OK:
        raise Stop(f"{PROGRAM.name} {done.ended()}", ("why", done.output.strip()[-300:]))
    timed = {row["name"]: float(row["cycles"]) for row in csv.DictReader(done.output.splitlines())}
    for row in load(newest("times"))[1]:
        if row["name"] in timed and not row["name"].startswith("launch"):
            yield {"name": row["name"], "recorded": row["cycles"], "timed": f"{timed[row['name']]:.1f}",
                   "error": f"{timed[row['name']] / row['cycles'] - 1:.3f}", "what": row["what"]}


def text():
    return table(list(rows()), "cycles of an SM for each micro-benchmark, recorded on an H200 (median) and taken by the same program under "
                 "the timed schedule; error: timed / recorded - 1", newest("times").name)


if __name__ == "__main__":
    run_script(OUT, text)
