"""Compiles a hand-in in the sandbox: to PTX, or to the program that says what its host code hands to the first launch."""

import functools
import os
import re
import shlex
from pathlib import Path

from workbook import base, program
from workbook.base import Stop
from workbook.grading.sandbox import Limits, inside

FOLDER = "/hand-in"  # where the source is in a sandbox
LIMITS = Limits(cpu_s=60, wall_s=300, file=256 << 20)
CALL_S = 10  # of a program, until it launches its kernel
LONGEST_PTX = 4 << 20  # bytes; the longest of a lesson has a twentieth
# The calls of a program that launch_claim.cpp answers.
WRAPPED = ("emu_name_memory", "__cudaLaunchKernel", "cudaLaunchKernel", "cudaLaunchKernelExC")


class Refused(Exception):
    """A source from which nothing can be made. where: (file, line, text) of each complaint of the compiler."""

    def __init__(self, what, where=()):
        super().__init__(what)
        self.where = list(where)


class Broken(Stop):
    """The compiler has failed without a complaint about the source, whoever is at fault."""


def toolkit():
    """What of the toolkit and the host compiler is not among the system's programs, as (path, its name in a sandbox)."""
    said = program.linking()
    places = {Path(os.path.realpath(said["NVCC"])).parents[1], *(Path(said[name]).resolve().parent for name in ("CXX", "CUDA_HOST"))}
    venv = Path(said["NVCC"]).parents[1]  # nvcc is called by this name, and may be a link
    return [(path, inside(path)) for path in sorted({*places, venv}) if not str(path).startswith("/usr/")]


def sources():
    return [(base.ROOT / "common", inside(base.ROOT / "common"))]


@functools.lru_cache(maxsize=None)
def nvcc():
    return [inside(w) for w in program.flags()] + ["-gencode=arch=compute_90a,code=compute_90a"]


def shell(*lines):
    """A script whose lines are lists of words; the first that fails ends it."""
    return ["sh", "-c", "\n".join(["set -e", *(" ".join(shlex.quote(str(w)) for w in line) for line in lines)])]


def refuse(outcome, name):
    """Tells what the compiler refuses from what is no fault of the source."""
    said = outcome.errors[:1 << 20].decode("utf-8", "replace")
    if outcome.why:
        raise Refused(f"the compiler was {outcome.why}")
    found = list(program.DIAGNOSTIC.finditer(said))
    where = [(m["file"], int(m["line"]), m["text"]) for m in found if m["file"]]
    if where:
        raise Refused(where[0][2], where)
    if found or "undefined reference" in said or "internal error" in said or outcome.code < 0:
        raise Refused(next((m["ptxas"] for m in found), (said.strip().splitlines() or ["the compiler died"])[-1]))
    raise Broken("the compiler did not work in the sandbox", ("where", name), ("why", said.strip()[-600:] or outcome.ended()))


def to_ptx(sandbox, source):
    """The PTX text of a source, as bytes. Raises Refused."""
    made = "/tmp/kernel.ptx"
    done = sandbox.run(shell([*nvcc(), "-ptx", f"{FOLDER}/{source.name}", "-o", made], ["exec", "cat", made]), LIMITS,
                       [(source.parent, FOLDER), *sources(), *toolkit()])
    if done.code or done.why:
        refuse(done, source.name)
    if len(done.output) > LONGEST_PTX:
        raise Refused(f"its PTX has {len(done.output) >> 20} MiB, and {LONGEST_PTX >> 20} MiB are read at most")
    return done.output


def assembled(sandbox, folder):
    """What ptxas says of `folder`/kernel.ptx: its resource report and remarks; '' where it says nothing."""
    done = sandbox.run([inside(program.linking()["NVCC"]), "-arch=sm_90a", "-cubin", f"{FOLDER}/kernel.ptx", "-Xptxas", "-v", "-o", "/tmp/kernel.cubin"],
                       LIMITS, [(folder, FOLDER), *toolkit()])
    return (done.output + done.errors)[:1 << 20].decode("utf-8", "replace")


def launches(sandbox, source, calls):
    """What the host code of a source hands to its first launch, by its own account: a text for each of `calls`, which are lists of
    arguments; None where it says nothing. Raises Refused."""
    made = program.linking()
    libraries = [base.BUILD / "checks/grading/liblaunch_claim.a", Path(made["LAB_HOST"]), Path(made["EMULATOR"])]
    build = [(path, f"/libraries/{path.name}") for path in libraries]
    wraps = "-Wl," + ",".join(f"--wrap={name}" for name in WRAPPED)
    link = [inside(made["CXX"]), "/tmp/made.o", "-o", "/tmp/claim", wraps, *(name for _, name in build),
            *filter(None, made["LIBRARIES"].split(";"))]
    script = shell([*nvcc(), "-c", f"{FOLDER}/{source.name}", "-o", "/tmp/made.o"], link, ["echo"], ["echo", "== made"])
    runs = "\n".join(f"echo; echo == {i}; timeout {CALL_S} /tmp/claim {' '.join(map(shlex.quote, call))} 2>/dev/null || exit 0"
                     for i, call in enumerate(calls))
    done = sandbox.run([*script[:2], f"{script[2]}\n{runs}"], LIMITS, [(source.parent, FOLDER), *sources(), *build, *toolkit()])
    said = done.output.decode("utf-8", "replace")
    if "\n== made\n" not in said:
        refuse(done, source.name)
    parts = re.split(r"^== (\d+)\n", said.split("\n== made\n", 1)[1], flags=re.M)
    told = {int(n): re.findall(r"^launch (\{.*\})$", text, re.M) for n, text in zip(parts[1::2], parts[2::2])}
    return [told[i][0] if told.get(i) else None for i in range(len(calls))]
