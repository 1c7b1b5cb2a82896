"""The blanks of a hand-in: what is in each of them, and the worked program with one of them in it."""

import difflib
import hashlib
import re
from dataclasses import dataclass

from workbook import program
from workbook.lessons import MARKER, Region, regions, render, split
from workbook.program import PIECE

OPENS = re.compile(r"^\s*//\s*\[todo (\d\d\.\d)\]")
ENDS = re.compile(r"^\s*//\s*\[end\]\s*$")


@dataclass
class Blank:
    """lines: what the hand-in has in this blank; None where its place cannot be told."""
    region: Region
    lines: object
    first: int = 0  # the number of its first line in the hand-in

    @property
    def state(self):
        """open, right (the worked answer, but for blanks and comments), lost (no place), or filled."""
        if self.lines is None:
            return "lost"
        mine = "\n".join(self.lines)
        if "TODO_OPEN" in pieces(mine) or not pieces(mine):
            return "open"
        return "right" if pieces(mine) == pieces("\n".join(self.region.lines)) and "\\" not in mine else "filled"


def pieces(text):
    """What the text is made of, without comments and blanks."""
    return [m[0] for m in PIECE.finditer(without_comments(text))]


OPENING = re.compile(r'//|/\*|R"[^\s()\\]{0,16}\(|"|\'')
REST = {'"': re.compile(r'(?:[^"\\\n]|\\.)*"'), "'": re.compile(r"(?:[^'\\\n]|\\.)*'")}


def without_comments(text):
    """The text without comments, raw strings and empty lines, in one pass: what is looked at outside of the sandbox may be made to
    keep a regular expression busy."""
    kept, at = [], 0
    while at < len(text):
        opened = OPENING.search(text, at)
        if not opened:
            kept.append(text[at:])
            break
        kept.append(text[at:opened.start()])
        what, begin = opened[0], opened.end()
        if what in REST:
            rest = REST[what].match(text, begin)
            kept.append(what + rest[0] if rest else what)
            at = rest.end() if rest else begin
        else:
            end = "\n" if what == "//" else "*/" if what == "/*" else ")" + what[2:-1] + '"'
            found = text.find(end, begin)
            body = text[begin:found if found >= 0 else len(text)]
            kept.append(" " if what in ("//", "/*") else f'"{hashlib.sha256(body.encode()).hexdigest()}"')
            at = len(text) if found < 0 else found if what == "//" else found + len(end)
    return "\n".join(filter(None, map(str.strip, "".join(kept).split("\n"))))


def host_text(text):
    """The pieces of the source that are no device code (program.host_text)."""
    return program.host_text(without_comments(text))


def marked(lines):
    """{number: (the lines between the markers, the number of the first)} of a hand-in, as far as its markers go."""
    found, number, first = {}, None, 0
    for at, line in enumerate(lines):
        opened = OPENS.match(line)
        if opened:
            number, first = opened[1], at + 1
        elif ENDS.match(line) and number:
            found.setdefault(number, (lines[first:at], first + 1))
            number = None
    return found


def unmarked(parts, lines):
    """Likewise by what stands around the blanks in the worked program, for a hand-in that has lost its markers."""
    around = [p for p in parts if not isinstance(p, Region) and not MARKER.match(p)]
    kept = [(at, line) for at, line in enumerate(lines) if not MARKER.match(line)]
    same = difflib.SequenceMatcher(None, around, [line for _, line in kept], autojunk=False).get_matching_blocks()
    place = {block.a + i: block.b + i for block in same for i in range(block.size)}
    found, before = {}, -1
    for part in parts:
        if isinstance(part, Region):
            begin, end = place.get(before), place.get(before + 1)
            if begin is not None and end is not None:
                inside = kept[begin + 1:end]
                found[part.number] = ([line for _, line in inside], inside[0][0] + 1 if inside else 0)
        elif not MARKER.match(part):
            before += 1
    return found


def blanks(lesson, text):
    """The blanks of a lesson as a hand-in has filled them, in order."""
    parts, lines = split(lesson.solution), text.splitlines()
    found = marked(lines)
    if any(region.number not in found for region in regions(lesson.solution)):
        found = dict(unmarked(parts, lines), **found)
    return [Blank(region, *found.get(region.number, (None, 0))) for region in regions(lesson.solution)]


def alone(lesson, blank):
    """The worked program with what the hand-in has in one blank."""
    return render(split(lesson.solution), lambda region: blank.lines if region.number == blank.region.number else region.lines)


def others_worked(lesson, text, blank):
    """The hand-in with the worked answers in all blanks but one."""
    lines = text.splitlines()
    for other in sorted(blanks(lesson, text), key=lambda b: -b.first):
        if other.lines and other.region.number != blank.region.number:
            lines[other.first - 1:other.first - 1 + len(other.lines)] = other.region.lines
    return "\n".join(lines) + "\n"


def around(lesson, text):
    """The lines outside the blanks that a hand-in has changed or added, and how many of the lesson's it lacks."""
    parts, held = split(lesson.solution), blanks(lesson, text)
    theirs = [p.strip() for p in parts if not isinstance(p, Region) and not MARKER.match(p) and p.strip()]
    inside = {line for blank in held if blank.lines for line in range(blank.first, blank.first + len(blank.lines))}
    mine = [line.strip() for at, line in enumerate(text.splitlines(), 1) if at not in inside and not MARKER.match(line) and line.strip()]
    added, lacking = [], 0
    for kind, a, b, c, d in difflib.SequenceMatcher(None, theirs, mine, autojunk=False).get_opcodes():
        if kind != "equal":
            added += mine[c:d]
            lacking += b - a
    return added, lacking
