"""The lessons, and how an exercise follows from its solution.

A solution marks what a student writes:

    // [todo 04.2] One sentence that states the rule.
    ptx::mbarrier_arrive_expect_tx(...);
    // [end]

In the exercise TODO_OPEN("04.2", "One sentence ...") stands there instead; all else is equal.
"""

import re
from dataclasses import dataclass

from workbook import base
from workbook.base import BAD_INPUT, OK, WRONG, Stop, load_text, save_text, shown

LIMIT = 120  # columns of a blank
FEWEST, MOST = 2, 4
OPENS = re.compile(r"^( *)// \[todo (\d\d)\.(\d)\] (.+)$")
ENDS = re.compile(r"^ *// \[end\]$")
MARKER = re.compile(r"^\s*// \[(todo .*|end|region .*|end region)\]?.*$")
OPEN_CALL = re.compile(r'TODO_OPEN\(\s*"(\d\d\.\d+)"\s*,\s*"((?:[^"\\]|\\.|"\s*")*)"\s*\)')


@dataclass(frozen=True)
class Lesson:
    """One rung of the ladder; every path follows from its name, such as 04_tma_single_stage."""
    name: str

    @property
    def number(self):
        return self.name[:2]

    @property
    def solution(self):
        return base.ROOT / "solutions" / f"{self.name}.cu"

    @property
    def exercise(self):
        return base.ROOT / "lessons" / self.name / f"{self.name}.cu"

    @property
    def readme(self):
        return base.ROOT / "lessons" / self.name / "README.md"

    def program(self, device, group="solutions"):
        """The built program for device 'gpu' or 'emu'; group is a folder of the build, such as 'solutions'."""
        return base.BUILD / group / (self.name + (".emu" if device == "emu" else ""))


def lessons(wanted=None):
    """All lessons in order, or the one that `wanted` names: '04', '4' or '04_tma_single_stage'."""
    names = sorted(p.stem for p in (base.ROOT / "solutions").glob("[0-9][0-9]_*.cu"))
    if not names:
        raise Stop("there is no lesson", ("where", f"{base.ROOT / 'solutions'} has no NN_name.cu"))
    if not wanted:
        return [Lesson(n) for n in names]
    number = wanted.zfill(2) if wanted.isdigit() else wanted
    chosen = [Lesson(n) for n in names if number in (n, n[:2])]
    if not chosen:
        raise Stop(f"there is no lesson '{wanted}'", ("try", "one of: " + ", ".join(names)))
    return chosen


@dataclass
class Region:
    """A blank: its marker's indentation, number ('04.2') and sentence, and the lines of the answer."""
    indent: str
    number: str
    sentence: str
    lines: list

    @property
    def blank(self):
        return f'{self.indent}TODO_OPEN("{self.number}", "{self.sentence}");'


class Malformed(Exception):
    """A file whose regions cannot be read; the message says where and why."""


def split(path):
    """The file as a list of parts: a str is a line outside, a Region what is between two markers."""
    parts, region = [], None
    for at, line in enumerate(load_text(path).splitlines(), 1):
        where = f"{shown(path)}:{at}"
        opened = OPENS.match(line)
        if opened and region:
            raise Malformed(f"{where}: a region opens inside another; close it with // [end]")
        if opened:
            region = Region(opened[1], f"{opened[2]}.{opened[3]}", opened[4], [])
        elif ENDS.match(line):
            if not region:
                raise Malformed(f"{where}: // [end] without a region before it")
            parts.append(region)
            region = None
        elif region:
            region.lines.append(line)
        elif "[todo" in line:
            raise Malformed(f"{where}: write a region as // [todo NN.k] sentence")
        else:
            parts.append(line)
    if region:
        raise Malformed(f"{shown(path)}: region {region.number} is never closed; add // [end]")
    return parts


def regions(path):
    """The blanks of a solution, by number."""
    return sorted((p for p in split(path) if isinstance(p, Region)), key=lambda r: r.number)


def render(parts, fill):
    """The file's text, with fill(region) as the lines of each region."""
    lines = []
    for part in parts:
        if isinstance(part, Region):
            lines += [f"{part.indent}// [todo {part.number}] {part.sentence}", *fill(part), f"{part.indent}// [end]"]
        else:
            lines.append(part)
    return "\n".join(lines) + "\n"


def exercise_text(lesson):
    return render(split(lesson.solution), lambda region: [region.blank])


def one_at_a_time(lesson):
    """A program in which every region is a choice at run time between the blank and the answer (todo.cuh)."""
    def fill(region):
        k = region.number.split(".")[1]
        return [f"{region.indent}if (lab::todo_is_open({k})) {{", region.blank, f"{region.indent}}} else {{", *region.lines,
                f"{region.indent}}}"]
    return "#define TODO_ONE_AT_A_TIME\n" + render(split(lesson.solution), fill)


def is_pristine(lesson):
    return lesson.exercise.exists() and load_text(lesson.exercise) == exercise_text(lesson)


def open_todos(lesson):
    """[(line, number, sentence)] of the blanks left in the student's file, by number."""
    if not lesson.exercise.exists():
        raise Stop(f"{shown(lesson.exercise)} does not exist", ("try", f"make reset-{lesson.number}"))
    text = load_text(lesson.exercise)
    return sorted(((text.count("\n", 0, m.start()) + 1, m[1], re.sub(r'"\s*"', "", m[2]))
                   for m in OPEN_CALL.finditer(text)), key=lambda todo: [int(n) for n in todo[1].split(".")])


def problems(lesson):
    """What is wrong with one solution or its exercise, as sentences."""
    parts = split(lesson.solution)
    found = regions(lesson.solution)
    name, number = shown(lesson.solution), lesson.number
    if [r.number for r in found] != [f"{number}.{k}" for k in range(1, len(found) + 1)]:
        yield f"{name}: the TODOs are numbered {', '.join(r.number for r in found)}; number them {number}.1, {number}.2, ..."
    if not FEWEST <= len(found) <= MOST:
        yield f"{name}: {len(found)} TODOs; a lesson has {FEWEST} to {MOST}"
    for region in found:
        if not region.sentence.endswith(".") or ". " in region.sentence or '"' in region.sentence:
            yield f"{name}: TODO {region.number} must be one sentence with a full stop and without double quotes"
        if len(region.blank) > LIMIT:
            yield f"{name}: TODO {region.number} makes a line of {len(region.blank)} columns; shorten its sentence"
        if not any(line.strip() for line in region.lines):
            yield f"{name}: TODO {region.number} has no answer in its region"
    if not lesson.exercise.exists():
        yield f"{shown(lesson.exercise)} is missing; write it with: workbook exercise --write {number}"
        return
    theirs, mine = (render(p, lambda region: []).split("\n") for p in (parts, split(lesson.exercise)))
    for at, (want, got) in enumerate(zip(theirs, mine), 1):
        if want != got:
            yield (f"{shown(lesson.exercise)} differs from the solution outside the regions (line {at} without them):\n"
                   f"    solution  {want}\n    exercise  {got}")
            return
    if len(theirs) != len(mine):
        yield f"{shown(lesson.exercise)} ends before or after the solution does"


def check_exercises():
    failures = []
    for lesson in lessons():
        try:
            failures += problems(lesson)
        except Malformed as error:
            failures.append(str(error))
    print("\n".join(failures) or f"{len(lessons())} exercises equal their solutions outside the regions")
    return WRONG if failures else OK


def exercise(options):
    """The command `exercise`: what tests, build and authors ask of exercises."""
    if options.action == "check":
        return check_exercises()
    for lesson in lessons(options.lesson):
        try:
            if options.action == "write":
                save_text(lesson.exercise, exercise_text(lesson))
                print(f"wrote {shown(lesson.exercise)}")
            elif options.output:
                save_text(options.output, one_at_a_time(lesson))
            else:
                print(one_at_a_time(lesson), end="")
        except Malformed as error:
            raise Stop(str(error), code=BAD_INPUT)
    return OK
