"""Times the grading of a class of 40 hand-ins of all lessons: python3 checks/grading/time_class.py [--no-sandbox] [--alone].

The class: 10 starters, 10 with the first half of the blanks, 8 worked in files of their own, and 12 with a deliberate bug in each
file. JOBS files are judged at a time; the built tree is that of `make grade ARGS=--build-only`. With --alone one worked file of each
lesson is judged, one after the other, with host code as in the lesson and with other host code. What a file costs is the processor
time of its compilers and programs, and with the tool's own in the last line.
"""

import argparse
import os
import resource
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from workbook import build  # noqa: E402
from workbook.base import load_text, table  # noqa: E402
from workbook.grading import command, examples, harness, judge, sandbox  # noqa: E402
from workbook.lessons import exercise_text, lessons, regions, render, split  # noqa: E402

STARTERS, HALVES, WORKED, BUGS = 10, 10, 8, 12


class Timed(sandbox.Sandbox):
    """A sandbox that keeps what each thread's commands have used."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.used = threading.local()

    def run(self, *arguments, **options):
        done = super().run(*arguments, **options)
        self.used.cpu_s = getattr(self.used, "cpu_s", 0) + done.cpu_s
        return done


def half(lesson):
    """The lesson's file with the first half of its blanks filled."""
    numbers = [region.number for region in regions(lesson.solution)]
    done = numbers[:len(numbers) // 2]
    return render(split(lesson.solution), lambda region: region.lines if region.number in done else [region.blank])


def hand_ins():
    """[(kind, lesson, text)] of the class."""
    bugs = {}
    for example, _ in examples.of_bugs():
        bugs.setdefault(example.lesson, []).append(example.text)
    for lesson in lessons():
        for _ in range(STARTERS):
            yield "starter", lesson, exercise_text(lesson)
        for at in range(HALVES):
            yield "half done", lesson, half(lesson) + f"// hand-in {at}\n"
        for at in range(WORKED):
            yield "worked", lesson, load_text(lesson.solution) + f"// hand-in {at}\n"
        for at in range(BUGS):
            yield "a bug", lesson, bugs[lesson.name][at % len(bugs[lesson.name])]


def alone():
    for lesson in lessons():
        text = load_text(lesson.solution)
        yield "the lesson's", lesson, text + "// a hand-in\n"
        yield "other", lesson, text.replace("int main(", "static int own = 1;\nint main(") + "// a hand-in\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-sandbox", action="store_true")
    parser.add_argument("--alone", action="store_true")
    asked = parser.parse_args()
    os.environ.setdefault("CALLED_FROM", os.getcwd())
    command.build_all(lessons())
    jobs = 1 if asked.alone else build.jobs()
    place, spent = Timed(asked.no_sandbox, jobs), {}
    with tempfile.TemporaryDirectory(prefix="workbook.") as folder:
        one = judge.Judge(place, Path(folder), harness.identity(lessons()), "a key")
        for lesson in lessons():
            one.case_names(lesson), one.worked_launches(lesson)

        def grade(work):
            kind, lesson, text = work
            place.used.cpu_s = 0
            found = judge.judge_file(one, lesson, text)
            return kind, lesson, found["what"], place.used.cpu_s

        began, own = time.monotonic(), time.process_time()
        with ThreadPoolExecutor(jobs) as pool:
            for kind, lesson, what, cpu_s in pool.map(grade, alone() if asked.alone else hand_ins()):
                spent.setdefault((lesson.number, kind), []).append(cpu_s)
        wall, own = time.monotonic() - began, time.process_time() - own
    kinds = sorted({kind for _, kind in spent})
    numbers = [lesson.number for lesson in lessons()]
    shown = lambda seconds: f"{statistics.median(seconds):.1f}" + (f" ({max(seconds):.1f})" if len(seconds) > 1 else "")
    table(["CPU s: median (most)", *numbers], [[kind, *(shown(spent[n, kind]) for n in numbers)] for kind in kinds])
    files, total = sum(map(len, spent.values())), sum(map(sum, spent.values()))
    memory = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) >> 10
    print(f"\n{files} files in {wall:.0f} s with {jobs} at a time: {total:.0f} s of processor time and {own:.0f} s of the tool's own; "
          f"the largest process had {memory} MiB")


if __name__ == "__main__":
    main()
