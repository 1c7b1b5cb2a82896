"""The student's side of a lesson: run_student.py hint|diff|reset LESSON, or status|next.

  hint    the first open TODO of the lesson's file, and what its worked answer is made of
  diff    what the lesson changes in the kernel of the lesson before
  reset   writes the lesson's file anew; keeps the old one beside it; asks first (--yes: does not ask)
  status  every lesson's file with its open TODOs
  next    the file to open now, and what to type after
Exit: 0 done, 1 nothing done, 2 bad input.
"""

import argparse
import difflib
import re
import subprocess
import sys

from run_common import OK, ROOT, WRONG, colour, die, lessons, table

OPEN = re.compile(r'TODO_OPEN\(\s*"(\d\d\.\d+)"\s*,\s*"((?:[^"\\]|\\.|"\s*")*)"\s*\)')
MARKER = re.compile(r"^\s*// \[[^\]]*\]\s*$|\s*\[(end )?region[^\]]*\]\s*$")


def open_todos(lesson):
    """[(line, number, sentence)] of the TODO_OPEN calls left in the student's file, by number."""
    if not lesson.exercise.exists():
        die(f"{lesson.exercise.relative_to(ROOT)} does not exist", f"try   make reset-{lesson.number}")
    text = lesson.exercise.read_text()
    return sorted(((text.count("\n", 0, m.start()) + 1, m.group(1), re.sub(r'"\s*"', "", m.group(2)))
                   for m in OPEN.finditer(text)), key=lambda todo: [int(n) for n in todo[1].split(".")])


def answer(lesson, number):
    """The lines of the worked program between the markers of TODO `number`."""
    found = re.search(r"^[^\n]*\[todo " + re.escape(number) + r"\].*?\n(.*?)^\s*// \[end\]",
                      lesson.solution.read_text(), re.M | re.S)
    lines = found.group(1).splitlines() if found else []
    return [line for line in lines if line.strip() and not line.strip().startswith("//")]


def headers_of(name):
    """Files under common/ that define the function `name`."""
    defines = re.compile(r"^\s*(?:template.*)?\s*__device__[^;]*\b" + re.escape(name) + r"\(", re.M)
    return [str(p.relative_to(ROOT)) for p in sorted((ROOT / "common").rglob("*.cuh")) if defines.search(p.read_text())]


def hint(lesson):
    todos = open_todos(lesson)
    if not todos:
        print(f"{lesson.exercise.relative_to(ROOT)} has no open TODO; try: make check-{lesson.number}")
        return OK
    line, number, sentence = todos[0]
    print(f"TODO {number}  {lesson.exercise.relative_to(ROOT)}:{line}\n  {sentence}\n")
    lines = answer(lesson, number)
    names = sorted(set(re.findall(r"\b(?:ptx|lab)::(\w+)(?=[<(])", "\n".join(lines))))
    if lines:
        print(f"The worked answer has {len(lines)} line{'s' if len(lines) > 1 else ''}"
              + (" and calls:" if names else " and calls no helper."))
    for name in names:
        print("  " + name + "".join(f"   read {header}" for header in headers_of(name)[:1]))
    print(f"\nThe lesson: {lesson.readme.relative_to(ROOT)}   The whole answer: {lesson.solution.relative_to(ROOT)}")
    return OK


def kernel_lines(lesson):
    """The worked program down to main, without the markers of the exercise."""
    text = re.split(r"^int main\(", lesson.solution.read_text(), flags=re.M)[0]
    text = re.sub(r"(// )\[todo [^\]]*\] ", r"\1", text)
    return [MARKER.sub("", line) for line in text.splitlines() if not MARKER.fullmatch(line)]


def diff(lesson):
    before = [other for other in lessons() if other.number < lesson.number]
    if not before:
        die(f"there is no lesson before {lesson.name}", "try   a later one: make diff-" + lessons()[1].number)
    lines = list(difflib.unified_diff(kernel_lines(before[-1]), kernel_lines(lesson), str(before[-1].solution.relative_to(ROOT)),
                                      str(lesson.solution.relative_to(ROOT)), n=2, lineterm=""))
    for text in lines:
        print(colour(text, {"+": 32, "-": 31, "@": 36}.get(text[:1], 0)))
    added = sum(t.startswith("+") for t in lines[2:])
    print(f"\n{added} lines added, {sum(t.startswith('-') for t in lines[2:])} taken away")
    return OK


def exercise_script(option, lesson):
    """Exit code of exercise.py, which derives the exercises from the worked programs."""
    return subprocess.run([sys.executable, "-B", str(ROOT / "checks/scripts/exercise.py"), option, lesson.number]).returncode


def reset(lesson, sure):
    old = lesson.exercise
    if old.exists() and exercise_script("--pristine", lesson) == 0:
        print(f"{old.relative_to(ROOT)} is as at the start already")
        return OK
    if not sure:
        if not sys.stdin.isatty():
            die(f"reset overwrites {old.relative_to(ROOT)} and has nobody to ask",
                f"try   make reset-{lesson.number} CONFIRM=yes   (a copy is kept)")
        if input(f"Write {old.relative_to(ROOT)} anew? A copy of yours is kept. [y/N] ").strip().lower() not in ("y", "yes"):
            print("nothing changed")
            return WRONG
    kept = None
    if old.exists():
        number = 1
        while old.with_suffix(f".mine-{number}.cu").exists():
            number += 1
        kept = old.with_suffix(f".mine-{number}.cu")
        kept.write_bytes(old.read_bytes())
    if exercise_script("--write", lesson) != 0:
        die(f"{old.relative_to(ROOT)} could not be written anew", *([f"where your copy is {kept}"] if kept else []))
    print(f"{old.relative_to(ROOT)} is as at the start" + (f"; yours is {kept.relative_to(ROOT)}" if kept else ""))
    return OK


def status():
    rows = []
    for lesson in lessons():
        todos = open_todos(lesson)
        rows.append([lesson.name, str(len(todos)), " ".join(number for _, number, _ in todos) or "-",
                     str(lesson.exercise.relative_to(ROOT))])
    table(["lesson", "open", "TODOs", "file"], rows)
    print("\nno open TODO is not yet right: make check-NN runs the lesson's checks on your file")
    return OK


def next_step():
    for lesson in lessons():
        todos = open_todos(lesson)
        if todos:
            line, number, sentence = todos[0]
            print(f"lesson {lesson.number}: read  {lesson.readme.relative_to(ROOT)}")
            print(f"           edit  {lesson.exercise.relative_to(ROOT)}:{line}   TODO {number}: {sentence}")
            print(f"           type  make check-{lesson.number}     stuck: make hint-{lesson.number}")
            return OK
    print("no file has an open TODO; type: make check")
    return OK


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["hint", "diff", "reset", "status", "next"])
    parser.add_argument("lesson", nargs="?")
    parser.add_argument("--yes", action="store_true", help="reset without asking")
    options = parser.parse_args()
    if options.what in ("status", "next"):
        return status() if options.what == "status" else next_step()
    if not options.lesson:
        die(f"{options.what} needs a lesson", f"try   make {options.what}-{lessons()[0].number}")
    lesson = lessons(options.lesson)[0]
    return reset(lesson, options.yes) if options.what == "reset" else {"hint": hint, "diff": diff}[options.what](lesson)


if __name__ == "__main__":
    sys.exit(main())
