"""`make run`: the worked programs of all lessons, or of one, on the best device, in one table."""

import math
import re

from workbook import build, device, predict
from workbook.base import GREEN, OK, RED, WRONG, table
from workbook.check import arguments
from workbook.lessons import lessons
from workbook.reclaimed import built_registers
from workbook.run import run

LIMIT_S = 600


def registers_of(lesson, result):
    """Registers per thread: as the program says (GPU), else from the report of ptxas that the build has kept."""
    return result.get("registers") or built_registers(lesson)[0] or "n/a"


def per_tile(result, stats):
    """(async copies, thread instructions) for each K step of each output tile, as text. The tile is in the result."""
    tile = [int(x) for x in re.findall(r"\d+", str(result.get("tile", "")))]
    if len(tile) != 3 or not stats.get("launches") or not all(result.get(d) for d in "mnk"):
        return "-", "-"
    steps = math.prod(math.ceil(result[d] / t) for d, t in zip("mnk", tile)) * stats["launches"]
    copies = sum(stats.get(key, 0) for key in ("cp_async.issued", "bulk.load.issued", "tensor.load.issued"))
    return f"{copies / steps:,.0f}", f"{stats.get('thread_instructions', 0) / steps:,.0f}"


def predicted(lesson, ladder):
    """Two cells: TFLOP/s that an H200 is predicted to reach, and those that were recorded."""
    try:
        return predict.cells(predict.rung(lesson.program("emu"), lesson.name, [predict.SHOWN], ladder), [predict.SHOWN])
    except predict.NoPrediction:
        return ["-", "-"]


def row(lesson, choice, done, ladder):
    result = done.result
    cells = [lesson.name, "x".join(str(result[d]) for d in "mnk") if all(d in result for d in "mnk") else "-", done.verdict]
    ms = result.get("ms_median")
    if choice.device == "emu":
        cells += [len(done.findings) if done.emu else "-", f"{ms:,.0f} ms" if ms else "-", *per_tile(result, done.stats),
                  *(predicted(lesson, ladder) if done.verdict == "right" else ["-", "-"])]
    else:
        cells += [f"{ms:.3f} ms", f"{result['ms_min']:.3f} .. {result['ms_max']:.3f}", f"{result['tflops']:.1f}"] if ms else ["-"] * 3
    return cells + [registers_of(lesson, result)]


def climb(wanted=None):
    chosen, extra = lessons(wanted), arguments()
    device.asked()
    names = [lesson.name for lesson in chosen]
    build.prepare(*[f"solutions.{n}.{d}" for n in names for d in ("gpu", "emu")] if wanted else ["ladder"], again=True)
    choice = device.choose(toolkit=build.toolkit()[0])
    print(f"{choice}\n", flush=True)

    runs = [(l, run([l.program(choice.device), *extra], LIMIT_S, json_option=True, **choice.environment)) for l in chosen]
    if wanted:
        print(runs[0][1].output.rstrip() + "\n")
    ladder = predict.recorded_ladder() if choice.device == "emu" else {}
    header = {"emu": ["findings", "emulated in", "async copies/tile", "thread instr/tile", "H200: TFLOP/s", "recorded"],
              "gpu": ["median", "min .. max", "TFLOP/s"]}[choice.device]
    table(["lesson", "m x n x k", "result", *header, "registers"], [row(l, choice, done, ladder) for l, done in runs],
          lambda i, cell: (GREEN if cell == "right" else RED) if i == 2 else None)
    print()
    if choice.device == "emu":
        print("  async copies/tile, thread instr/tile: executed for one K step of one output tile, all threads together")
        print(f"  H200: predicted at M = N = K = {predict.SHOWN} by the emulator's timed schedule, beside what was recorded under sustained load")
        print("  the emulator's own time says nothing about a GPU; DEVICE=gpu measures one\n")
    bad = [(l, done) for l, done in runs if done.verdict != "right"]
    for lesson, done in bad:
        print(f"{lesson.name}: {done.verdict}, {done.ended()}" + ("" if wanted else "\n" + done.output.rstrip()))
    return WRONG if bad else OK
