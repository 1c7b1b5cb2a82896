"""Recorded hardware answers: programs of checks/recorded/*.cu print what a Hopper GPU does, as text.

A record starts with '# ' lines: device, driver, toolkit, date. They are not compared; all other lines must be equal.
"""

import datetime
import difflib
import re
from pathlib import Path

from workbook import build, device
from workbook.base import BUILD, OK, ROOT, WRONG, Stop, load_text, save_text, shown
from workbook.run import run

FOLDER = ROOT / "checks" / "recorded"
LIMIT_S = 300


def body(text):
    return [line for line in text.splitlines() if not line.startswith("# ")]


def driver_version():
    try:
        return re.search(r"(\d+\.\d+(\.\d+)?)", load_text("/proc/driver/nvidia/version"))[1]
    except (OSError, TypeError):
        return "unknown"


def record():
    device.choose("gpu")  # there is nothing to record without one
    build.prepare("recorded_gpu", again=True)
    choice = device.choose("gpu", build.toolkit()[0])
    header = [f"# device: {choice.name}", f"# driver: {driver_version()}", "# toolkit: " + ".".join(map(str, build.toolkit())),
              f"# date: {datetime.date.today().isoformat()}"]
    failed = 0
    for source in sorted(FOLDER.glob("*.cu")):
        done = run([BUILD / "recorded" / source.stem], LIMIT_S, merge=False, **choice.environment)
        lines, target = body(done.output), source.with_suffix(".txt")
        if done.code != OK or not lines:
            print(f"not recorded: {source.stem} {done.ended()}")
            failed += 1
            continue
        same = target.exists() and body(load_text(target)) == lines
        if not same:  # an equal record keeps its header: a rerun gives no diff
            save_text(target, "\n".join(header + lines) + "\n")
        print(f"{source.stem}: {len(lines)} lines, " + ("as before" if same else f"written to {shown(target)}"))
    return WRONG if failed else OK


def compare(name, program):
    """Runs one emulator build and compares its output with checks/recorded/<name>.txt."""
    path = FOLDER / f"{name}.txt"
    if not path.exists():
        raise Stop(f"{shown(path)} does not exist", ("why", "the answers of a Hopper GPU are not recorded yet"),
                   ("try", "make record, on a machine with one"), code=WRONG)
    # These programs look at raw memory on purpose (tiles off their period, patterns read as they lie): no checker.
    done = run([Path(program)], LIMIT_S, merge=False, EMU_CHECK="off")
    want, got = body(load_text(path)), body(done.output)
    if done.code == OK and got == want and want:
        print(f"{len(got)} lines equal to {shown(path)}")
        return OK
    print(f"{name}: the emulator differs from {shown(path)}; it {done.ended()}, {len(want)} lines recorded, {len(got)} printed")
    print("\n".join(list(difflib.unified_diff(want, got, "recorded", "emulator", n=1, lineterm=""))[:60]))
    return WRONG
