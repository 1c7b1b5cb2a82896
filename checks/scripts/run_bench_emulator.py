"""How fast the emulator is on one core: emulated thread instructions and wgmma FLOP per second of wall time.

Runs two programs made for it (ordinary instructions only; wgmma only) and the worked program of every lesson, each
several times in one process, with the checker and without, and prints the median with its spread. Times are those of the
launches alone. With --csv the table goes to a file, too: plots/data/emulator-rates.csv is one.
Exit: 0 if every program was right, 1 if not, 2 for bad input.
"""

import argparse
import csv
import datetime
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from run_common import BUILD, OK, WRONG, lessons, table, tools
from run_ladder import load


def machine():
    """The processor's name, for the line above the table."""
    try:
        names = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")]
        return names[0] if names else platform.machine()
    except OSError:
        return platform.machine()


def measure(command, repeat, checker):
    """Runs a program that launches one kernel `repeat` times, with the checker 'on' or 'off'. Returns (ms [min, median, max], stats a launch), or
    None and prints why."""
    with tempfile.TemporaryDirectory() as folder:
        emu, result = Path(folder, "emu.json"), Path(folder, "result.json")
        rates = command[0].name.startswith("emulator_rates")
        arguments = [str(repeat)] if rates else ["--repeat", str(repeat), "--json", str(result)]
        environment = dict(os.environ, EMU_JSON=str(emu), EMU_CHECK=checker)
        done = subprocess.run([str(c) for c in command] + arguments, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        stats, said = load(emu).get("stats", {}), load(result)
        if done.returncode != 0 or not stats.get("launches"):
            print(f"{command[0].name} ended with exit code {done.returncode}\n{done.stdout}")
            return None
        if rates:
            times = sorted(float(line) for line in done.stdout.split())
            ms = [times[0], statistics.median(times), times[-1]]
        else:
            ms = [said["ms_min"], said["ms_median"], said["ms_max"]]
        return ms, {key: value / stats["launches"] for key, value in stats.items()}


def cells(name, checker, ms, stats):
    """One row: the rates at the median time, and from the slowest launch to the fastest."""
    row = [name, checker, f"{ms[1]:,.1f} ms"]
    for key, unit in (("thread_instructions", 1e6), ("wgmma.flop", 1e9)):
        rates = [stats.get(key, 0) / (t * 1e-3) / unit for t in ms]
        row += [f"{rates[1]:.1f}", f"{rates[2]:.1f} .. {rates[0]:.1f}"] if rates[1] else ["-", "-"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5, help="launches of each program (5)")
    parser.add_argument("--csv", help="a file that gets the table, too")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # the programs inherit it: one core
    compiler = subprocess.run([tools()["CXX_COMPILER"], "--version"], capture_output=True, text=True).stdout
    print(f"emulator on one core of {machine()}, {compiler.splitlines()[0]}, {options.repeat} launches each\n")

    rates = BUILD / "bench" / "emulator_rates.emu"
    programs = [("threads only", [rates, "threads"]), ("wgmma only", [rates, "wgmma"])]
    programs += [(lesson.name, [lesson.program("emu")]) for lesson in lessons()]
    rows, failed = [], False
    for name, command in programs:
        for checker in ("on", "off"):
            measured = measure(command, options.repeat, checker)
            failed = failed or measured is None
            if measured:
                rows.append(cells(name, checker, *measured))
    header = ["program", "checker", "launch", "M thread instr/s", "min .. max", "wgmma GFLOP/s", "min .. max"]
    if rows:
        table(header, rows)
    if rows and options.csv:
        with open(options.csv, "w", newline="") as file:
            file.write(f"# device: TMA workbook emulator on one core of {machine()}\n# compiler: {compiler.splitlines()[0]}\n"
                       f"# date: {datetime.date.today().isoformat()}\n# launches: {options.repeat}\n")
            csv.writer(file, lineterminator="\n").writerows([header] + rows)
    return WRONG if failed else OK


if __name__ == "__main__":
    sys.exit(main())
