"""What is asked of the bugs: list, show, test, and the table of checks/bugs/README.md."""

from workbook import bugs
from workbook.base import CYAN, DIM, GREEN, OK, RED, WRONG, Stop, colour, load_text, save_text, shown
from workbook.program import DoesNotCompile
from workbook.run import schedules

BEGIN, END = "<!-- the table: written by workbook bugs readme -->", "<!-- end of the table -->"


def test(label, name):
    """One bug, or the right program where `name` is 'right', in every way it must be tried."""
    program = bugs.find(label)
    bug = None if name == "right" else bugs.find_bug(label, name)
    expected = bug.expect.written if bug else "no finding"
    try:
        executable = bugs.build(program, bug)
    except DoesNotCompile as problem:
        print(f"{label}/{name} does not compile:\n{problem}")
        return WRONG
    runs = [bug.run] if bug else list(dict.fromkeys([*program.runs, *(b.run for b in bugs.bugs(program))]))
    deviations = {}  # equal ones are one line, with the schedules that gave them
    for arguments, schedule, said in bugs.judge(executable, bug.expect if bug else None, runs):
        deviations.setdefault((arguments, said), []).append(schedule)
    print(f"{program.label}/{name}: expected {expected}" + ("" if deviations else f"; so it was under {len(schedules())} schedules"))
    for (arguments, said), where in deviations.items():
        print(f"    {', '.join(where)} [{arguments}]: {said}")
    return WRONG if deviations else OK


def list_bugs(label=None):
    for program in [bugs.find(label)] if label else bugs.programs():
        found = bugs.bugs(program)
        if found:
            print(f"{program.name}: {len(found)} bugs")
        for bug in found:
            print(f"  {bug.name:<28} {bug.header['title']}")
    print(f"\none of them, shown and run:  make break-{bugs.find(label).label if label else 'NN'} BUG=name")
    return OK


def print_diff(lines):
    for line in lines:
        print(colour(line, {"-": RED, "+": GREEN, "@": CYAN}.get(line[:1], DIM)))


def readme(check):
    """The table of all bugs, between two marks of the README."""
    path = bugs.folder() / "README.md"
    rows = ["| lesson | bug | what is wrong | H200 | compute-sanitizer | emulator |", "|---|---|---|---|---|---|"]
    found = [bug for program in bugs.programs() for bug in bugs.bugs(program)]
    for bug in found:
        h, ids = bug.header, "`" + "` or `".join(bug.expect.ids) + "`"
        emulator = {"error": ids, "advice": f"advice: {ids}", "numbers": f"wrong numbers, named `{bug.expect.text}`",
                    "refused": "refused before the launch"}[bug.expect.kind]
        rows.append("| " + " | ".join([bug.program.label, f"[{bug.name}]({bug.path.relative_to(path.parent)})", h["title"],
                                       h["h200"], h["sanitizer"], emulator]) + " |")
    text = load_text(path)
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise Stop(f"{shown(path)} lacks the marks of its table", ("try", f"{BEGIN} and {END}, each on a line of its own"))
    new = f"{text[:text.index(BEGIN)]}{BEGIN}\n{len(found)} bugs.\n\n" + "\n".join(rows) + "\n" + text[text.index(END):]
    if check and new != text:
        raise Stop(f"the table of {shown(path)} is not that of the patches", ("try", "python3 -B checks/workbook bugs readme"), code=WRONG)
    if new != text:
        save_text(path, new)
    print(f"the table of {shown(path)} is that of the patches ({len(found)} bugs)")
    return OK
