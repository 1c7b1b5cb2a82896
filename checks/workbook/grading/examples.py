"""The hand-ins of checks/grading/examples: right, half done, wrong, and cheats. Each is a recipe, which is made into a folder.

A recipe is a header of 'key: value' lines and sections that begin with '---- ':

  title    what it does, one line
  from     'solution NN', 'exercise NN' or 'nothing NN': the text that the sections change, and the lesson that it is handed in for;
           'solution NN as MM' hands it in for another lesson
  expect   'VERDICT, LOW to HIGH, "TEXT"': the result, its points, and a text in its report
  as       optional: link, sparse, pipe, folder, latin-1, utf-16, zip, tar or 7z instead of a file; windows: as an editor there writes
           and names it; litter: with files beside it that are no lesson's; sought: with a number at its end, with which it would draw
           one of the sizes that it knows, had the class no key
  name     optional: the name of the folder, \\n being a new line

  ---- front            lines in front of the first
  ---- fill NN.k        lines in this blank, instead of what is there; 'fill NN.k right': the worked answer
  ---- replace TEXT     lines instead of the one line that holds TEXT
  ---- main             lines instead of main
  ---- unmark           takes out the markers and the calls of open blanks
"""

import hashlib
import os
import re
import tarfile
import zipfile
from dataclasses import dataclass

from workbook import base, bugs
from workbook.base import Stop, load_text, save_text, shown
from workbook.grading.judge import Drawn
from workbook.lessons import MARKER, exercise_text, lessons, regions

KEYS = {"title", "from", "expect", "as", "name"}
# What would change a build or a run in whose folder it is.
LITTER = {"Makefile": "all:\n\ttouch /tmp/made\n", "CMakeLists.txt": "message(FATAL_ERROR here)\n", "nvcc.profile": "NVCC_APPEND_FLAGS = -DTODO_OPEN(...)=\n",
          "sitecustomize.py": "raise SystemExit(0)\n", "ld.so.preload": "/hand-in/preload.so\n", "preload.so": "\x7fELF", ".gdbinit": "shell touch /tmp/made\n",
          "common/todo.cuh": "#define TODO_OPEN(...)\n", "todo.cuh": "#define TODO_OPEN(...)\n", "checks/workbook/grading/points.py": "raise SystemExit(0)\n"}
FORMS = {"file", "link", "sparse", "pipe", "folder", "latin-1", "utf-16", "windows", "zip", "tar", "7z", "litter", "sought"}


def folder():
    return base.ROOT / "checks" / "grading" / "examples"


@dataclass
class Example:
    """A hand-in that is made here, and what must come of it."""
    name: str
    title: str
    lesson: str   # the name of the lesson that it is handed in for
    text: str
    verdict: str
    low: float
    high: float
    says: str
    form: str = "file"

    def make(self, into):
        """Writes the hand-in as a folder or an archive."""
        home, file = into / self.name, f"{self.lesson}.cu"
        if self.form in ("zip", "tar", "7z"):
            return self.pack(into, file)
        home.mkdir(parents=True)
        path = home / file
        if self.form == "link":
            os.symlink(base.ROOT / "solutions" / file, path)
        elif self.form == "sparse":
            with open(path, "wb") as made:
                made.truncate(1 << 30)
        elif self.form == "pipe":
            os.mkfifo(path)
        elif self.form == "folder":
            path.mkdir()
        elif self.form == "windows":
            path.with_name(file.upper()).write_bytes(self.text.replace("\n", "\r\n").encode("utf-8-sig"))
        else:
            text = sought(self.text) if self.form == "sought" else self.text
            path.write_bytes(text.encode(self.form if self.form in ("latin-1", "utf-16") else "utf-8"))
        for name, held in dict({"notes.txt": "no lesson file\n"}, **(LITTER if self.form == "litter" else {})).items():
            save_text(home / name, held)

    def pack(self, into, file):
        """An archive whose file would lie outside of the folder into which it is unpacked."""
        plain = into / f".{self.name}"
        save_text(plain, self.text)
        inside = f"../../../../tmp/{file}"
        if self.form == "zip":
            with zipfile.ZipFile(into / f"{self.name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                archive.write(plain, inside)
        elif self.form == "7z":
            save_text(into / f"{self.name}.7z", "7z" + self.text)
        else:
            with tarfile.open(into / f"{self.name}.tar.gz", "w:gz") as archive:
                archive.add(plain, inside)
        plain.unlink()

    def deviation(self, found):
        """'' when a result is as expected, else how it differs."""
        said = "\n".join([found["why"], *found["lines"], *found["remarks"], *(line for b in found["blanks"] for line in [b["why"], *b["lines"]])])
        wrong = []
        if found["what"] != self.verdict:
            wrong.append(f"it is '{found['what']}', not '{self.verdict}'")
        if not self.low <= found["points"] <= self.high:
            wrong.append(f"it has {found['points']:g} points, not {self.low:g} to {self.high:g}")
        if self.says not in said:
            wrong.append(f"its report does not say '{self.says}'")
        return "; ".join(wrong + ([f"it says: {found['why']}"] if wrong else []))


def sought(text):
    """The text with a number with which it draws one of the sizes in it, where the class has no key."""
    known = {tuple(map(int, size)) for size in re.findall(r"\{(\d+), (\d+), (\d+)\}", text)}
    begun = hashlib.sha256(f"\0{text}".encode())
    for number in range(10_000_000):
        hashed = begun.copy()
        hashed.update(f"// {number}\n".encode())
        drawn = Drawn.by(hashed)
        if (drawn.m, drawn.n, drawn.k) in known:
            return f"{text}// {number}\n"
    raise Stop("no number has been found", ("why", "the text knows no size that can be drawn"))


def recipe(path):
    """The Example of a recipe; Stop where it cannot be read."""
    def wrong(why):
        raise Stop("a recipe cannot be read", ("where", shown(path)), ("why", why))

    head, *parts = re.split(r"^---- ", load_text(path), flags=re.M)
    header = dict(re.findall(r"^([a-z]+): +(\S.*?)\s*$", head, re.M))
    source = re.fullmatch(r"(solution|exercise|nothing) (\d\d)(?: as (\d\d))?", header.get("from", ""))
    expect = re.fullmatch(r'([A-Za-z ]+), ([\d.]+) to ([\d.]+), "(.*)"', header.get("expect", ""))
    if set(header) - KEYS or not source or not expect or "title" not in header or header.get("as", "file") not in FORMS:
        wrong("its header is not as the head of " + shown(__file__) + " says")
    lesson = lessons(source[2])[0]
    text = {"solution": load_text(lesson.solution), "exercise": exercise_text(lesson), "nothing": ""}[source[1]]
    for part in parts:
        title, _, body = part.partition("\n")
        text = section(text, lesson, title.strip(), body.rstrip("\n"), wrong)
    name = header.get("name", path.stem).replace("\\n", "\n")
    return Example(name, header["title"], lessons(source[3] or source[2])[0].name, text, expect[1], float(expect[2]), float(expect[3]), expect[4],
                   header.get("as", "file"))


def section(text, lesson, title, body, wrong):
    """The text with one section of a recipe done."""
    kind, _, about = title.partition(" ")
    if kind == "front":
        return body + "\n" + text
    if kind == "main":
        return text[:text.index("int main(")] + body + "\n"
    if kind == "unmark":
        return "\n".join(line for line in text.splitlines() if not MARKER.match(line) and "TODO_OPEN(" not in line) + "\n"
    if kind == "fill":
        number, _, right = about.partition(" ")
        lines = next((r.lines for r in regions(lesson.solution) if r.number == number), None)
        if lines is None:
            wrong(f"there is no blank {number}")
        body = "\n".join(lines) if right else body
        return re.sub(rf"(^ *// \[todo {re.escape(number)}\][^\n]*\n).*?(^ *// \[end\]$)", lambda m: m[1] + body + "\n" + m[2], text, flags=re.M | re.S)
    if kind == "replace":
        lines = text.splitlines()
        places = [i for i, line in enumerate(lines) if about in line]
        if len(places) != 1:
            wrong(f"'{about}' is in {len(places)} lines")
        return "\n".join(lines[:places[0]] + [body] + lines[places[0] + 1:]) + "\n"
    return wrong(f"it has a section '{title}'")


def recipes():
    return [recipe(path) for path in sorted(folder().glob("*.txt"))]


def of_bugs():
    """The deliberate bugs of the lessons as hand-ins: (Example, Bug). None has full points, and each says what the corpus promises."""
    made = []
    for program in bugs.programs():
        if not re.fullmatch(r"\d\d", program.label):
            continue
        for bug in bugs.bugs(program):
            made.append((Example(bug.label.replace("/", "_"), bug.header["title"], program.name, bugs.apply(bug), "", 0, 99.9, ""), bug))
    return made
