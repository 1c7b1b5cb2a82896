"""The student's side of a lesson that needs nothing built: hint, diff, reset, status, next."""

import difflib
import json
import re
import sys

from workbook import base, pages
from workbook.base import CYAN, GREEN, OK, RED, WRONG, Stop, colour, load_text, paragraph, save_text, shown, table
from workbook.check import last_result
from workbook.lessons import MARKER, exercise_text, is_pristine, lessons, open_todos
from workbook.report import verdict_colour


def given_before(lesson, todo):
    """How many hints of this blank have been shown, its sentence and its line being the same."""
    try:
        return json.loads(load_text(base.BUILD / "hints" / f"{lesson.name}.json")).get(" ".join(map(str, todo)), 0)
    except (OSError, ValueError):
        return 0


def hint(wanted):
    """The first open blank with one hint more than the last time; behind the last hint the place of the answer."""
    lesson = lessons(wanted)[0]
    todos = open_todos(lesson)
    if not todos:
        print(f"{shown(lesson.exercise)} has no open TODO; try: make check-{lesson.number}")
        return OK
    line, number, sentence = todos[0]
    found = pages.hints(lesson).get(number, [])
    if not found:
        raise Stop(f"there are no hints for TODO {number}", ("try", f"the lesson: {shown(lesson.readme)}"))
    shown_now = min(given_before(lesson, (number, sentence)) + 1, len(found))
    save_text(base.BUILD / "hints" / f"{lesson.name}.json", json.dumps({f"{number} {sentence}": shown_now}))
    print(f"TODO {number}  {shown(lesson.exercise)}:{line}\n  {sentence}\n")
    for at, text in enumerate(found[:shown_now], 1):
        print(paragraph(f"{at} of {len(found)}", text))
    print(f"\nagain for one more: make hint-{lesson.number}" if shown_now < len(found) else
          "\nthat was the last one: ask your instructor" if base.handed_out() else f"\nthe answer: {shown(lesson.solution)}, at [todo {number}]")
    return OK


def kernel_lines(lesson):
    """The worked program down to main, without the markers of the exercise."""
    text = re.split(r"^int main\(", load_text(lesson.solution), flags=re.M)[0]
    text = re.sub(r"(// )\[todo [^\]]*\] ", r"\1", text)
    return [line for line in text.splitlines() if not MARKER.match(line)]


def diff(wanted):
    lesson = lessons(wanted)[0]
    before = [other for other in lessons() if other.number < lesson.number]
    if not before:
        raise Stop(f"there is no lesson before {lesson.name}", ("try", f"a later one: make diff-{lessons()[1].number}"))
    if not base.handed_out():
        print(f"This shows the answers of lesson {lesson.number}.\n")
    lines = list(difflib.unified_diff(kernel_lines(before[-1]), kernel_lines(lesson), shown(before[-1].solution),
                                      shown(lesson.solution), n=2, lineterm=""))
    for text in lines:
        print(colour(text, {"+": GREEN, "-": RED, "@": CYAN}.get(text[:1], 0)))
    print(f"\n{sum(t[:1] == '+' for t in lines[2:])} lines added, {sum(t[:1] == '-' for t in lines[2:])} taken away")
    return OK


def reset(wanted, sure):
    lesson = lessons(wanted)[0]
    old = lesson.exercise
    if is_pristine(lesson):
        print(f"{shown(old)} is as at the start already")
        return OK
    if not sure:
        if not sys.stdin.isatty():
            raise Stop(f"reset overwrites {shown(old)} and has nobody to ask",
                       ("try", f"make reset-{lesson.number} CONFIRM=yes   (a copy is kept)"))
        if input(f"Write {shown(old)} anew? A copy of yours is kept. [y/N] ").strip().lower() not in ("y", "yes"):
            print("nothing changed")
            return WRONG
    kept = None
    if old.exists():
        kept = next(p for p in (old.with_suffix(f".mine-{n}.cu") for n in range(1, 10**6)) if not p.exists())
        kept.write_bytes(old.read_bytes())
    save_text(old, exercise_text(lesson))
    print(f"{shown(old)} is as at the start" + (f"; yours is {shown(kept)}" if kept else ""))
    return OK


SAID = {"": "not checked", "changed": "changed since the last check"}


def status():
    rows = []
    for lesson in lessons():
        todos, (verdict, headline) = open_todos(lesson), last_result(lesson)
        result = "open: " + " ".join(number for _, number, _ in todos) if todos else SAID.get(verdict, verdict)
        cause = headline.split(":")[0] if verdict == "wrong" and not todos else ""
        rows.append([lesson.name, result, shown(lesson.exercise), cause])
    table(["lesson", "result", "file", "found"], rows,
          lambda i, cell: verdict_colour(cell) if i == 1 and not cell.startswith(("open", *SAID.values())) else None)
    return OK


def next_step():
    for lesson in lessons():
        todos, (verdict, headline) = open_todos(lesson), last_result(lesson)
        if todos:
            line, number, sentence = todos[0]
            print(f"lesson {lesson.number}: read  {shown(lesson.readme)}")
            print(f"           edit  {shown(lesson.exercise)}:{line}   TODO {number}: {sentence}")
            print(f"           type  make check-{lesson.number}     stuck: make hint-{lesson.number}")
            return OK
        if verdict != "right":
            print(f"lesson {lesson.number}: {SAID.get(verdict, verdict)}" + (f": {headline}" if headline else ""))
            print(f"           edit  {shown(lesson.exercise)}" if headline else f"           read  {shown(lesson.readme)}")
            print(f"           type  make check-{lesson.number}     one run with all its counts: make try-{lesson.number}")
            return OK
    print("every lesson is right. What else there is:\n"
          "  read lessons/12_your_own_kernel/README.md: write a kernel of your own, break it, read the finding\n"
          "  make break-NN               a lesson's deliberate bugs: predict what each shows, then run it\n"
          "  make try FILE=my_kernel.cu  a kernel of your own, under the checker\n"
          "  make bench, make plots      time the ladder on a Hopper GPU, and draw it")
    return OK
