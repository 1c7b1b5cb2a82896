"""Counts what each solution executes on the emulator, and writes plots/data/emulator-instructions.csv.

The numbers are those of all threads together, for each 128 x 128 x 64 step of the product: the same work on every rung. They
depend on nothing but the programs and the compiler that made their PTX.
BUILD_DIR names the build folder. Exit: 0 written or equal, 1 the file differs, 2 bad input, 77 it is of another toolkit.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "checks"))
from emulated import programs, run_script, table
from workbook.base import Stop
from workbook.run import run

OUT = ROOT / "plots" / "data" / "emulator-instructions.csv"
M, N, K = 512, 512, 1024
STEPS = (M // 128) * (N // 128) * (K // 64)
SAME_TILE = {"11_stream_k": ["--tile", "128x256"]}  # the tile of 07 to 10; by itself 11 picks one by size
CLASSES = ["copy", "memory", "address", "barrier", "math", "control", "other"]
COPIES = ["cp_async.issued", "bulk.load.issued", "tensor.load.issued"]


def count(program):
    name = program.name[: -len(".emu")]
    command = [program, "--m", M, "--n", N, "--k", K, "--repeat", 1, *SAME_TILE.get(name, [])]
    done = run(command, 600, json_option=True, EMU_CHECK="off", EMU_SCHEDULE="in-order")
    if done.verdict != "right":
        raise Stop(f"{name} {done.ended()}", ("why", done.output), ("try", f"make run-{name[:2]}"))
    stats, said = done.stats, done.result
    row = {"lesson": name, "m": M, "n": N, "k": K, "tile": said["tile"]}
    row["async_copies"] = sum(stats[key] for key in COPIES) / STEPS
    for kind in CLASSES:
        row[kind] = stats[f"thread_instructions.{kind}"] / STEPS
    row["all"] = stats["thread_instructions"] / STEPS
    return row


def text():
    rows = [{key: f"{value:.6g}" if isinstance(value, float) else value for key, value in count(program).items()}
            for program in programs()]
    return table(rows, "thread instructions for each 128 x 128 x 64 step of the product, by class; asynchronous copies alike")


if __name__ == "__main__":
    run_script(OUT, text)
