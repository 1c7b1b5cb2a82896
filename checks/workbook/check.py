"""The student's files: check, try, watch, and what the last check has said."""

import contextlib
import hashlib
import json
import os
import re
import shlex
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from workbook import build, compile_report, device, predict, program, reclaimed, report
from workbook.base import BUILD, GREEN, OK, ROOT, TODO_OPEN, WRONG, YELLOW, Stop, colour, handed_out, load_text, paragraph, save_text, shown, table
from workbook.lessons import Lesson, lessons
from workbook.nvcc import registers
from workbook.run import Run, run

CASE_LIMIT_S, TRY_LIMIT_S = 600, 120
PRINTED = 100  # lines of a program's own that are shown
PROJECT = "--test-suite-exclude=project"
GROUP = "student"  # the folder of the build that holds the students' programs


@dataclass
class Case:
    """One case of a lesson's check, as its program has written it down (checks/support/report.hpp)."""
    name: str
    status: str  # passed, failed or skipped
    message: str = ""
    run: object = None  # the first run that failed, else the last one

    @staticmethod
    def read(line):
        said = json.loads(line)
        result = said.get("program") or {}
        code = {"right": OK, "todo": TODO_OPEN}.get(result.get("verdict"), WRONG)
        done = Run(said.get("command") or [], said.get("environment") or {}, code, "", 0, said.get("json") or {}, result)
        return Case(said["case"], said["status"], said.get("message") or "", done)


@dataclass
class Judgement:
    """What a check has come to. verdict: right, wrong, 'right, but', TODO open, does not compile."""
    verdict: str
    lines: list = field(default_factory=list)  # what a person reads of it
    cases: list = field(default_factory=list)
    again: str = ""  # the command that repeats the first failing run
    left: int = 0    # cases that did not run
    reclaimed: tuple = ()  # header and rows: what the kernel takes beside the lesson before
    passed = property(lambda self: sum(c.status == "passed" for c in self.cases))
    failed = property(lambda self: sum(c.status == "failed" for c in self.cases))


@dataclass(frozen=True)
class Elsewhere(Lesson):
    """A lesson with another file than the checkout's in the student's place."""
    path: object = None
    exercise = property(lambda self: self.path)


def compiled(lesson, choice, *targets):
    """The student's program of a lesson. What it is checked with is built first. Raises DoesNotCompile."""
    build.jobs()
    with build.locked():
        build.setup(again=False)
        build.build(f"solutions.{lesson.name}.emu", *targets)
        return program.make(lesson.exercise, lesson.program(choice.device, GROUP), choice.device,
                            (lesson.solution, lesson.program("emu")))


def case_names(lesson):
    """The names of a lesson's cases, without those about the project; the build has made their program."""
    done = run([checks_of(lesson), PROJECT, "--list-test-cases", "--no-version"], TRY_LIMIT_S, merge=False)
    names = [line for line in done.output.splitlines() if line and not line.startswith(("[doctest]", "===="))]
    if done.code != OK or not names:
        raise Stop("the check does not list its cases", ("where", shown(checks_of(lesson))), ("why", f"it {done.ended()}"),
                   ("try", "make clean, then again"))
    return names


def checks_of(lesson):
    return BUILD / "checks" / "lesson" / lesson.name


def run_case(lesson, choice, name):
    """(the Case, all that its process said). A process that wrote nothing down is a failed case, too."""
    with tempfile.TemporaryDirectory(prefix="workbook.") as folder:
        path = Path(folder, "report")
        done = run([checks_of(lesson), PROJECT, "--test-case=" + name.replace(",", "?"), "--no-version"], CASE_LIMIT_S, cwd=ROOT,
                   CHECK_REPORT=path, CHECK_GROUP=GROUP, CHECK_BIN_DIR=BUILD, **choice.environment)
        try:
            return Case.read(load_text(path).splitlines()[0]), done.output
        except (OSError, ValueError, KeyError, IndexError):
            return Case(name, "failed", f"the check of this case {done.ended()}", Run([], {}, WRONG, done.output)), done.output


def run_cases(lesson, choice, every):
    """The cases of a lesson on the student's program: those that ran, as many at once as JOBS allows. Unless `every` one is
    wanted, none is started after one has failed."""
    failed = threading.Event()

    def one(name):
        if failed.is_set() and not every:
            return None
        case, said = run_case(lesson, choice, name)
        if case.status == "failed":
            failed.set()
        return case, said

    names = case_names(lesson)
    with ThreadPoolExecutor(build.jobs()) as pool:
        done = [result for result in pool.map(one, names) if result]
    save_text(full_path(lesson), "\n".join(f"==== {case.name}: {case.status}\n{said}" for case, said in done))
    return [case for case, _ in done], len(names) - len(done)


def again(lesson, done):
    """What to type to repeat a run of the student's program."""
    words = f"make try FILE={shlex.quote(shown(lesson.exercise))}" if isinstance(lesson, Elsewhere) else f"make try-{lesson.number}"
    if done.command[1:]:
        words += f' ARGS="{" ".join(shlex.quote(w) for w in done.command[1:])}"'
    schedule = done.environment.get("EMU_SCHEDULE", "in-order")
    return words + ("" if schedule == "in-order" else f" SCHEDULE={schedule}")


def judge(lesson, choice, every=False, beside=False):
    """Compiles and checks one lesson's file. `beside`: a right one is also counted beside the lesson before."""
    try:
        earlier = reclaimed.before(lesson) if beside else None
        compiled(lesson, choice, f"check.lesson.{lesson.name}", *([f"solutions.{earlier.name}.emu"] if earlier else []))
    except program.DoesNotCompile as error:
        save_text(full_path(lesson), str(error))
        return Judgement("does not compile", compile_report.refusal(error, lesson.exercise))
    ptx = lesson.program("emu", GROUP).with_suffix(".ptx")
    with program.Assembling(ptx if choice.device == "emu" and ptx.exists() else None) as assembling:
        cases, left = run_cases(lesson, choice, every)
        bad = next((c for c in cases if c.status == "failed"), None)
        said = "" if bad else assembling.said()
    if bad is None:
        lines = compile_report.remarks(said, lesson.exercise)
        taken = reclaimed.rows(lesson, lesson.program("emu", GROUP), said) if beside and said else ()
        return Judgement("right, but" if lines else "right", lines, cases, reclaimed=taken)
    found = blame(lesson, choice, bad, cases)
    found.left = left
    return found


def blame(lesson, choice, bad, cases):
    """The judgement on a file one of whose cases failed: what its first failing run shows."""
    first, repeat = bad.run, again(lesson, bad.run) if bad.run.command else ""
    if first.verdict == "todo":
        return Judgement("TODO open", report.body(first, lesson.exercise), cases)
    if not first.errors and first.verdict != "right" and first.command:  # its output says what its JSON does not
        first = run(first.command, TRY_LIMIT_S, json_option=True, **dict(first.environment, **choice.environment))
    lines = report.body(first, lesson.exercise) if first.command else []
    if first.errors or first.verdict != "right":
        return Judgement("wrong", lines or [bad.message], cases, repeat)
    return Judgement("right, but", [colour(short_claim(bad.message), YELLOW), *([""] + lines if lines else [])], cases, repeat)


def short_claim(message):
    """A claim's own words: 'right numbers at M=..., but ...'."""
    return message.splitlines()[0] if message else "right numbers, but a case failed"


def full_path(lesson):
    return BUILD / GROUP / f"{lesson.name}.txt"


def print_judgement(lesson, found):
    """The report of one lesson, in one screen."""
    print(f"{shown(lesson.exercise)}: {colour(found.verdict, report.verdict_colour(found.verdict))}" +
          (f", {found.passed} cases" if found.verdict == "right" else ""))
    if found.verdict == "right":
        if found.reclaimed:
            print()
            table(*found.reclaimed)
        return
    print("\n" + "\n".join(found.lines))
    if found.verdict == "TODO open":
        print("" if isinstance(lesson, Elsewhere) else f"\n  stuck  make hint-{lesson.number}")
    if found.failed and found.verdict != "TODO open":
        print(("\n" + paragraph("again", found.again) if found.again else "") + "\n" + paragraph("full", shown(full_path(lesson))))
        label = "  cases  "
        for case in found.cases:
            print(f"{label}{colour(f'{case.status:<8}', report.verdict_colour(case.status))} {case.name}")
            label = " " * 9
        if found.left:
            print(f"         not run  {found.left} more; all of them: ALL=1")
        else:
            print(f"         {found.failed} of {len(found.cases)} failed")


# ---- what the last check has said

def result_path(lesson):
    return BUILD / GROUP / f"{lesson.name}.json"


def digest(lesson):
    """What tells the file as it is from others; '' where there is none."""
    try:
        return hashlib.sha256(lesson.exercise.read_bytes()).hexdigest()
    except FileNotFoundError:  # an editor may be replacing it
        return ""


def remember(lesson, found, hashed):
    headline = "" if found.verdict == "right" or not found.lines else re.sub(r"\x1b\[\d+m", "", found.lines[0])
    save_text(result_path(lesson), json.dumps({"hash": hashed, "verdict": found.verdict, "headline": headline}) + "\n")


def last_result(lesson):
    """(verdict, headline) of the last check of the file as it is now; ('changed', '') if it was another; ('', '') if none."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        said = json.loads(load_text(result_path(lesson)))
        return (said["verdict"], said["headline"]) if said["hash"] == digest(lesson) else ("changed", "")
    return "", ""


# ---- commands

def elsewhere(name, wanted):
    """The lesson of FILE=, which LESSON= names, or the file by its own name."""
    path = Path(os.path.abspath(Path(os.environ.get("CALLED_FROM") or ROOT) / Path(name).expanduser()))
    named = [lesson for lesson in lessons() if lesson.name == path.stem]
    if not path.is_file():
        raise Stop(f"FILE={name} does not exist", ("where", str(path)))
    if not wanted and not named:
        raise Stop(f"of which lesson is {name}?", ("try", f"make check FILE={name} LESSON=04"))
    return Elsewhere((lessons(wanted) if wanted else named)[0].name, path)


def check(wanted=None, every=False, file=""):
    chosen = [elsewhere(file, wanted)] if file else lessons(wanted)
    wanted = wanted or file
    choice = device.choose("emu")
    rows, all_right = [], True
    for lesson in chosen:
        hashed = digest(lesson)
        found = judge(lesson, choice, every, bool(wanted)) if hashed else Judgement("missing", [f"start it again: make reset-{lesson.number}"])
        if wanted or found.verdict != "TODO open":  # of many files the table says which are open
            print_judgement(lesson, found)
        if not file:
            remember(lesson, found, hashed)
        if wanted and found.verdict in ("right", "right, but") and choice.device == "emu" and not handed_out():
            sys.stdout.flush()
            print("".join(line + "\n" for line in predict.sentence_lines(lesson.program("emu", GROUP), lesson)), end="")
        all_right = all_right and found.verdict == "right"
        rows.append([lesson.name, found.verdict, found.passed, found.failed])
        sys.stdout.flush()
    if not wanted:
        print()
        table(["your file", "result", "cases passed", "failed"], rows, lambda i, cell: report.verdict_colour(cell) if i == 1 else None)
        print(f"\n{choice}")
    return OK if all_right else WRONG


def show_run(done, source, choice, ptx=None):
    """The short report of one run; its exit code. 0 findings are said with what was seen."""
    lines = report.body(done, source, printed=True)
    said = program.assemble(ptx) if ptx and ptx.exists() and choice.device == "emu" else ""
    if done.errors or done.verdict == "todo":
        print("\n".join(lines))
        return WRONG
    if done.verdict != "right":
        print("\n".join(["0 findings, and still:", *lines]))
    elif lines:
        print("\n".join(lines))
    elif choice.device == "emu":
        print(colour("0 findings", GREEN))
    else:
        print("\n".join(line for line in done.output.splitlines() if line.startswith(report.HEADS)))
    if choice.device == "emu" and done.emu:  # a program that crashed has written no counts
        print("\n".join(report.seen_lines(done, *registers(said))))
    remarks = compile_report.remarks(said, source)
    if remarks:
        print("\n" + "\n".join(remarks))
    return OK if done.verdict == "right" else WRONG


def arguments():
    """ARGS, as a shell would take it apart."""
    try:
        return shlex.split(os.environ.get("ARGS", ""))
    except ValueError as problem:
        raise Stop(f"ARGS={os.environ['ARGS']} cannot be taken apart", ("why", str(problem)))


def schedule():
    wanted = os.environ.get("SCHEDULE") or "in-order"
    if not re.fullmatch(r"in-order|late|timed(:\d+)?|random:\d+", wanted):
        raise Stop(f"SCHEDULE={wanted} is no schedule", ("try", "in-order, late, timed, or random:SEED with a whole number as SEED"))
    return wanted


def print_own(lines):
    """What the program itself printed, apart from what is said of it; not more than a few screens."""
    lines = list(lines)
    more = [f"... and {len(lines) - PRINTED} lines more"] if lines[PRINTED:] else []
    print("".join(f"  | {line}\n" for line in lines[:PRINTED] + more), end="")


def try_lesson(wanted):
    lesson, words, order = lessons(wanted)[0], arguments(), schedule()
    choice = device.choose("emu")
    try:
        executable = compiled(lesson, choice)
    except program.DoesNotCompile as error:
        print("\n".join(compile_report.refusal(error, lesson.exercise)))
        return WRONG
    done = run([executable, *words], TRY_LIMIT_S, json_option=True, EMU_SCHEDULE=order, EMU_TIME_LIMIT=TRY_LIMIT_S - 20,
               **choice.environment)
    size = " x ".join(str(done.result[d]) for d in "mnk") if all(d in done.result for d in "mnk") else ""
    print(f"{shown(lesson.exercise)}  {size}  {order if choice.device == 'emu' else choice.name}\n")
    print_own(line for line in report.own_lines(done.output, done.findings) if not line.startswith(f"{lesson.name}: "))
    code = show_run(done, lesson.exercise, choice, lesson.program("emu", GROUP).with_suffix(".ptx"))
    if code == OK and choice.device == "emu" and not handed_out():
        print("".join(line + "\n" for line in predict.sentence_lines(executable, lesson)), end="")
    return code


def watch(wanted):
    """Checks a file whenever it has been saved, until it is interrupted."""
    lesson, last = lessons(wanted)[0], None
    device.choose("emu")
    while True:
        now = digest(lesson)
        if now and now != last:
            last = now
            print(f"\n---- {time.strftime('%H:%M:%S')}  {shown(lesson.exercise)}", flush=True)
            try:
                check(lesson.number)
            except Stop as problem:
                print(problem)
            print("\nwatching; Ctrl-C ends", flush=True)
        time.sleep(0.3)
