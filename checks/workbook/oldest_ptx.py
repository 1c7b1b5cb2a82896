"""The oldest toolkit that is promised, 12.4, knows PTX ISA 8.4: its assembler takes the PTX of every lesson. It comes as the
Python package nvidia-cuda-nvcc-cu12==12.4.131, which nothing else here needs; without it this is skipped."""

import re
import tempfile
from pathlib import Path

from workbook import base
from workbook.base import OK, SKIPPED, WRONG, Stop
from workbook.build import tools
from workbook.lessons import lessons
from workbook.run import run

RELEASE, ISA, LIMIT_S = "12.4", "8.4", 300


def find_ptxas():
    inside = Path(tools()["VENV"]).glob("lib/python3*/site-packages/nvidia/cuda_nvcc/bin/ptxas")
    return next((p for p in inside if f"release {RELEASE}," in run([p, "--version"], LIMIT_S).output), None)


def ptx_of(program):
    """The PTX texts in an executable, as the oldest toolkit would have written their first line."""
    try:
        found = re.findall(rb"\.version \d+\.\d+\n[^\0]*", program.read_bytes())
    except OSError as problem:
        raise Stop(f"cannot read {base.shown(program)}", ("why", problem.strerror), ("try", "make build"))
    return [re.sub(r"\.version \d+\.\d+", f".version {ISA}", text.decode()) for text in found]


def assemble():
    ptxas = find_ptxas()
    if ptxas is None:
        print(f"SKIPPED: no ptxas {RELEASE} here; pip install nvidia-cuda-nvcc-cu12=={RELEASE}.131 brings one into {tools()['VENV']}")
        return SKIPPED
    failed = 0
    for lesson in lessons():
        texts = ptx_of(lesson.program("emu"))
        if not texts:
            raise Stop(f"{base.shown(lesson.program('emu'))} holds no PTX", code=WRONG)
        for text in texts:
            with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
                file.write(text)
                file.flush()
                done = run([ptxas, "-arch=sm_90a", "-o", "/dev/null", file.name], LIMIT_S)
            if done.code != OK:
                failed += 1
                print(f"{lesson.name}: ptxas {RELEASE} refuses it as PTX ISA {ISA}\n{done.output[:2000]}")
    return WRONG if failed else OK
