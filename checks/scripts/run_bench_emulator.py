"""How fast the emulator is on one core: emulated thread instructions and wgmma FLOP per second of wall time.

Runs the worked program of every lesson several times on the emulator and prints the median rate with its spread. The
time is the process's: building the program's decoded form, the launches, and the check of the result.
Exit: 0 if every run was right, 1 if not.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

from run_common import BUILD, lessons, table, tools
from run_device import Choice
from run_ladder import run, verdict


def machine():
    """The processor's name, for the line above the table."""
    try:
        names = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")]
        return names[0] if names else platform.machine()
    except OSError:
        return platform.machine()


def spread(values, scale):
    ordered = sorted(v / scale for v in values)
    return f"{statistics.median(ordered):.1f}", f"{ordered[0]:.1f} .. {ordered[-1]:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="runs of each program (5)")
    parser.add_argument("--lesson", help="04, or 04_tma_single_stage; default: all")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # the programs inherit it: one core
    compiler = subprocess.run([tools()["CXX_COMPILER"], "--version"], capture_output=True, text=True).stdout
    print(f"emulator on one core of {machine()}, {compiler.splitlines()[0]}, build folder {BUILD}, "
          f"{options.runs} runs each\n")

    choice = Choice("emu", "emulator (CPU)", "", {"DEVICE": "emu"})
    rows, wrong = [], 0
    for lesson in lessons(options.lesson):
        runs = [run(lesson, choice, []) for _ in range(options.runs)]
        bad = [r for r in runs if verdict(r) != "right" or not r["emu"].get("stats")]
        if bad:
            wrong += 1
            print(f"{lesson.name}: {verdict(bad[0])}\n{bad[0]['output']}")
            continue
        instructions, flop = ([r["emu"]["stats"].get(key, 0) / r["seconds"] for r in runs]
                              for key in ("thread_instructions", "wgmma.flop"))
        seconds = statistics.median(r["seconds"] for r in runs)
        rows.append([lesson.name, f"{seconds * 1e3:,.0f} ms", *spread(instructions, 1e6), *spread(flop, 1e9)])
    if rows:
        table(["program", "time", "M thread instr/s", "min .. max", "wgmma GFLOP/s", "min .. max"], rows)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
