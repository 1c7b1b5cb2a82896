#!/usr/bin/env python3
"""Derives the exercises from the solutions.

A solution marks what a student writes:

    // [todo 04.2] One sentence that states the rule.
    ptx::mbarrier_arrive_expect_tx(...);
    // [end]

In the exercise TODO_OPEN("04.2", "One sentence ...") stands there instead; all else is equal.

  exercise.py --check             every solution is well marked, every exercise equals it outside the regions
  exercise.py --write [NN]        write lessons/NN_name/NN_name.cu (overwrites a student's work)
  exercise.py --print NN          print the exercise (or write it to -o FILE)
  exercise.py --pristine NN       exit status 0 when no blank of the exercise has been filled, 1 otherwise
  exercise.py --sentences NN      print "NN.k sentence" for each blank, in order
  exercise.py --one-at-a-time NN  print a program with every blank beside its answer, for the checks
                                  (todo.cuh; or write it to -o FILE)
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPEN = re.compile(r"^( *)// \[todo (\d\d)\.(\d)\] (.+)$")
END = re.compile(r"^ *// \[end\]$")
LIMIT = 110  # columns, as in .clang-format


class Malformed(Exception):
    """A file whose regions cannot be read; the message says where and why."""


def split(path):
    """The file as a list of parts: a str is a line outside, a tuple (indent, number, sentence, lines) a region."""
    parts, region = [], None
    for at, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.relative_to(ROOT)}:{at}"
        opened = OPEN.match(line)
        if opened and region is not None:
            raise Malformed(f"{where}: a region opens inside another; close it with // [end]")
        if opened:
            region = (opened[1], f"{opened[2]}.{opened[3]}", opened[4], [])
        elif END.match(line):
            if region is None:
                raise Malformed(f"{where}: // [end] without a region before it")
            parts.append(region)
            region = None
        elif region is not None:
            region[3].append(line)
        elif "[todo" in line:
            raise Malformed(f"{where}: write a region as // [todo NN.k] sentence")
        else:
            parts.append(line)
    if region is not None:
        raise Malformed(f"{path.relative_to(ROOT)}: region {region[1]} is never closed; add // [end]")
    return parts


def regions(parts):
    return [part for part in parts if isinstance(part, tuple)]


def blank(region):
    """The line that stands for a region in the exercise."""
    indent, number, sentence, _ = region
    return f'{indent}TODO_OPEN("{number}", "{sentence}");'


def render(parts, fill):
    """The file's text, with fill(region) as the lines of each region."""
    lines = []
    for part in parts:
        if isinstance(part, str):
            lines.append(part)
        else:
            lines += [f"{part[0]}// [todo {part[1]}] {part[2]}", *fill(part), f"{part[0]}// [end]"]
    return "\n".join(lines) + "\n"


def exercise_text(solution):
    return render(split(solution), lambda region: [blank(region)])


def one_at_a_time(solution):
    """Every region as a choice at run time between the blank and the answer."""
    def fill(region):
        indent, number, _, lines = region
        k = number.split(".")[1]
        return [f"{indent}if (lab::todo_only == {k}) {{", blank(region), f"{indent}}} else {{", *lines, f"{indent}}}"]
    return "#define TODO_ONE_AT_A_TIME\n" + render(split(solution), fill)


def exercise_path(solution):
    return ROOT / "lessons" / solution.stem / solution.name


def solutions(number=None):
    found = sorted((ROOT / "solutions").glob("[0-9][0-9]_*.cu"))
    chosen = [path for path in found if number in (None, path.stem, path.stem[:2])]
    if not chosen:
        sys.exit(f"exercise.py: there is no lesson {number}; there are " + ", ".join(p.stem for p in found))
    return chosen


def problems(solution):
    """What is wrong with one solution or its exercise, as sentences."""
    parts = split(solution)
    found = regions(parts)
    lesson, name = solution.stem[:2], solution.relative_to(ROOT)
    numbers = sorted(region[1] for region in found)
    if numbers != [f"{lesson}.{k}" for k in range(1, len(found) + 1)]:
        yield f"{name}: the TODOs are numbered {', '.join(numbers)}; number them {lesson}.1, {lesson}.2, ..."
    if not 3 <= len(found) <= 6:
        yield f"{name}: {len(found)} TODOs; a lesson has 3 to 6"
    for region in found:
        if not region[2].endswith(".") or ". " in region[2] or '"' in region[2]:
            yield f"{name}: TODO {region[1]} must be one sentence with a full stop and without double quotes"
        if len(blank(region)) > LIMIT:
            yield f"{name}: TODO {region[1]} makes a line of {len(blank(region))} columns; shorten its sentence"
        if not any(line.strip() for line in region[3]):
            yield f"{name}: TODO {region[1]} has no answer in its region"
    exercise = exercise_path(solution)
    if not exercise.exists():
        yield f"{exercise.relative_to(ROOT)} is missing; write it with exercise.py --write {lesson}"
        return
    outside = lambda text_parts: render(text_parts, lambda region: [])
    for at, (mine, theirs) in enumerate(zip(outside(parts).split("\n"), outside(split(exercise)).split("\n")), 1):
        if mine != theirs:
            yield (f"{exercise.relative_to(ROOT)} differs from the solution outside the regions (line {at} without "
                   f"them):\n    solution  {mine}\n    exercise  {theirs}")
            return
    if outside(parts) != outside(split(exercise)):
        yield f"{exercise.relative_to(ROOT)} ends before or after the solution does"


def check():
    failures = []
    for solution in solutions():
        try:
            failures += problems(solution)
        except Malformed as error:
            failures.append(str(error))
    for failure in failures:
        print("exercise.py: " + failure)
    if not failures:
        print(f"{len(solutions())} exercises equal their solutions outside the regions")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description="Derives the exercises from the solutions.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", action="store_true")
    action.add_argument("--write", nargs="?", const="", metavar="NN")
    for name in ("--print", "--pristine", "--sentences", "--one-at-a-time"):
        action.add_argument(name, metavar="NN")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="where --print and --one-at-a-time write")
    options = parser.parse_args()

    def emit(text):
        if options.output is None:
            sys.stdout.write(text)
            return
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text)

    try:
        if options.check:
            return check()
        if options.write is not None:
            for solution in solutions(options.write or None):
                exercise_path(solution).parent.mkdir(parents=True, exist_ok=True)
                exercise_path(solution).write_text(exercise_text(solution))
                print(f"wrote {exercise_path(solution).relative_to(ROOT)}")
        elif options.print:
            emit(exercise_text(solutions(options.print)[0]))
        elif options.pristine:
            solution = solutions(options.pristine)[0]
            return 0 if exercise_path(solution).read_text() == exercise_text(solution) else 1
        elif options.sentences:
            for region in sorted(regions(split(solutions(options.sentences)[0])), key=lambda r: r[1]):
                print(region[1], region[2])
        else:
            emit(one_at_a_time(solutions(options.one_at_a_time)[0]))
    except (Malformed, OSError) as error:
        sys.exit(f"exercise.py: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
