"""The corpus of deliberate bugs (checks/bugs): each is found, at its line, under every schedule of the emulator.

  run_bugs.py matrix [--jobs N] [FILTER]   checks every bug and every right program; FILTER: '04', '04/no_wait', ...
  run_bugs.py one PROGRAM NAME             checks one bug, or the right program where NAME is 'right'
  run_bugs.py list [PROGRAM]               the bugs, one a line
  run_bugs.py show PROGRAM NAME            the diff, a run, and what it showed
  run_bugs.py readme [--check]             writes the table of checks/bugs/README.md from the patches, or compares
  run_bugs.py record [...]                 measures on a Hopper GPU (run_bugs_record.py has its options)
  run_bugs.py merge FILE                   writes a record into the patches

Exit: 0 as it should be, 1 a deviation, 2 bad input.
"""

import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import run_bugs_corpus as corpus
import run_bugs_emulate as emulate
from run_bugs_build import BuildError, build
from run_common import OK, ROOT, WRONG, colour, die, table

README = corpus.FOLDER / "README.md"
BEGIN, END = "<!-- the table: written by run_bugs.py readme -->", "<!-- end of the table -->"


def check(program, bug):
    """(label, what was expected, [deviations]) of one bug, or of the right program."""
    label = f"{program.label}/{bug.name if bug else 'right'}"
    expected = str(bug.expect) if bug else "no finding"
    try:
        executable = build(program, bug)
    except BuildError as problem:
        return label, expected, [("", "", f"does not compile:\n{problem}")]
    runs = [bug.run] if bug else list(dict.fromkeys(program.runs + [b.run for b in corpus.bugs(program)]))
    return label, expected, emulate.judge(executable, bug.expect if bug else None, runs)


def print_deviations(found):
    """Equal deviations are one line, with the schedules that gave them."""
    schedules = {}
    for arguments, schedule, said in found:
        schedules.setdefault((arguments, said), []).append(schedule)
    for (arguments, said), where in schedules.items():
        print(f"    {', '.join(where)} [{arguments}]: {said}" if where[0] else f"    {said}")


def matrix(arguments):
    jobs = 2
    if "--jobs" in arguments:
        at = arguments.index("--jobs")
        jobs = int(arguments[at + 1])
        del arguments[at:at + 2]
    wanted = arguments[0] if arguments else ""
    tasks = [(p, b) for p in corpus.programs() for b in [None] + corpus.bugs(p)
             if f"{p.label}/{b.name if b else 'right'}".startswith(wanted) or p.name == wanted]
    if not tasks:
        die(f"nothing in the corpus is called '{wanted}'", "try   run_bugs.py list")
    started, wrong = time.time(), 0
    with ThreadPoolExecutor(jobs) as pool:
        for label, expected, found in pool.map(lambda task: check(*task), tasks):
            print(f"  {colour('ok   ', 32) if not found else colour('WRONG', 31)}  {label:<40} {expected}", flush=True)
            print_deviations(found)
            wrong += bool(found)
    seconds = time.time() - started
    print(f"\n{len(tasks) - wrong} of {len(tasks)} as expected, under {len(emulate.SCHEDULES)} schedules each, "
          f"in {seconds:.0f} s")
    return WRONG if wrong else OK


def one(label, name):
    program = corpus.find(label)
    bug = None if name == "right" else corpus.find_bug(label, name)
    title, expected, found = check(program, bug)
    print(f"{title}: expected {expected}" + ("" if found else f"; so it was under {len(emulate.SCHEDULES)} schedules"))
    print_deviations(found)
    return WRONG if found else OK


def list_bugs(label=None):
    for program in [corpus.find(label)] if label else corpus.programs():
        found = corpus.bugs(program)
        if not found:
            continue
        print(f"{program.name}: {len(found)} bugs")
        for bug in found:
            print(f"  {bug.name:<28} {bug.header['title']}")
    if label:
        print(f"\none of them, shown and run:  make break-{corpus.find(label).label} BUG=name")
    return OK


def show(label, name):
    bug = corpus.find_bug(label, name)
    print(f"{bug.name}: {bug.header['title']}\n")
    for line in bug.diff:
        print(colour(line, 31 if line.startswith("-") else 32 if line.startswith("+") else 2))
    try:
        executable = build(bug.program, bug)
    except BuildError as problem:
        die("the patched program does not compile", str(problem), code=WRONG)
    print(f"\nrunning it on the emulator: {executable.name} {bug.run}\n")
    outcome = emulate.execute(executable, bug.run, "in-order")
    print(textwrap.indent(outcome.output.rstrip(), "  "))
    print(f"\nemulator   {emulate.describe(outcome)}")
    print(f"H200       {bug.header['h200']}")
    print(f"sanitizer  {bug.header['sanitizer']}")
    print("why        " + textwrap.fill(bug.header["why"], 105, subsequent_indent=" " * 11))
    if said := emulate.deviation(bug.expect, outcome):
        die(f"this is not what {bug.path.relative_to(ROOT)} promises", f"promised {bug.expect}", f"came out {said}",
            code=WRONG)
    return OK


def readme(arguments):
    """The table of all bugs, between two marks of the README."""
    rows = ["| lesson | bug | what is wrong | H200 | compute-sanitizer | emulator |", "|---|---|---|---|---|---|"]
    count = 0
    for program in corpus.programs():
        for bug in corpus.bugs(program):
            h = bug.header
            emulator = {"error": "`" + "` or `".join(bug.expect.ids) + "`",
                        "advice": "advice: `" + "` or `".join(bug.expect.ids) + "`",
                        "numbers": f"wrong numbers, named `{bug.expect.text}`",
                        "refused": "refused before the launch"}[bug.expect.kind]
            cells = [program.label, f"[{bug.name}]({bug.path.relative_to(corpus.FOLDER)})", h["title"], h["h200"],
                     h["sanitizer"], emulator]
            rows.append("| " + " | ".join(cells) + " |")
            count += 1
    text = README.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        die(f"{README} lacks the marks of its table", f"try   {BEGIN} and {END}, each on a line of its own")
    new = f"{text[:text.index(BEGIN)]}{BEGIN}\n{count} bugs.\n\n" + "\n".join(rows) + "\n" + text[text.index(END):]
    if "--check" in arguments:
        if new != text:
            die(f"the table of {README.relative_to(ROOT)} is not that of the patches", "try   run_bugs.py readme",
                code=WRONG)
        print(f"the table of {README.relative_to(ROOT)} is that of the patches ({count} bugs)")
    elif new != text:
        README.write_text(new)
        print(f"wrote {count} bugs to {README.relative_to(ROOT)}")
    return OK


def main():
    command, *arguments = sys.argv[1:] or ["help"]
    if command == "matrix":
        return matrix(arguments)
    if command == "one" and len(arguments) == 2:
        return one(*arguments)
    if command == "list" and len(arguments) <= 1:
        return list_bugs(*arguments)
    if command == "show" and len(arguments) == 2:
        return show(*arguments)
    if command == "readme":
        return readme(arguments)
    if command in ("record", "merge"):
        import run_bugs_record
        return run_bugs_record.main(command, arguments)
    die("run_bugs.py does not know what to do", *__doc__.strip().splitlines()[2:])


if __name__ == "__main__":
    sys.exit(main())
