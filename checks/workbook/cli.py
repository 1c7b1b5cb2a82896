"""The commands. Names and arguments are looked at before anything is fetched, compiled or run."""

import argparse
import os
import subprocess
import sys
from importlib import util
from pathlib import Path

from workbook.base import BUILD, OK, ROOT, WRONG, Stop, handed_out, paragraph, shown


def read_when_used(folder):
    """Has each module of the tool read when a command uses it: no command needs them all, and the tests start hundreds."""
    for path in folder.glob("*.py"):
        name = f"workbook.{path.stem}"
        if path.stem == "__main__" or name in sys.modules:
            continue
        spec = util.find_spec(name)
        spec.loader = util.LazyLoader(spec.loader)
        sys.modules[name] = util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])


read_when_used(Path(__file__).parent)
from workbook import bench_emulator, bug_commands, bug_record, bugs, build, check, ctest, device, docs, fuzz_isa, ladder, lessons  # noqa: E402
from workbook import oldest_ptx, one_file, pages, predict, program, recorded, report, student, trace  # noqa: E402


def break_it(lesson, name):
    """The bugs of a lesson; or one of them: its diff, a run, and what it showed."""
    if not name:
        return bug_commands.list_bugs(lesson)
    bug = bugs.find_bug(lesson, name)
    build.prepare(bug.program.target)
    print(f"{bug.name}: {bug.header['title']}\n")
    bug_commands.print_diff(bug.diff)
    try:
        executable = bugs.build(bug.program, bug)
        done = bugs.execute(executable, bug.run, "in-order")
    except program.DoesNotCompile as problem:
        raise Stop("the patched program does not compile", ("why", str(problem)), code=WRONG)
    print(f"\nrun on the emulator: {bug.program.name} {bug.run}\n")
    print("\n".join(report.body(done, BUILD / "bugs" / bug.program.name / f"{bug.name}.cu") or ["0 findings, right numbers"]))
    print("\n" + "\n".join(paragraph(label, text) for label, text in (
        ("H200", bug.header["h200"]), ("tools", f"compute-sanitizer: {bug.header['sanitizer']}"), ("why", bug.header["why"]))))
    page = trace.bug_page(bug, executable)
    if page:
        print(paragraph("see it", f"{shown(page)}  the run, step by step; {shown(page)}#pair beside its cure"))
    said = bugs.deviation(bug.expect, done)
    if said:
        raise Stop(f"this is not what {shown(bug.path)} promises", ("why", f"promised {bug.expect.written}\ncame out {said}"), code=WRONG)
    return OK


def bugs_command(options):
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
    build.prepare("ladder", "bench.copy_bandwidth.gpu", "bench.hopper_times.gpu", "ladder_turns", again=True)
    device.choose("gpu", build.toolkit()[0])
    return plot_script("bench.py", "--build", str(BUILD), *words)


def plots(record):
    with build.locked():
        build.setup()
    if record:
        return plot_script("draw.py", "--record") or plot_script("measured.py", "--write")
    return plot_script("draw.py")


def fuzz(words):
    build.prepare("check.fuzz", again=True)
    return subprocess.run([str(BUILD / "checks" / "fuzz"), "--count", "20000", *words]).returncode


def fuzz_ptx(words):
    build.prepare("check.fuzz_readers", again=True)
    return subprocess.run([str(BUILD / "checks" / "fuzz_readers"), *(words or ["--seconds", "600"])]).returncode


def install(prefix):
    """The emulator as other projects use it, in a folder that is seen from where make was called."""
    if not prefix:
        raise Stop("install where?", ("try", 'make install PREFIX="$HOME/.local", or any other folder'))
    folder = os.path.abspath(os.path.join(one_file.caller(), os.path.expanduser(prefix)))
    build.prepare("emulator", again=True)
    command = [build.tools()["CMAKE"], "--install", str(BUILD), "--prefix", folder, "--component", "emulator"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, env=build.cmake_environment())
    if done.returncode:
        raise Stop(f"cannot install into {folder}", ("why", done.stdout.strip()[-600:]), ("try", "a folder that you can write"))
    print(f"installed into {folder}\n\n"
          f"  one program   {folder}/bin/nvcc-emu -o program program.cu\n"
          f"  with CMake    find_package(CudaEmulator), emulate_cuda(target), and -DCMAKE_PREFIX_PATH={folder}\n"
          f"  an example    {shown(ROOT / 'checks/install/example')}, with a file for continuous integration")
    return OK


def pipeline(path):
    """A right program of checks/pipelines: no finding, neither error nor advice, under every schedule."""
    found = bugs.judge(path, None, [""])
    print("\n".join(f"{schedule}: {said}" for _, schedule, said in found) or f"{os.path.basename(path)}: right, with no finding")
    if found:
        print(bugs.execute(path, "", found[0][1]).output)
    return WRONG if found else OK


def instructors(name, words):
    """A command of the grading kit, which a student's copy of the workbook lacks."""
    from workbook.grading import command
    return getattr(command, name)(words)


# What needs a worked program, a bug or the project's own tests.
NOT_HANDED_OUT = ("run", "predict", "test", "break", "grade", "grade-merge", "handout", "bench", "bench-emulator", "fuzz", "fuzz-isa", "fuzz-ptx", "plots", "record", "bugs",
                  "format", "quotes", "pages", "exercise", "timelines", "oldest-ptx", "pipeline", "compare")


def refuse_what_is_not_handed_out(command):
    if handed_out() and command in NOT_HANDED_OUT:
        raise Stop(f"a student's copy of the workbook has no `{command}`",
                   ("why", "it needs the worked programs or the deliberate bugs; your instructor has them"), ("try", "make: the commands that are here"))


def describe_device():
    """Two cells for `make doctor`: the driver, and the GPU; empty for what is not there."""
    gpu, _ = device.probe()
    print(f"knows CUDA {gpu.driver_cuda // 1000}.{gpu.driver_cuda % 1000 // 10}\t{gpu}" if gpu else "\t")
    return OK


def try_it(lesson, file):
    if bool(lesson) == bool(file):
        raise Stop("try what?", ("try", "make try-04, or make try FILE=my_kernel.cu"))
    return check.try_lesson(lesson) if lesson else one_file.try_file(file)


def parser():
    root = argparse.ArgumentParser(prog="workbook", description="The workbook's tool; `make` lists what it is used for.")
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    commands.required = True

    def add(name, call, text, *arguments):
        """A command. An argument is a name, with ? where it may be left out; or an option."""
        sub = commands.add_parser(name, help=text, description=text)
        for argument in arguments:
            if argument.startswith("-"):
                sub.add_argument(argument, action="store_true")
            else:
                sub.add_argument(argument.rstrip("?"), **({"nargs": "?"} if argument.endswith("?") else {}))
        sub.set_defaults(call=call)
        return sub

    env = lambda name: os.environ.get(name, "")
    words = lambda: check.arguments()  # ARGS
    add("help", lambda o: docs.help_text(), "the commands of make")
    add("setup", lambda o: build.setup_command(), "find the tools, bring in what is missing")
    add("build", lambda o: build.build_command(), "setup, and build everything")
    add("clean", lambda o: build.clean(o.all), "remove the build folder; --all: and .venv", "--all")
    add("run", lambda o: ladder.climb(o.lesson), "run the worked programs; options in ARGS", "lesson?")
    add("predict", lambda o: one_file.predict_file(env("FILE")) if env("FILE") else predict.show(o.lesson),
        "what the worked programs would take on an H200, or FILE=x.cu with TILE and ARGS", "lesson?")
    add("test", lambda o: ctest.test(), "the project's own tests, or those that TESTS names")
    add("check", lambda o: check.check(o.lesson or env("LESSON"), env("ALL"), env("FILE")),
        "check the student's file, all, or FILE=x.cu of LESSON=04; ALL=1: every case", "lesson?")
    add("try", lambda o: try_it(o.lesson, env("FILE")), "run the student's file, or FILE=x.cu, once; ARGS, FLAGS, SCHEDULE", "lesson?")
    add("trace", lambda o: trace.trace(o.lesson, env("FILE")), "play a run step by step, of the lesson or FILE=x.cu; ARGS", "lesson?")
    add("timelines", lambda o: trace.timelines(o.write), "compare the documents' timelines with the programs; --write: draw them", "--write")
    add("watch", lambda o: check.watch(o.lesson), "check the file whenever it is saved", "lesson")
    add("hint", lambda o: student.hint(o.lesson), "a hint for the first open TODO; again: one more", "lesson")
    add("diff", lambda o: student.diff(o.lesson), "what the lesson changes in the one before", "lesson")
    add("reset", lambda o: student.reset(o.lesson, env("CONFIRM") == "yes"), "start the file again; CONFIRM=yes: do not ask", "lesson")
    add("status", lambda o: student.status(), "what is open, right or wrong")
    add("next", lambda o: student.next_step(), "what to do now")
    add("break", lambda o: break_it(o.lesson, env("BUG")), "the lesson's bugs; BUG=name: run one", "lesson")
    add("device", lambda o: describe_device(), "what driver and GPU are here")
    add("bench", lambda o: bench(words()), "time the ladder on a Hopper GPU; options in ARGS")
    add("plots", lambda o: plots(o.record), "draw your own measurements; --record: the recorded ones", "--record")
    emulator = add("bench-emulator", lambda o: bench_emulator.bench(o.repeat, o.csv), "the emulator's speed")
    emulator.add_argument("--repeat", type=int, default=5, help="launches of each program (5)")
    emulator.add_argument("--csv", help="a file that gets the table, too")
    add("grade", lambda o: instructors("grade", words()), "the hand-ins of SUBMISSIONS; LESSONS, OUT, SHARD=i/n, options in ARGS")
    add("grade-merge", lambda o: instructors("merge", words()), "the results of the shards that ARGS names, into OUT")
    add("handout", lambda o: instructors("hand_out", words()), "the course's folder without its answers, into OUT; LESSONS=01,02")
    add("fuzz", lambda o: fuzz(words()), "random pipelines, and mistakes in them; options in ARGS")
    add("fuzz-isa", lambda o: fuzz_isa.fuzz(words()), "random PTX programs against what a Hopper GPU computes; options in ARGS")
    add("fuzz-ptx", lambda o: fuzz_ptx(words()), "what is handed over from outside, changed at random; options in ARGS")
    add("install", lambda o: install(env("PREFIX")), "the emulator for other projects, into the folder PREFIX")
    add("record", lambda o: recorded.record() or fuzz_isa.record(), "record the answers of a Hopper GPU")
    add("compare", lambda o: recorded.compare(o.name, o.program), "an emulator build with its record", "name", "program")
    add("pipeline", lambda o: pipeline(o.program), "a right program under every schedule", "program")
    add("oldest-ptx", lambda o: oldest_ptx.assemble(), "the lessons' PTX for the assembler of CUDA 12.4")
    add("quotes", lambda o: docs.quotes(o.write), "compare what the documents quote; --write: renew it", "--write")
    add("pages", lambda o: pages.pages(o.write), "the lessons' pages: their blocks and rules; --write: renew the blocks", "--write")
    add("format", lambda o: docs.layout(not o.check), "lay out the C++ and CUDA files; --check: only compare", "--check")
    authors = add("exercise", lambda o: lessons.exercise(o), "what the build and authors ask of exercises")
    authors.add_argument("action", choices=["check", "write", "one-at-a-time"])
    authors.add_argument("lesson", nargs="?")
    authors.add_argument("-o", "--output")

    corpus = add("bugs", bugs_command, "the corpus of deliberate bugs").add_subparsers(dest="action", metavar="ACTION")
    corpus.required = True
    one = corpus.add_parser("test", help="one bug, or 'right', under every schedule")
    one.add_argument("program")
    one.add_argument("name")
    corpus.add_parser("list", help="all bugs")
    corpus.add_parser("readme", help="the table of checks/bugs/README.md").add_argument("--check", action="store_true")
    corpus.add_parser("merge", help="a record into the patches").add_argument("file")
    for name, text in (("record", "measure on a Hopper GPU"), ("renew", "record, merge and write the table")):
        bug_record.options(corpus.add_parser(name, help=text))
    return root


def main(words):
    try:
        options = parser().parse_args(words)
        refuse_what_is_not_handed_out(options.command)
        device.asked()
        return options.call(options)
    except Stop as stop:
        sys.stdout.flush()
        print(stop, file=sys.stderr)
        return stop.code
