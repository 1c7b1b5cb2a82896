"""Recorded hardware answers: programs of checks/recorded/*.cu print what a Hopper GPU does, as text.

  run_record.py record                     runs their GPU builds here and writes checks/recorded/<name>.txt
  run_record.py compare NAME EMU_PROGRAM   runs one emulator build and compares its output with <name>.txt

A record starts with '# ' lines: device, driver, toolkit, date. They are not compared; all other lines must be equal.
Exit: 0 recorded or equal, 1 different or failed, 2 bad input.
"""

import datetime
import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

from run_common import BUILD, OK, ROOT, WRONG, die, tools

FOLDER = ROOT / "checks" / "recorded"
LIMIT_S = 300


def run(program, environment):
    """(exit code, lines of stdout, stderr) of a recording program."""
    try:
        done = subprocess.run([str(program)], env=environment, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        die(f"{program.name} did not end within {LIMIT_S} s", code=WRONG)
    except OSError as problem:
        die(f"cannot run {program}: {problem.strerror}", "try   make build")
    return done.returncode, done.stdout.splitlines(), done.stderr


def driver_version():
    try:
        return re.search(r"(\d+\.\d+(\.\d+)?)", Path("/proc/driver/nvidia/version").read_text()).group(1)
    except (OSError, AttributeError):
        return "unknown"


def record():
    os.environ["DEVICE"] = "gpu"  # there is nothing to record without one
    from run_device import choose
    choice = choose()
    toolkit = subprocess.run([tools()["NVCC"], "--version"], capture_output=True, text=True).stdout
    header = [f"# device: {choice.name}", f"# driver: {driver_version()}",
              "# toolkit: " + re.search(r"V(\d+\.\d+\.\d+)", toolkit).group(1),
              f"# date: {datetime.date.today().isoformat()}"]
    sources = sorted(FOLDER.glob("*.cu"))
    if not sources:
        die("there is nothing to record", f"where {FOLDER} has no .cu file")
    failed = 0
    for source in sources:
        code, lines, errors = run(BUILD / "recorded" / source.stem, dict(os.environ, **choice.environment))
        lines = body(lines)
        if code != 0 or not lines:
            print(f"not recorded: {source.stem} ended with exit code {code}\n{errors}", file=sys.stderr)
            failed += 1
            continue
        target = source.with_suffix(".txt")
        before = target.read_text() if target.exists() else None
        same = before is not None and body(before.splitlines()) == lines
        if not same:  # an equal record keeps its header: a rerun gives no diff
            target.write_text("\n".join(header + lines) + "\n")
        print(f"{source.stem}: {len(lines)} lines, " + ("as before" if same else f"written to {target.relative_to(ROOT)}"))
    return WRONG if failed else OK


def body(lines):
    return [line for line in lines if not line.startswith("# ")]


def compare(name, program):
    path = FOLDER / f"{name}.txt"
    if not path.exists():
        die(f"{path.relative_to(ROOT)} does not exist", "why   the answers of a Hopper GPU are not recorded yet",
            "try   make record, on a machine with one", code=WRONG)
    want = body(path.read_text().splitlines())
    # These programs look at raw memory on purpose (tiles off their period, patterns read as they lie): no checker.
    code, got, errors = run(Path(program), dict(os.environ, EMU_CHECK="off"))
    got = body(got)
    if code == 0 and got == want and want:
        print(f"{len(got)} lines equal to {path.relative_to(ROOT)}")
        return OK
    print(f"{name}: the emulator differs from {path.relative_to(ROOT)} (exit code {code}, "
          f"{len(want)} lines recorded, {len(got)} printed)")
    for line in list(difflib.unified_diff(want, got, "recorded", "emulator", n=1, lineterm=""))[:60]:
        print(line)
    print(errors)
    return WRONG


if __name__ == "__main__":
    if sys.argv[1:] == ["record"]:
        sys.exit(record())
    if len(sys.argv) == 4 and sys.argv[1] == "compare":
        sys.exit(compare(sys.argv[2], sys.argv[3]))
    die("run_record.py takes: record | compare NAME EMU_PROGRAM")
