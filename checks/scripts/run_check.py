"""Checks the student's files: builds lessons/NN_name/NN_name.cu, and runs the lesson's checks on that program.

The checks are those of the worked program, except the cases about the project itself. A file with an open TODO gets that TODO reported and nothing else.
Exit: 0 if every file is right, 1 if not, 2 for bad input.
"""

import argparse
import os
import re
import subprocess
import sys

from run_common import BUILD, OK, ROOT, TODO_OPEN, WRONG, colour, lessons, table
from run_device import choose

LIMIT_S = 900


def build(lesson):
    """Compiles one lesson's program and its checks. Returns True if that worked; the compiler's words are shown."""
    return subprocess.run(["sh", str(ROOT / "checks/scripts/run_build.sh"), str(BUILD), os.environ.get("JOBS") or "2",
                           f"lessons.{lesson.name}.gpu", f"lessons.{lesson.name}.emu", f"check.lesson.{lesson.name}"],
                          cwd=ROOT).returncode == 0


def check(lesson, choice):
    """Returns (verdict, cases passed, cases failed, text to show) of one lesson."""
    if not build(lesson):
        return "does not compile", 0, 0, ""
    environment = dict(os.environ, CHECK_BIN_DIR=str(BUILD), CHECK_GROUP="lessons", **choice.environment)
    first = subprocess.run([str(lesson.program(choice.device, "lessons")), "--m", "128", "--n", "128", "--k", "128"],
                           env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                           timeout=LIMIT_S)
    if first.returncode == TODO_OPEN:
        return "TODO open", 0, 0, f"{first.stdout.rstrip()}\nstuck: make hint-{lesson.number}"
    try:
        done = subprocess.run([str(BUILD / "checks/lesson" / lesson.name)], env=environment, cwd=ROOT, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", timeout=LIMIT_S)
    except subprocess.TimeoutExpired as late:
        return "stopped", 0, 1, f"{late.output or ''}\nstopped after {LIMIT_S} s"
    summary = re.search(r"test cases: *\d+ *\| *(\d+) passed *\| *(\d+) failed", done.stdout)
    passed, failed = (int(summary.group(1)), int(summary.group(2))) if summary else (0, 0)
    if done.returncode == 0 and passed > 0 and failed == 0:
        return "right", passed, 0, ""
    return "wrong", passed, max(failed, 1), done.stdout.rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lesson", help="04, or 04_tma_single_stage; default: all")
    options = parser.parse_args()
    choice = choose(default="emu")
    rows, all_right = [], True
    for lesson in lessons(options.lesson):
        verdict, passed, failed, text = check(lesson, choice)
        if text:
            print(f"{lesson.exercise.relative_to(ROOT)}\n{text}\n")
        all_right = all_right and verdict == "right"
        rows.append([lesson.name, verdict, str(passed), str(failed)])
        sys.stdout.flush()
    print(f"device: {choice.name}, because {choice.reason}\n")
    table(["your file", "result", "cases passed", "failed"], rows,
          lambda i, cell, padded: colour(padded, 32 if cell == "right" else 31) if i == 1 else padded)
    return OK if all_right else WRONG


if __name__ == "__main__":
    sys.exit(main())
