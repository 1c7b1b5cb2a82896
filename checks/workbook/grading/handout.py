"""make handout: the course's folder for students, without worked programs, bugs and git history.

Where the worked program of a lesson was, the starter is: its host code runs a student's kernel, and nothing in it is an answer.
The commands that need more say so (cli.py).
"""

import os
import re
import shutil
import stat
import subprocess

from workbook import base
from workbook.base import Stop, load_text, save_text, shown
from workbook.lessons import exercise_text, regions
from workbook.pages import BUG, plain

MARK = "checks/handout.txt"
# What is handed out of the checkout's files, apart from the lessons and what is made anew.
PARTS = ("CMakeLists.txt", "CMakePresets.json", "LICENSE", ".gitignore", "requirements.txt", "common/", "checks/cases.cmake", "checks/00_every_lesson.cpp",
         "checks/support/", "checks/workbook/", "lessons/CMakeLists.txt", "solutions/CMakeLists.txt", "lessons/words.md", "plots/")
WITHOUT = ("checks/workbook/tests/", "checks/workbook/grading/")
SECTIONS = ("doctest", "the kernels of a PTX file", "lessons")  # of checks/CMakeLists.txt
COMMANDS = ("run", "predict", "test", "break", "grade", "grade-merge", "handout", "bench", "bench-emulator", "fuzz", "fuzz-isa", "fuzz-ptx", "plots", "record", "record-bugs",
            "record-bench", "record-plots", "format", "format-check")
ANSWER = re.compile(r"<details><summary>Answer</summary>.*?</details>\n?", re.S)
FENCE = re.compile(r"(?:<!-- (?:quote|listing|output) [^\n]*-->\n)?```\w*\n(.*?)```\n", re.S)
LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./)*(?:solutions|checks|plots/data)/[^)]*\)")


def tracked():
    """The checkout's files; Stop without git, whose list keeps a student's or a build's files out."""
    done = subprocess.run(["git", "-C", str(base.ROOT), "ls-files", "-z"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Stop("the files of the checkout are not known", ("why", done.stdout.decode("utf-8", "replace").strip()))
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def wanted(name, numbers):
    if re.match(r"lessons/\d\d_", name):
        return name.split("/")[1][:2] in numbers and not name.endswith(".cu")
    if re.match(r"checks/\d\d_\w+\.cpp$", name) and name != "checks/00_every_lesson.cpp":
        return name.split("/")[1][:2] in numbers
    return name.startswith(PARTS) and not name.startswith(WITHOUT)


def student_page(text, answers):
    """A page without what answers the deliberate bugs, and without code that holds an answer."""
    text = BUG.sub(lambda m: f"Your instructor has this one: *{m[2].replace('_', ' ')}*.\n", text)
    text = ANSWER.sub("", text).replace("make run-", "make try-")

    def fenced(m):
        held = "".join(plain(line) for line in m[1].splitlines())
        return "*(This code is left out: it holds an answer.)*\n" if any(answer in held for answer in answers) else m[0]

    return LINK.sub(r"\1", FENCE.sub(fenced, text))


def answer_lines(chosen):
    """Lines of answers that tell enough to be one, without blanks and comments."""
    return [line for lesson in chosen for region in regions(lesson.solution) for line in map(plain, region.lines) if len(line) > 24]


def makefile(text):
    """The Makefile's help without the commands that are not handed out."""
    gone = re.compile(rf"## make ({'|'.join(COMMANDS)})(-NN)?( |$)")
    lines = [line for line in text.splitlines() if not gone.match(line)]
    return re.sub(r"(##\n)(##\n)+", r"\1", "\n".join(lines) + "\n").replace(" (shows answers)", "")


def tests(text):
    """checks/CMakeLists.txt without the project's own tests."""
    head, *sections = re.split(r"^(?=# ---- )", text, flags=re.M)
    return head + "".join(s for s in sections if s[len("# ---- "):].startswith(SECTIONS))


def commit():
    done = subprocess.run(["git", "-C", str(base.ROOT), "rev-parse", "HEAD"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.decode().strip()


def write(out, chosen):
    """Writes the folder `out`, which must not be there yet or be a handout."""
    if out.exists() and any(out.iterdir()) and not (out / MARK).exists():
        raise Stop(f"{shown(out)} is there, and is no handout", ("try", "an OUT that is not there yet"))
    if out.exists():
        shutil.rmtree(out)
    numbers, answers = {lesson.number for lesson in chosen}, answer_lines(chosen)
    for name in tracked():
        source, target = base.ROOT / name, out / name
        if not wanted(name, numbers) or not source.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.startswith("lessons/") and name.endswith("README.md"):
            save_text(target, student_page(load_text(source), answers))
        else:
            shutil.copyfile(source, target)
            target.chmod(stat.S_IMODE(source.stat().st_mode) | stat.S_IWUSR)
    for lesson in chosen:
        for place in (lesson.solution, lesson.exercise):
            save_text(out / place.relative_to(base.ROOT), exercise_text(lesson))
    save_text(out / "Makefile", makefile(load_text(base.ROOT / "Makefile")))
    save_text(out / "checks/CMakeLists.txt", tests(load_text(base.ROOT / "checks/CMakeLists.txt")))
    save_text(out / "README.md", readme(chosen))
    save_text(out / MARK, f"A student's copy of commit {commit()}: lessons {', '.join(sorted(numbers))}.\n")
    return out


def readme(chosen):
    ladder = load_text(base.ROOT / "README.md").splitlines()
    rows = [line for lesson in chosen for line in ladder if line.startswith(f"| [{lesson.name}]")]
    first = chosen[0]
    return f"""# The TMA workbook

From a matrix multiplication in which every thread copies its own slice to a Hopper GEMM whose tensor cores are fed by the Tensor
Memory Accelerator (TMA), one numbered program at a time. The programs are real CUDA C++ with real inline PTX. They run on a Hopper
GPU, and, where there is none, on an emulator that executes the PTX nvcc made of them.

## Quick start

```sh
make next        # what to do now
make check-{first.number}    # check your file
```

Read [lessons/{first.name}/README.md](lessons/{first.name}/README.md), fill the blanks of the file beside it, and check it. The first
command brings in what is missing, on a Debian or Ubuntu machine that has `make`, and says what it installed and where.

Hand in your `lessons/NN_name/NN_name.cu`, each under its own name, in a folder or archive. Your kernel is run by the workbook's own
program; what your host code does beside it does not count.

| lesson | what is new | what it shows |
|---|---|---|
""" + "\n".join(rows) + """

## Commands

`make` alone lists them. `NN` is a lesson's number.

| command | what it does |
|---|---|
""" + "\n".join(line for line in makefile_table() if line) + "\n"


def makefile_table():
    lines = re.findall(r"^## (make \S+(?: \S+=\S+)*)  +(.+)$", makefile(load_text(base.ROOT / "Makefile")), re.M)
    return [f"| `{name}` | {text} |" for name, text in lines]
