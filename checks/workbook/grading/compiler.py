"""Compiles a hand-in in the sandbox: to PTX, or to the program that says what its host code hands to the first launch."""

import functools
import os
import re
import shlex
from pathlib import Path

from workbook import base, program
from workbook.base import Stop
from workbook.grading.sandbox import Limits, Unjudged, inside

FOLDER = "/hand-in"  # where the source is in a sandbox
LIMITS = Limits(cpu_s=60, file=256 << 20)
CALL_S = 10  # of CPU time that a program has until it launches its kernel
PRINTED = 4000  # characters of what it prints that are kept
LONGEST_PTX = 4 << 20  # bytes; the longest of a lesson has a twentieth
WRAPPED = "checks/grading/wrapped.txt"  # the options that lead a program's calls to launch_claim.cpp

TOO_BUSY = re.compile(r"Resource temporarily unavailable|died due to signal 9|Killed signal")  # by the system, for want of something
OTHERS = re.compile(r"undefined reference|multiple definition|internal error|Error: ")  # of the linker, the assembler and others


class Refused(Exception):
    """A source from which nothing can be made. where: (file, line, text) of each complaint of the compiler; stopped: it was ended
    by a limit."""

    def __init__(self, what, where=(), stopped=False):
        super().__init__(what)
        self.where, self.stopped = list(where), stopped


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
        raise Refused(f"the compiler was {outcome.why}", stopped=True)
    found = list(program.DIAGNOSTIC.finditer(said))
    where = [(m["file"], int(m["line"]), m["text"]) for m in found if m["file"]]
    if where:
        raise Refused(where[0][2], where)
    if TOO_BUSY.search(said) and outcome.cpu_s < LIMITS.cpu_s / 2:
        raise Unjudged("the system did not give the compiler what it needs", ("why", said.strip()[-300:]))
    lines = said.strip().splitlines() or ["the compiler died"]
    told = next(filter(OTHERS.search, lines), None)
    if found or told or outcome.code < 0:
        raise Refused(next((m["ptxas"] for m in found), told or lines[-1]))
    raise Broken("the compiler did not work in the sandbox", ("where", name), ("why", said.strip()[-600:] or outcome.ended()))


def of_size(ptx):
    if len(ptx) > LONGEST_PTX:
        raise Refused(f"its PTX has {len(ptx) >> 20} MiB, and {LONGEST_PTX >> 20} MiB are read at most")
    return ptx


def to_ptx(sandbox, source):
    """The PTX text of a source, as bytes. Raises Refused."""
    made = "kernel.ptx"  # in the private folder in which the command begins, also without a sandbox
    done = sandbox.run(shell([*nvcc(), "-ptx", f"{FOLDER}/{source.name}", "-o", made], ["exec", "cat", made]), LIMITS,
                       [(source.parent, FOLDER), *sources(), *toolkit()])
    if done.code or done.why:
        refuse(done, source.name)
    return of_size(done.output)


def longest_kernel(ptx):
    """The name of the kernel whose text is the longest; '' where there is none."""
    places = [m.span(1) for m in program.KERNEL.finditer(ptx)]
    ends = [begin for begin, _ in places[1:]] + [len(ptx)]
    return max(((end - begin, ptx[begin:name_end].decode()) for (begin, name_end), end in zip(places, ends)), default=(0, ""))[1]


def assembled(sandbox, folder, ptx):
    """What ptxas says of `folder`/kernel.ptx, which holds `ptx`: its resource report and remarks; '' where it says nothing. Of kernels of one template
    the longest is asked about: it needs the most registers, and the remarks are about the source that they have in common."""
    options = ",".join(["-v", *filter(None, ["-e", longest_kernel(ptx)])])
    done = sandbox.run([inside(program.linking()["NVCC"]), "-arch=sm_90a", "-cubin", f"{FOLDER}/kernel.ptx", "-Xptxas", options, "-o", "kernel.cubin"],
                       LIMITS, [(folder, FOLDER), *toolkit()])
    return (done.output + done.errors)[:1 << 20].decode("utf-8", "replace")


def program_of(lesson):
    """The worked program of a lesson, linked to say what it hands to its first launch."""
    return base.BUILD / "checks" / "grading" / f"claim.{lesson.name}"


def told(said):
    """The launch in what a program said; None where there is none."""
    return next(iter(re.findall(r"^launch (\{.*\})$", said, re.M)), None)


def with_launches(sandbox, source, calls):
    """(the PTX text of a source, what its host code hands to its first launch by its own account), of one compilation. For each of
    `calls`, which are lists of arguments: (the launch, None where it says nothing; all that it prints). Raises Refused."""
    made = program.linking()
    libraries = [base.BUILD / "checks/grading/liblaunch_claim.a", Path(made["LAB_HOST"]), Path(made["EMULATOR"]), base.ROOT / WRAPPED]
    build = [(path, f"/libraries/{path.name}") for path in libraries]
    link = [inside(made["CXX"]), "made.o", "-o", "claim", *(name for _, name in build[:-1]), f"@{build[-1][1]}",
            *filter(None, made["LIBRARIES"].split(";"))]
    # The PTX comes first, and behind how long it is: nothing of the hand-in has run by then.
    script = shell([*nvcc(), "-c", "--keep", "--keep-dir", ".", f"{FOLDER}/{source.name}", "-o", "made.o"], link,
                   ["wc", "-c", f"{source.stem}.ptx"], ["cat", f"{source.stem}.ptx"])
    limited = f"prlimit --cpu={CALL_S} --nproc={sandbox.tasks(LIMITS.processes)}"
    runs = "\n".join(f"echo; echo == {i}; {limited} ./claim {' '.join(map(shlex.quote, call))} 2>&1 || exit 0" for i, call in enumerate(calls))
    done = sandbox.run([*script[:2], f"{script[2]}\n{runs}"], LIMITS, [(source.parent, FOLDER), *sources(), *build, *toolkit()])
    header, _, rest = done.output.partition(b"\n")
    size = re.fullmatch(rb"\s*(\d+) .*", header)
    if not size or len(rest) < int(size[1]):
        refuse(done, source.name)
    parts = re.split(r"^== (\d+)\n", rest[int(size[1]):].decode("utf-8", "replace"), flags=re.M)
    said = {int(n): (told(text), text[-PRINTED:]) for n, text in reversed(list(zip(parts[1::2], parts[2::2])))}
    return of_size(rest[:int(size[1])]), [said.get(i, (None, done.why)) for i in range(len(calls))]
