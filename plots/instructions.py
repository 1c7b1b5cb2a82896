"""Counts what each solution executes on the emulator, and writes plots/data/emulator-instructions.csv.

The numbers are those of all threads together, for each 128 x 128 x 64 step of the product: the same work on every rung. They
depend on nothing but the programs and the compiler that made their PTX.
BUILD_DIR names the build folder. Exit: 0 written or equal, 1 the file differs, 2 bad input, 77 it is of another toolkit.
"""

import argparse
import csv
import io
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "checks"))
from workbook.base import BUILD, OK, SKIPPED, WRONG, Stop
from workbook.run import run

OUT = ROOT / "plots" / "data" / "emulator-instructions.csv"
M, N, K = 512, 512, 1024
STEPS = (M // 128) * (N // 128) * (K // 64)
SAME_TILE = {"11_stream_k": ["--tile", "128x256"]}  # the tile of 07 to 10; by itself 11 picks one by size
CLASSES = ["copy", "memory", "address", "barrier", "math", "control", "other"]
COPIES = ["cp_async.issued", "bulk.load.issued", "tensor.load.issued"]


def programs():
    found = sorted((BUILD / "solutions").glob("[0-9][0-9]_*.emu"))
    if not found:
        raise Stop(f"no emulator builds in {BUILD}/solutions", ("try", "make build"))
    return found


def toolkit():
    """The release of the compiler, as it says in the PTX it made."""
    found = re.search(rb"Cuda compilation tools, release [\d.]+, V(\d+\.\d+\.\d+)", programs()[0].read_bytes())
    return found.group(1).decode() if found else "unknown"


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
    rows = [count(program) for program in programs()]
    out = io.StringIO()
    out.write(f"# device: TMA workbook emulator\n# toolkit: {toolkit()}\n"
              "# data: thread instructions for each 128 x 128 x 64 step of the product, by class; asynchronous copies alike\n")
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()})
    return out.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    if parser.parse_args().write:
        OUT.write_text(text())
        print(f"plots/data/{OUT.name}")
        return OK
    recorded = re.search(r"^# toolkit: (.*)$", OUT.read_text(), re.MULTILINE).group(1)
    if recorded != toolkit():
        print(f"skipped: {OUT.name} was counted with toolkit {recorded}, here is {toolkit()}")
        return SKIPPED
    if OUT.read_text() != text():
        raise Stop(f"plots/data/{OUT.name} is not what the programs execute", ("try", "python3 plots/instructions.py --write"), code=WRONG)
    return OK


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Stop as stop:
        print(stop, file=sys.stderr)
        sys.exit(stop.code)
