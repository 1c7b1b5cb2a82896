"""make trace-NN: a run of a lesson, recorded, as a page that plays it, a figure, and a file for ui.perfetto.dev.

In a README, a comment before a picture says which runs of worked programs it is drawn from:

    <!-- timeline stages.svg 04 One stage: copy and product take turns | 05 Three stages -->

`tiles` in place of `timeline` draws whole tiles of C, as they follow one another on one SM.
"""

import json
import re
from pathlib import Path

from workbook import base, build, check, device, one_file, program
from workbook.base import BUILD, OK, WRONG, Stop, handed_out, load_text, paragraph, shown
from workbook.compile_report import refusal
from workbook.lessons import lessons
from workbook.run import run
from workbook.timeline import Malformed, make_page, write_figure, write_tiles

OUT = BUILD / "trace"
SIZE = "--m 256 --n 256 --k 384"         # a few CTAs, of which one is recorded, and six K steps
FIGURE_SIZE = "--m 128 --n 128 --k 256"  # what fits on a printed line
SCHEDULE = "timed"  # cycles on every lane
LIMIT_S = 60
BESIDE = {"01": "04"}  # whose run lies beside the lesson's; of the others, that of the lesson before
MARK = re.compile(r"<!-- (timeline|tiles) (\S+\.svg) (.+?) -->")
TILES_SIZE = "--m 768 --n 256 --k 512"   # three tiles for each SM of a cluster of two,
TILES = {"EMU_SCHEDULE": "timed:2", "EMU_TRACE_CTAS": "0-5"}  # which is all that runs


def record(executable, words, stem, **environment):
    """Runs a program and records it. Returns (path of the trace, the Run). Where an error was found in a CTA that the window
    does not show, the run is recorded again with that CTA. environment: of the emulator, in place of the usual."""
    OUT.mkdir(parents=True, exist_ok=True)
    path, chrome = OUT / f"{stem}.json", OUT / f"{stem}.perfetto.json"
    wanted = {}
    for _ in range(2):
        for file in (path, chrome):
            file.unlink() if file.exists() else None
        done = run([executable, *words], LIMIT_S, json_option=bool(words), cwd=base.ROOT,
                   **{"EMU_SCHEDULE": SCHEDULE, "EMU_TIME_LIMIT": LIMIT_S - 20, "EMU_TRACE": path, "EMU_TRACE_PERFETTO": chrome,
                      **environment, **wanted})
        where = elsewhere(path)
        if where is None or wanted:
            return path, done
        wanted = {"EMU_TRACE_CTAS": where}
    return path, done


def elsewhere(path):
    """The CTA of the first error, if the trace does not show it."""
    try:
        trace = json.loads(load_text(path))
        shows = {cta["cta"] for cta in trace["ctas"]}
        first = next((e for e in trace["events"] if e["e"] == "finding"), None)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return first["cta"] if first and first.get("cta", 0) not in shows else None


def recorded(path):
    return path.exists() and path.stat().st_size > 0


def publish(name, runs, title):
    """Page and figure of [(trace, what it is)]; what to open is printed."""
    page, figure = OUT / f"{name}.html", OUT / f"{name}.svg"
    try:
        make_page(runs, page, title)
        write_figure(runs[:1], figure, title)
    except Malformed as problem:
        raise Stop("a trace cannot be shown", ("why", str(problem)), ("where", shown(page)))
    print(paragraph("page", f"{shown(page)}  open it in a browser" + (f"; {shown(page)}#pair lays two runs side by side" if runs[1:] else "")))
    print(paragraph("figure", shown(figure)))
    print(paragraph("files", ", ".join(f"{shown(path)} ({what})" for path, what in runs) + "; NAME.perfetto.json opens in ui.perfetto.dev"))
    return OK


def emulator():
    choice = device.choose("emu")
    if choice.device != "emu":
        raise Stop("only the emulator records a run", ("why", f"the device is {choice.name}"), ("try", "leave DEVICE out"))
    return choice


def own_run(lesson, words, choice):
    """The student's run, [(trace, name)]; empty, with the reason said, where there is none to show."""
    try:
        executable = check.compiled(lesson, choice)
    except program.DoesNotCompile as error:
        print("\n".join(refusal(error, lesson.exercise)) + ("" if handed_out() else "\n\nso the worked program is shown\n"))
        return []
    path, done = record(executable, words, f"{lesson.number}-yours")
    if done.verdict == "todo":
        print(f"{shown(lesson.exercise)} has an open TODO{'' if handed_out() else ', so the worked program is shown'}; stuck: make hint-{lesson.number}\n")
        return []
    found = "; ".join(dict.fromkeys(f["id"] for f in done.findings)) or "0 findings"
    print(f"{shown(lesson.exercise)}: {found}\n")
    return [(path, f"your lesson {lesson.number}")] if recorded(path) else []


def trace_lesson(wanted):
    lesson, words, choice = lessons(wanted)[0], check.arguments() or SIZE.split(), emulator()
    if not lesson.exercise.exists():
        raise Stop(f"{shown(lesson.exercise)} does not exist", ("try", f"make reset-{lesson.number}"))
    wanted = BESIDE.get(lesson.number)
    beside = [other for other in lessons() if (other.number == wanted if wanted else other.number < lesson.number)][-1:]
    worked = [] if handed_out() else [lesson, *beside]
    if worked:  # without a name all would be built
        build.prepare(*(f"solutions.{one.name}.emu" for one in worked))
    runs = own_run(lesson, words, choice)
    if not worked and not runs:
        raise Stop("there is no run to show", ("why", "a student's copy has no worked program, and yours does not get that far"))
    for one in worked:
        path, done = record(one.program("emu"), words, f"{one.number}-worked")
        if recorded(path):
            runs.append((path, f"worked lesson {one.number}"))
        elif one is lesson:
            raise Stop("nothing was recorded", ("why", f"the program {done.ended()} before a kernel ran: {done.output.strip()[-300:]}"))
    return publish(lesson.number, runs, f"Lesson {lesson.number}: {lesson.name[3:].replace('_', ' ')}")


def trace_file(name):
    """Any program of one file."""
    source, words = one_file.source_of(name), check.arguments()
    try:
        executable = one_file.compiled(source, emulator())
    except program.DoesNotCompile as error:
        print("\n".join(one_file.refusal(error, source)))
        return WRONG
    path, done = record(executable, words, source.stem)
    if not recorded(path):
        raise Stop("nothing was recorded", ("why", f"the program {done.ended()} before a kernel ran"))
    return publish(source.stem, [(path, source.name)], source.name)


def trace(lesson, file):
    if not lesson and not file:
        raise Stop("whose run?", ("try", "make trace-04, or make trace FILE=my_kernel.cu"))
    return trace_lesson(lesson) if lesson else trace_file(file)


def bug_page(bug, executable):
    """The page of a bug beside its cure; None where no kernel runs."""
    stem, words = f"{bug.program.label}-{bug.name}", bug.run.split()
    runs = [record(executable, words, stem)[0], record(bug.program.built, words, f"{stem}-cure")[0]]
    if not all(map(recorded, runs)):
        return None
    page = OUT / f"{stem}.html"
    try:
        make_page(list(zip(runs, (f"bug {bug.name}", "its cure"))), page, f"{bug.name}: {bug.header['title']}")
    except Malformed as problem:
        raise Stop("the trace of this bug cannot be shown", ("why", str(problem)), ("where", shown(page)))
    return page


# ---- figures of documents

def figure_runs(kind, text):
    """[(trace, heading)] of a mark's '04 One stage | 05 Three stages'."""
    size, more = (TILES_SIZE, TILES) if kind == "tiles" else (FIGURE_SIZE, {})
    runs = []
    for part in text.split(" | "):
        number, _, heading = part.partition(" ")
        lesson = lessons(number)[0]
        if not lesson.program("emu").exists():
            raise Stop(f"{shown(lesson.program('emu'))} is not built", ("try", "make build"))
        path, done = record(lesson.program("emu"), size.split(), f"{kind}-{lesson.number}", **more)
        if not recorded(path):
            raise Stop(f"nothing was recorded of {shown(lesson.program('emu'))}", ("why", f"it {done.ended()}"))
        runs.append((path, heading))
    return runs


def timelines(write):
    """Draws every timeline that a README marks, or compares it."""
    failures, count = [], 0
    for readme in sorted((base.ROOT / "lessons").glob("*/README.md")):
        for mark in MARK.finditer(load_text(readme)):
            kind, name, text = mark.groups()
            picture, new = readme.parent / name, OUT / f"{readme.parent.name}-{name}"
            (write_tiles if kind == "tiles" else write_figure)(figure_runs(kind, text), new, text.split(" | ")[-1].partition(" ")[2])
            count += 1
            same = picture.exists() and picture.read_bytes() == new.read_bytes()
            if write and not same:
                picture.write_bytes(new.read_bytes())
                print(f"drew {shown(picture)}")
            elif not same:
                failures.append(f"{shown(picture)} is not what the program does now; run: workbook timelines --write")
    print("\n".join(failures) or f"{count} timelines are those of the programs")
    return WRONG if failures else OK
