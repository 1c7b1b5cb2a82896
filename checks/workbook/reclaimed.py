"""What a lesson reclaims: what the student's kernel takes beside the worked program of the lesson before."""

import math

from workbook.base import BUILD, handed_out, load_text
from workbook.lessons import lessons
from workbook.nvcc import registers
from workbook.run import run

SIZE = {"m": 256, "n": 256, "k": 512}
STEP = 128 * 128 * 64  # multiplications of the step that is counted, the same for every tile
LIMIT_S = 60
KINDS = (("copy", "that issue asynchronous copies"), ("memory", "that load and store"), ("address", "for addresses"),
         ("barrier", "for barriers"))


def before(lesson):
    """The lesson in front of this one, or None. A student's copy has no worked program to set beside."""
    return None if handed_out() else next((l for l in reversed(lessons()) if l.name < lesson.name), None)


def built_registers(lesson):
    """(registers per thread, bytes spilled) of a worked program, from the report of ptxas that its build has kept."""
    reports = (BUILD / "solutions" / "CMakeFiles").glob(f"solutions.{lesson.name}.object*/{lesson.name}.cu.o.ptxas")
    return next((r for r in (registers(load_text(p)) for p in reports) if r[0]), (None, 0))


def column(executable, resources):
    """The cells of one program; its instructions are counted on the emulator."""
    words = [word for name, size in SIZE.items() for word in (f"--{name}", size)]
    stats = run([executable, *words, "--repeat", 1], LIMIT_S, json_option=True, EMU_CHECK="off").stats
    steps = math.prod(SIZE.values()) / STEP * stats.get("launches", 1)
    count, spilled = resources
    counted = [f"{stats[f'thread_instructions.{kind}'] / steps:,.0f}" if stats else "n/a" for kind, _ in KINDS]
    return [count or "n/a", f"{spilled:,}" if count else "n/a", *counted]


def rows(lesson, executable, said):
    """(header, rows) of the table under a right file; `said` is what ptxas reported of it."""
    labels = ["registers per thread", "bytes spilled per thread", *(f"instructions {what}" for _, what in KINDS)]
    header, columns = ["for each 128 x 128 x 64 step"], [labels]
    earlier = before(lesson)
    if earlier:
        header.append(f"{earlier.name}, worked")
        columns.append(column(earlier.program("emu"), built_registers(earlier)))
    return [*header, f"{lesson.name}, yours"], list(zip(*columns, column(executable, registers(said))))
