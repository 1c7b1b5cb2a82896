"""The commands. Names and arguments are looked at before anything is fetched, compiled or run."""

import argparse
import os
import subprocess
import sys
import textwrap

from workbook import build, device
from workbook.base import BUILD, OK, ROOT, WIDTH, WRONG, Stop, paragraph, shown


def break_it(lesson, name):
    """The bugs of a lesson; or one of them: its diff, a run, and what it showed."""
    from workbook import bug_commands, bugs, report
    from workbook.program import DoesNotCompile
    if not name:
        return bug_commands.list_bugs(lesson)
    bug = bugs.find_bug(lesson, name)
    build.prepare(bug.program.target)
    print(f"{bug.name}: {bug.header['title']}\n")
    bug_commands.print_diff(bug.diff)
    try:
        done = bugs.execute(bugs.build(bug.program, bug), bug.run, "in-order")
    except DoesNotCompile as problem:
        raise Stop("the patched program does not compile", ("why", str(problem)), code=WRONG)
    print(f"\nrun on the emulator: {bug.program.name} {bug.run}\n")
    print("\n".join(report.body(done, BUILD / "bugs" / bug.program.name / f"{bug.name}.cu") or ["0 findings, right numbers"]))
    print("\n" + "\n".join(paragraph(label, text) for label, text in (
        ("H200", bug.header["h200"]), ("tools", f"compute-sanitizer: {bug.header['sanitizer']}"), ("why", bug.header["why"]))))
    said = bugs.deviation(bug.expect, done)
    if said:
        raise Stop(f"this is not what {shown(bug.path)} promises", ("why", f"promised {bug.expect.written}\ncame out {said}"), code=WRONG)
    return OK


def bugs_command(options):
    from workbook import bug_commands, bug_record
    if options.action == "test":
        return bug_commands.test(options.program, options.name)
    if options.action == "list":
        return bug_commands.list_bugs()
    if options.action == "readme":
        return bug_commands.readme(options.check)
    if options.action == "merge":
        return bug_record.merge(options.file)
    code = bug_record.record(options)
    if options.action == "renew":
        bug_record.merge(options.out)
        bug_commands.readme(False)
    return code


def plot_script(name, *words):
    return subprocess.run([build.tools()["PYTHON"], "-B", str(ROOT / "plots" / name), *words], cwd=ROOT).returncode


def bench(words):
    device.choose("gpu")
    build.prepare("ladder", "bench.copy_bandwidth.gpu", again=True)
    device.choose("gpu", build.toolkit()[0])
    return plot_script("bench.py", "--build", str(BUILD), *words)


def plots():
    with build.locked():
        build.setup()
    return plot_script("draw.py") or plot_script("measured.py", "--write")


def fuzz(words):
    build.prepare("check.fuzz", again=True)
    return subprocess.run([str(BUILD / "checks" / "fuzz"), "--count", "20000", *words]).returncode


def pipeline(path):
    """A right program of checks/pipelines: no finding, neither error nor advice, under every schedule."""
    from workbook import bugs
    found = bugs.judge(path, None, [""])
    print("\n".join(f"{schedule}: {said}" for _, schedule, said in found) or f"{os.path.basename(path)}: right, with no finding")
    if found:
        print(bugs.execute(path, "", found[0][1]).output)
    return WRONG if found else OK


def describe_device():
    """Two cells for `make doctor`: the driver, and the GPU; empty for what is not there."""
    gpu, _ = device.probe()
    print(f"knows CUDA {gpu.driver_cuda // 1000}.{gpu.driver_cuda % 1000 // 10}\t{gpu}" if gpu else "\t")
    return OK


def parser():
    root = argparse.ArgumentParser(prog="workbook", description="The workbook's tool; `make` lists what it is used for.")
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    commands.required = True

    def add(name, call, text, *arguments):
        sub = commands.add_parser(name, help=text, description=text)
        for names, settings in arguments:
            sub.add_argument(*names.split(), **settings)
        sub.set_defaults(call=call)
        return sub

    def arg(names, **settings):
        return names, settings

    def late(module, function, *values):
        """Calls a function of a module that only this command needs; values(options) are its arguments."""
        def call(options):
            return getattr(__import__(f"workbook.{module}", fromlist=[function]), function)(*(v(options) for v in values))
        return call

    env = lambda name: (lambda _: os.environ.get(name, ""))
    of = lambda name: (lambda options: getattr(options, name))
    lesson, perhaps = arg("lesson"), arg("lesson", nargs="?")
    write = arg("--write", action="store_true")
    add("help", late("docs", "help_text"), "the commands of make")
    add("setup", lambda _: build.setup_command(), "find the tools, bring in what is missing")
    add("build", lambda o: build.build_command(o.targets), "setup, and build targets of CMake", arg("targets", nargs="*"))
    add("clean", lambda o: build.clean(o.all), "remove the build folder", arg("--all", action="store_true", help="and .venv"))
    add("run", late("ladder", "climb", of("lesson")), "run the worked programs; options in ARGS", perhaps)
    add("test", late("ctest", "test"), "the project's own tests, or those that TESTS names")
    add("check", late("check", "check", of("lesson"), env("ALL")), "check the student's file, or all; ALL=1: every case", perhaps)
    add("try", lambda o: late("check", "try_lesson" if o.lesson else "try_file", lambda _: o.lesson or os.environ.get("FILE", ""))(o),
        "run the student's file, or FILE=x.cu, once under the checker; ARGS, SCHEDULE", perhaps)
    add("watch", late("check", "watch", of("lesson")), "check the file whenever it is saved", lesson)
    for name, text in (("hint", "what the first open TODO is about"), ("diff", "what the lesson changes in the one before")):
        add(name, late("student", name, of("lesson")), text, lesson)
    add("reset", late("student", "reset", of("lesson"), lambda _: os.environ.get("CONFIRM") == "yes"),
        "start the file again; CONFIRM=yes: do not ask", lesson)
    add("status", late("student", "status"), "what is open, right or wrong")
    add("next", late("student", "next_step"), "what to do now")
    add("break", lambda o: break_it(o.lesson, os.environ.get("BUG", "")), "the lesson's bugs; BUG=name: run one", lesson)
    add("device", lambda _: describe_device(), "what driver and GPU are here")
    add("bench", lambda _: bench(late("check", "arguments")(None)), "time the ladder on a Hopper GPU; options in ARGS")
    add("plots", lambda _: plots(), "draw the figures from the data")
    add("bench-emulator", late("bench_emulator", "bench", of("repeat"), of("csv")), "the emulator's speed",
        arg("--repeat", type=int, default=5), arg("--csv"))
    add("fuzz", lambda _: fuzz(late("check", "arguments")(None)), "random pipelines, and mistakes in them; options in ARGS")
    add("record", late("recorded", "record"), "record the answers of a Hopper GPU")
    add("compare", late("recorded", "compare", of("name"), of("program")), "an emulator build with its record", arg("name"), arg("program"))
    add("pipeline", lambda o: pipeline(o.program), "a right program under every schedule", arg("program"))
    add("quotes", late("docs", "quotes", of("write")), "compare what the documents quote, or renew it", write)
    add("format", late("docs", "layout", lambda o: not o.check), "lay out the C++ and CUDA files", arg("--check", action="store_true"))
    add("exercise", late("lessons", "exercise", lambda o: o), "what tests and authors ask of exercises",
        arg("action", choices=["check", "write", "one-at-a-time"]), perhaps, arg("-o --output"))

    corpus = add("bugs", bugs_command, "the corpus of deliberate bugs").add_subparsers(dest="action", metavar="ACTION")
    corpus.required = True
    one = corpus.add_parser("test", help="one bug, or 'right', under every schedule")
    one.add_argument("program")
    one.add_argument("name")
    corpus.add_parser("list", help="all bugs")
    corpus.add_parser("readme", help="the table of checks/bugs/README.md").add_argument("--check", action="store_true")
    corpus.add_parser("merge", help="a record into the patches").add_argument("file")
    from workbook import bug_record
    for name, text in (("record", "measure on a Hopper GPU"), ("renew", "record, merge and write the table")):
        bug_record.options(corpus.add_parser(name, help=text))
    return root


def main(words):
    try:
        options = parser().parse_args(words)
        device.asked()
        return options.call(options)
    except Stop as stop:
        sys.stdout.flush()
        print(stop, file=sys.stderr)
        return stop.code
