"""The lessons' pages: what they take from elsewhere, and the rules that hold for each of them.

Blocks of lessons/NN_name/README.md:

    <!-- listing NAME -->                        before a fenced block: the region NAME of this lesson's solution, its blanks open
    <!-- bug NN/NAME --> ... <!-- bug: end -->   how to run a bug, and as the answer what its patch has recorded
    <!-- links --> ... <!-- links: end -->       the lessons before and after

lessons/NN_name/hints.md has three hints for every blank, of which the third names a line of the answer.
"""

import re
import textwrap

from workbook import base, bugs
from workbook.base import OK, WRONG, load_text, save_text, shown
from workbook.lessons import Lesson, Malformed, lessons, regions, render, split

SECTIONS = ("> **Question.**", "> **Predict.**", "## Run it", "## Break it", "## Why", "**The prediction.**", "## Next", "<!-- links -->")
LISTING = re.compile(r"<!-- listing (\w+) -->\n```cpp\n.*?```\n", re.DOTALL)
BUG = re.compile(r"<!-- bug (\w+)/(\w+) -->\n.*?<!-- bug: end -->\n", re.DOTALL)
LINKS = re.compile(r"<!-- links -->\n.*?<!-- links: end -->\n", re.DOTALL)
HINTS_OF = re.compile(r"^## (\d\d\.\d)\n\n(.*?)(?=^## |\Z)", re.M | re.S)
HINT = re.compile(r"^\d\. (.*?)(?=^\d\. |\Z)", re.M | re.S)
SHORTEST, LONGEST = 3, 10  # lines of an answer
WIDTH = 120


class Problem(Exception):
    """What is wrong with a page, as a sentence."""


def listing(lesson, name):
    """A region of the solution, with a line instead of every answer."""
    text = render(split(lesson.solution), lambda blank: [])
    found = re.search(rf"^ *// \[region {re.escape(name)}\]\n(.*?)^ *// \[end region\]$", text, re.M | re.S)
    if not found:
        raise Problem(f"{shown(lesson.solution)} has no region {name}")
    lines = [line for line in found[1].splitlines() if not re.match(r"^ *// \[(end|region .*|end region)\]$", line)]
    lines = [re.sub(r"// \[todo (\d\d\.\d)\] ", r"// TODO \1: ", line) for line in lines]
    return f"<!-- listing {name} -->\n```cpp\n" + textwrap.dedent("\n".join(lines)) + "\n```\n"


def bug_block(label, name):
    """How to run a bug, and what is known of it. None of it is written by hand, so none of it can differ from the records."""
    bug = bugs.find_bug(label, name)
    says = {"error": "The emulator reports {}.", "advice": "The emulator gives the advice {}.",
            "numbers": "The numbers are wrong; the comparison names them {}.", "refused": "It is refused before the launch: {}."}
    answer = [says[bug.expect.kind].format(" or ".join(f"`{i}`" for i in bug.expect.ids or [bug.expect.text]))]
    if bug.header["h200"] != bugs.NOT_MEASURED:
        answer.append(f"An H200 shows: {bug.header['h200']}.")
    if bug.header["sanitizer"] != bugs.NOT_MEASURED:
        answer.append(f"The tools of compute-sanitizer say: {bug.header['sanitizer']}.")
    fill = lambda text: textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    return (f"<!-- bug {label}/{name} -->\n```sh\nmake break-{bug.program.label} BUG={name}\n```\n\n<details><summary>Answer</summary>\n\n"
            f"{fill(' '.join(answer))}\n\n{fill(bug.header['why'])}\n\n</details>\n<!-- bug: end -->\n")


def chapter_behind():
    """The last chapter, which is no rung: it has no solution and no blanks."""
    found = sorted(p.parent.name for p in (base.ROOT / "lessons").glob("[0-9][0-9]_*/README.md"))
    return [Lesson(found[-1])] if found and found[-1] > lessons()[-1].name else []


def links(lesson):
    everything = lessons() + chapter_behind()
    at = everything.index(lesson)
    parts = [f"{word}: [{other.name}](../{other.name}/README.md)" for word, place in (("Before", at - 1), ("Next", at + 1))
             if 0 <= place < len(everything) for other in [everything[place]]]
    return "<!-- links -->\n" + " · ".join(parts + ["[All lessons](../../README.md#the-ladder)", "[Words](../words.md)"]) + "\n<!-- links: end -->\n"


def plain(line):
    """A line of code without its comment and blanks."""
    return re.sub(r"\s+", "", re.sub(r"//.*", "", line))


def rules(lesson, text):
    """What a page breaks, as sentences."""
    places = [text.find(section) for section in SECTIONS]
    yield from (f"'{section}' must occur once" for section in SECTIONS if text.count(section) != 1)
    if places != sorted(places):
        yield "its sections are not in the order " + ", ".join(SECTIONS)
    above = "".join(plain(line) for line in text[:max(text.find("## Why"), 0)].splitlines())
    for region in regions(lesson.solution):
        if all(plain(line) in above for line in region.lines):
            yield f"it shows the whole answer of TODO {region.number} above '## Why'"
        if not SHORTEST <= len(region.lines) <= LONGEST:
            yield f"the answer of TODO {region.number} has {len(region.lines)} lines; a blank has {SHORTEST} to {LONGEST}"
    yield from (f"the bug {label}/{name} belongs to a later lesson" for label, name in BUG.findall(text) if label[:2] > lesson.number)


def hints(lesson):
    """{number of a blank: its hints, the vaguest first}."""
    path = lesson.readme.with_name("hints.md")
    text = load_text(path) if path.exists() else ""
    return {number: [" ".join(h.split()) for h in HINT.findall(body)] for number, body in HINTS_OF.findall(text)}


def hint_problems(lesson):
    """What is wrong with the hints of a lesson, as sentences."""
    found, blanks = hints(lesson), regions(lesson.solution)
    if sorted(found) != [region.number for region in blanks]:
        yield f"hints.md has hints for '{' '.join(sorted(found))}'; the blanks are '{' '.join(r.number for r in blanks)}'"
        return
    for region in blanks:
        answer = {plain(line) for line in region.lines if len(plain(line)) > 3}
        named = [any(plain(code) in answer for code in re.findall(r"`([^`]+)`", hint)) for hint in found[region.number]]
        if named != [False, False, True]:
            yield f"TODO {region.number} needs three hints, of which the third, and no other, names a line of the answer"


def pages(write):
    """Compares every page with what it takes from elsewhere and with the rules, or brings the blocks up to date."""
    failures = []
    for lesson in lessons():
        text = load_text(lesson.readme)
        try:
            new = LISTING.sub(lambda m: listing(lesson, m[1]), text)
            new = BUG.sub(lambda m: bug_block(m[1], m[2]), new)
            new = LINKS.sub(lambda m: links(lesson), new)
            said = [f"a '<!-- {kind}' is not followed by its block and end"
                    for kind, pattern in (("listing ", LISTING), ("bug ", BUG), ("links -->", LINKS))
                    if text.count(f"<!-- {kind}") != len(pattern.findall(text))]
            said += [*rules(lesson, new), *hint_problems(lesson)]
        except (Problem, Malformed, base.Stop) as problem:
            said, new = [str(problem)], text
        if write and new != text:
            save_text(lesson.readme, new)
            print(f"renewed {shown(lesson.readme)}")
        elif new != text:
            said.append("a block is out of date; run: workbook pages --write")
        failures += [f"{shown(lesson.readme)}: {what}" for what in said]
    print("\n".join(failures) or f"{len(lessons())} pages are up to date and keep the rules of a lesson")
    return WRONG if failures else OK
