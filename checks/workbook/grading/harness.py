"""What grades is compared with its commit before it grades, and with itself afterwards."""

import hashlib
import subprocess

from workbook import base, check, program
from workbook.base import Stop
from workbook.grading import compiler

PARTS = ("checks", "common", "solutions", "CMakeLists.txt", "CMakePresets.json", "Makefile", "requirements.txt")


def git(*words):
    done = subprocess.run(["git", "-C", str(base.ROOT), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode("utf-8", "replace").strip()


def commit(anyway):
    """The commit of the checkout, all of whose parts are as in that commit; Stop where they are not, unless the instructor says so."""
    hint = ("try", "git stash, or a clean checkout; or say that it is meant: ARGS=--changed-harness")
    code, head = git("rev-parse", "HEAD")
    if code:
        if anyway:
            return "no commit"
        raise Stop("what grades cannot be compared with its commit", ("why", head), hint)
    code, changed = git("status", "--porcelain", "--untracked-files=all", "--", *PARTS)
    if code or (changed and not anyway):
        lines = changed.splitlines()
        raise Stop("what grades is not as in its commit", ("where", "\n".join(lines[:10]) + (f"\nand {len(lines) - 10} more" if lines[10:] else "")),
                   ("why", f"commit {head[:12]} is what every hand-in should be judged by"), hint)
    return head + (", with changes" if changed else "")


def identity(chosen):
    """A hash of all that has a part in a verdict: the programs that the build has made, headers, the lessons, this tool."""
    made = program.linking()
    files = [made["LAB_HOST"], made["EMULATOR"], base.BUILD / "checks/grading/liblaunch_claim.a", base.ROOT / compiler.WRAPPED]
    files += [f for lesson in chosen for f in (lesson.program("emu"), check.checks_of(lesson), compiler.program_of(lesson), lesson.solution)]
    files += sorted(p for folder in ("common", "checks/workbook") for p in (base.ROOT / folder).rglob("*")
                    if p.suffix in (".cuh", ".hpp", ".h", ".py") and "tests" not in p.parts)
    total = hashlib.sha256(" ".join(program.flags()).encode())
    for file in files:
        with open(file, "rb") as stream:
            total.update(hashlib.sha256(stream.read()).digest())
    return total.hexdigest()
