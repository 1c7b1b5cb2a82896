"""Runs the worked programs of all lessons, or of one, on the best device, and prints one table.

Exit: 0 if every program is right and the emulator has no error to report, 1 if not, 2 for bad input.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from run_common import BUILD, SKIPPED, colour, lessons, table
from run_device import choose

LIMIT_S = 600


def load(path):
    try:
        return json.loads(Path(path).read_text())
    except (OSError, ValueError):
        return {}


def registers(lesson, result):
    """Registers per thread: as the program says (GPU), else from ptxas's report for the lesson's first kernel."""
    if result.get("registers"):
        return str(result["registers"])
    report = list((BUILD / "solutions/CMakeFiles").glob(f"solutions.{lesson.name}.object.dir/{lesson.name}.cu.o.ptxas"))
    counts = [int(n) for n in re.findall(r"Used (\d+) registers", report[0].read_text())] if report else []
    return str(max(counts)) if counts else "n/a"


def per_tile(result, stats):
    """(async copies, thread instructions) for each K step of each output tile, as text. The tile is in the result."""
    tile = [int(x) for x in re.findall(r"\d+", str(result.get("tile", "")))]
    if len(tile) != 3 or not stats.get("launches") or not all(result.get(d) for d in "mnk"):
        return "-", "-"
    steps = math.prod(math.ceil(result[d] / t) for d, t in zip("mnk", tile)) * stats["launches"]
    copies = sum(stats.get(key, 0) for key in ("cp_async.issued", "bulk.load.issued", "tensor.load.issued"))
    return f"{copies / steps:,.0f}", f"{stats.get('thread_instructions', 0) / steps:,.0f}"


def run(lesson, choice, extra):
    """Runs one program. Returns a dict: code, result (its JSON), emu (the emulator's JSON), output."""
    with tempfile.TemporaryDirectory() as folder:
        result, emu = Path(folder, "result.json"), Path(folder, "emu.json")
        environment = dict(os.environ, EMU_JSON=str(emu), **choice.environment)
        command = [str(lesson.program(choice.device)), "--json", str(result)] + extra
        try:
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors="replace", timeout=LIMIT_S)
            code, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            code, output = None, f"{late.output or ''}\nstopped after {LIMIT_S} s"
        except OSError as problem:
            code, output = None, f"cannot run {command[0]}: {problem.strerror}"
        return {"code": code, "result": load(result), "emu": load(emu), "output": output}


def verdict(run_):
    if run_["code"] is None:
        return "stopped"
    if run_["code"] == SKIPPED:
        return "skipped"
    said = run_["result"].get("verdict")
    if run_["code"] == 0:
        return said or "no result"
    return said if said and said != "right" else f"failed ({run_['code']})"


def row(lesson, choice, run_):
    result, stats = run_["result"], run_["emu"].get("stats", {})
    size = "x".join(str(result[d]) for d in "mnk") if all(d in result for d in "mnk") else "-"
    cells = [lesson.name, size, verdict(run_)]
    if choice.device == "emu":
        copies, instructions = per_tile(result, stats)
        findings = run_["emu"].get("findings")
        time = f"{result['ms_median']:,.0f} ms" if result.get("ms_median") else "-"
        cells += ["-" if findings is None else str(len(findings)), time, copies, instructions]
    else:
        ms, rate = result.get("ms_median"), result.get("tflops")
        cells += [f"{ms:.3f} ms" if ms else "-",
                  f"{result['ms_min']:.3f} .. {result['ms_max']:.3f}" if ms and "ms_max" in result else "-",
                  f"{rate:.1f}" if rate else "-"]
    return cells + [registers(lesson, result)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lesson", help="04, or 04_tma_single_stage; default: all")
    options, extra = parser.parse_known_args()
    choice = choose()
    print(f"device: {choice.name}, because {choice.reason}\n")
    sys.stdout.flush()

    runs = [(lesson, run(lesson, choice, extra)) for lesson in lessons(options.lesson)]
    if options.lesson:
        for _, run_ in runs:
            print(run_["output"].rstrip() + "\n")

    header = ["lesson", "m x n x k", "result"]
    if choice.device == "emu":
        header += ["findings", "emulated in", "async copies/tile", "thread instr/tile"]
    else:
        header += ["median", "min .. max", "TFLOP/s"]
    header += ["registers"]
    rows = [row(lesson, choice, run_) for lesson, run_ in runs]
    table(header, rows, lambda i, cell, padded: colour(padded, 32 if cell == "right" else 31) if i == 2 else padded)
    print()
    if choice.device == "emu":
        print("  async copies/tile, thread instr/tile: executed for one K step of one output tile, all threads together")
        print("  the emulator's time says nothing about a GPU; DEVICE=gpu measures one\n")

    bad = [(lesson, run_) for lesson, run_ in runs if verdict(run_) != "right"]
    for lesson, run_ in bad:
        print(f"{lesson.name}: {verdict(run_)}" + ("" if options.lesson else "\n" + run_["output"].rstrip()))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
