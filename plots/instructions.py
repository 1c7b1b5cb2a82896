"""Counts what each solution executes on the emulator, and writes plots/data/emulator-instructions.csv.

The numbers are those of all threads together, for each 128 x 128 x 64 step of the product: the same work on every rung. They
depend on nothing but the programs and the compiler that made their PTX.

usage: instructions.py --write | --check       BUILD_DIR names the build folder (default: build)
Exit: 0 written or equal, 1 the file differs, 2 bad input, 77 the file is of another toolkit.
"""

import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("BUILD_DIR", "build")
OUT = ROOT / "plots" / "data" / "emulator-instructions.csv"
M, N, K = 512, 512, 1024
STEPS = (M // 128) * (N // 128) * (K // 64)
SAME_TILE = {"09_persistent_gemm": ["--tile", "128x256"]}  # the tile of 06 to 08; by itself 09 picks one by size
CLASSES = ["copy", "memory", "address", "barrier", "math", "control", "other"]
COPIES = ["cp_async.issued", "bulk.load.issued", "tensor.load.issued"]
SKIPPED = 77


def die(message, hint):
    print(f"instructions: {message}\n  try    {hint}", file=sys.stderr)
    sys.exit(2)


def programs():
    found = sorted((BUILD / "solutions").glob("[0-9][0-9]_*.emu"))
    if not found:
        die(f"no emulator builds in {BUILD}/solutions", "make build")
    return found


def toolkit():
    """The release of the compiler, as it says in the PTX it made."""
    found = re.search(rb"Cuda compilation tools, release [\d.]+, V(\d+\.\d+\.\d+)", programs()[0].read_bytes())
    return found.group(1).decode() if found else "unknown"


def count(program):
    name = program.name[: -len(".emu")]
    with tempfile.TemporaryDirectory() as folder:
        emu, result = Path(folder, "emu.json"), Path(folder, "result.json")
        environment = dict(os.environ, EMU_JSON=str(emu), EMU_CHECK="off", EMU_SCHEDULE="in-order")
        command = [str(program), "--m", str(M), "--n", str(N), "--k", str(K), "--repeat", "1", "--json", str(result)]
        done = subprocess.run(command + SAME_TILE.get(name, []), env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            die(f"{program} ended with exit code {done.returncode}\n{done.stdout}", f"make run-{name[:2]}")
        stats, said = json.loads(emu.read_text())["stats"], json.loads(result.read_text())
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
    if sys.argv[1:] not in (["--write"], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] == "--write":
        OUT.write_text(text())
        print(f"plots/data/{OUT.name}")
        return 0
    recorded = re.search(r"^# toolkit: (.*)$", OUT.read_text(), re.MULTILINE).group(1)
    if recorded != toolkit():
        print(f"skipped: {OUT.name} was counted with toolkit {recorded}, here is {toolkit()}")
        return SKIPPED
    if OUT.read_text() != text():
        print(f"plots/data/{OUT.name} is not what the programs execute\n  try    python3 plots/instructions.py --write",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
