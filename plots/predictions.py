"""Predicts the recorded ladder and stage sweeps, and writes plots/data/emulator-predictions.csv.

The numbers depend on nothing but the programs, the compiler that made their PTX, and the emulator's timed schedule.
BUILD_DIR names the build folder. Exit: 0 written or equal, 1 the file differs, 2 bad input, 77 it is of another toolkit.
"""

import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "checks"))
from data import load, newest
from emulated import run_script, table
from workbook.base import BUILD, Stop
from workbook.predict import SIZES, tile_of, window

OUT = ROOT / "plots" / "data" / "emulator-predictions.csv"


def recorded():
    """(part, state, lesson, variant, tile, size, median TFLOP/s of the processes) of what is predicted."""
    for part, state in (("ladder", "sustained"), ("stages", "warm")):
        path = newest(part)
        found = {}
        for row in load(path)[1]:
            if row["m"] == row["n"] == row["k"] and row["m"] in SIZES:
                found.setdefault((row["lesson"], row["variant"], row["tile"], row["m"]), []).append(row["tflops"])
        for (lesson, variant, tile, size), values in sorted(found.items()):
            yield part, state, lesson, variant, tile, size, median(values)


def rows():
    windows = {}
    for part, state, lesson, variant, tile, size, measured in recorded():
        if (lesson, variant) not in windows:
            program = BUILD / "solutions" / f"{lesson}.emu"
            if not program.exists():
                raise Stop(f"there is no {program}", ("try", "make build"))
            windows[lesson, variant] = window([program, *variant.split()], tile_of({"tile": tile}))
        seen = windows[lesson, variant]
        said = seen.at(size, size, size, state)
        yield {"part": part, "lesson": lesson, "variant": variant, "m": size, "n": size, "k": size, "state": state,
               "cycles": f"{said.cycles:.0f}", "mhz": f"{said.mhz:.0f}", "ms": f"{said.ms:.5g}", "predicted": f"{said.tflops:.1f}",
               "recorded": f"{measured:.1f}", "error": f"{said.tflops / measured - 1:.4f}", "waits": f"{seen.costs(said.mhz).waits:.2f}"}


def text():
    return table(list(rows()), "TFLOP/s that the timed schedule predicts for an H200, beside the recorded median; error: predicted / "
                 "recorded - 1; cycles of an SM, and the clock that is assumed; waits: share of a step in which the tensor cores wait for "
                 "copies", f"{newest('ladder').name}, {newest('stages').name}")


if __name__ == "__main__":
    run_script(OUT, text)
