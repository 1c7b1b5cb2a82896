"""How fast the emulator is on one core: emulated thread instructions and wgmma FLOP per second of wall time.

Runs two programs made for it (ordinary instructions only; wgmma only), four kernels as courses begin with them, and the worked
program of every lesson, each several times in one process, with the checker and without: median and spread of the launches alone.
plots/data/emulator-rates.csv is one such table.
"""

import csv
import datetime
import os
import platform
import re
import statistics
import subprocess

from workbook import build
from workbook.base import BUILD, OK, WRONG, load_text, table
from workbook.lessons import lessons
from workbook.run import run

LIMIT_S = 600
ORDINARY = {"product": "tiled product", "reduction": "reduction", "transpose": "transpose", "scan": "scan"}
HEADER = ["program", "checker", "launch", "M thread instr/s", "min .. max", "wgmma GFLOP/s", "min .. max"]


def machine():
    """The processor's name, for the line above the table."""
    try:
        return re.search(r"^model name\s*: (.*)$", load_text("/proc/cpuinfo"), re.M)[1]
    except (OSError, TypeError):
        return platform.machine()


def measure(command, repeat, checker):
    """Runs a program that launches one kernel `repeat` times, with the checker 'on' or 'off'. Returns (ms [min, median, max],
    counts per launch), or None and prints why."""
    rates = command[0].parent.name == "bench"
    done = run([*command, *([] if rates else ["--repeat"]), repeat], LIMIT_S, json_option=not rates, EMU_CHECK=checker)
    if done.code != OK or not done.stats.get("launches"):
        print(f"{command[0].name} {done.ended()}\n{done.output}")
        return None
    times = sorted(float(line) for line in done.output.split()) if rates else []
    ms = [times[0], statistics.median(times), times[-1]] if rates else [done.result[f"ms_{k}"] for k in ("min", "median", "max")]
    return ms, {key: value / done.stats["launches"] for key, value in done.stats.items()}


def cells(name, checker, ms, stats):
    """One row: the rates at the median time, and from the slowest launch to the fastest."""
    row = [name, checker, f"{ms[1]:,.1f} ms"]
    for key, unit in (("thread_instructions", 1e6), ("wgmma.flop", 1e9)):
        rates = [stats.get(key, 0) / (t * 1e-3) / unit for t in ms]
        row += [f"{rates[1]:.1f}", f"{rates[2]:.1f} .. {rates[0]:.1f}"] if rates[1] else ["-", "-"]
    return row


def bench(repeat, csv_file):
    build.prepare("ladder", "bench.emulator_rates.emu", "bench.ordinary_kernels.emu", again=True)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # the programs inherit it: one core
    compiler = subprocess.run([build.tools()["CXX_COMPILER"], "--version"], stdout=subprocess.PIPE, universal_newlines=True).stdout
    compiler = compiler.splitlines()[0]
    print(f"emulator on one core of {machine()}, {compiler}, {repeat} launches each\n", flush=True)
    rates, ordinary = (BUILD / "bench" / name for name in ("emulator_rates.emu", "ordinary_kernels.emu"))
    programs = [("threads only", [rates, "threads"]), ("wgmma only", [rates, "wgmma"])]
    programs += [(name, [ordinary, kernel]) for kernel, name in ORDINARY.items()]
    programs += [(lesson.name, [lesson.program("emu")]) for lesson in lessons()]
    measured = [(name, checker, measure(command, repeat, checker)) for name, command in programs for checker in ("on", "off")]
    rows = [cells(name, checker, *said) for name, checker, said in measured if said]
    table(HEADER, rows)
    if rows and csv_file:
        with open(csv_file, "w", newline="") as file:
            file.write(f"# device: TMA workbook emulator on one core of {machine()}\n# compiler: {compiler}\n"
                       f"# date: {datetime.date.today().isoformat()}\n# launches: {repeat}\n")
            csv.writer(file, lineterminator="\n").writerows([HEADER] + rows)
    return OK if len(rows) == len(measured) else WRONG
