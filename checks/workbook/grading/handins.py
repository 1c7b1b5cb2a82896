"""Finds the hand-ins of a class: folders and archives with lesson files. What is no lesson file is listed and not looked at; no
link is followed, and nothing is read that is too long or no text."""

import bz2
import codecs
import contextlib
import functools
import gzip
import hashlib
import lzma
import os
import re
import signal
import stat
import tarfile
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from workbook.base import Stop
from workbook.lessons import lessons

LONGEST, MOST_LINES = 100_000, 2000  # bytes and lines of a lesson file; what compares texts takes a time that grows with their square
ENTRIES, DEEPEST = 5000, 8  # that are looked at, in one hand-in
UNPACKED = 64 << 20       # bytes that an archive may unpack to
PACKED = 256 << 20        # bytes of an archive
READ_S = 20               # of CPU time that reading it may take
LISTED = 30               # ignored entries that are named
ARCHIVES = {".zip": None, ".tar": open, ".tar.gz": gzip.open, ".tgz": gzip.open, ".tar.xz": lzma.open, ".tar.bz2": bz2.open}
OTHER_ARCHIVES = (".7z", ".rar", ".tar.zst", ".tzst", ".zst", ".tar.lz", ".tar.lz4", ".gz", ".bz2", ".xz", ".cab", ".dmg", ".iso")
# Ends of lines for Python that are none for a compiler.
NO_LINE_ENDS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# What texts in other encodings begin with.
ENCODINGS = ((b"\xff\xfe\0\0", "UTF-32"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text):
    """A name or text on one line: what moves a cursor, ends a line or is no character is written as its code."""
    return CONTROL.sub(lambda m: {"\n": "\\n", "\t": "\\t"}.get(m[0], f"\\x{ord(m[0]):02x}"), text)


@dataclass
class File:
    """A lesson file as it was handed in: its text, or why there is none."""
    text: object = None
    why: str = ""
    changed: float = 0  # when it was changed last, in seconds since 1970


@dataclass
class HandIn:
    name: str    # as in the folder of hand-ins
    path: object
    files: dict = field(default_factory=dict)  # {lesson's name: File}
    ignored: list = field(default_factory=list)
    more: int = 0  # ignored entries that are not named
    why: str = ""  # why nothing of it could be read

    @property
    def title(self):
        return printable(self.name)

    @property
    def slug(self):
        """Its name for files."""
        readable = re.sub(r"[^A-Za-z0-9._-]+", "_", self.name).strip("._")[:40] or "hand-in"
        return f"{readable}-{hashlib.sha256(self.name.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"

    def ignore(self, name):
        if len(self.ignored) < LISTED:
            self.ignored.append(printable(name)[:100])
        else:
            self.more += 1


def ending(name, of=ARCHIVES):
    """The ending of an archive's name; '' where it is none."""
    return next((e for e in sorted(of, key=len, reverse=True) if name.lower().endswith(e) and len(name) > len(e)), "")


def collect(folder):
    """All hand-ins in a folder, by name; and the names of what is none."""
    folder = Path(folder)
    if not folder.is_dir():
        raise Stop(f"SUBMISSIONS={folder} is no folder", ("try", "make grade SUBMISSIONS=folder, in which each hand-in is a folder or an archive"))
    found, others = {}, []
    for name in sorted(os.listdir(folder)):
        path, end = folder / name, ending(name) or ending(name, OTHER_ARCHIVES)
        if path.is_symlink() or name.startswith("."):
            others.append(printable(name))
        elif path.is_dir():
            found[name] = HandIn(name, path)
        elif end and path.is_file():
            plain = name[:-len(end)]
            plain = plain if plain not in found else name
            found[plain] = HandIn(plain, path)
        else:
            others.append(printable(name))
    if not found:
        raise Stop(f"{folder} has no hand-in", ("why", "it holds neither a folder nor an archive (" + ", ".join(ARCHIVES) + ")"))
    return list(found.values()), others


def read(handin):
    """Reads the lesson files of a hand-in."""
    try:
        with at_most(READ_S):
            for inside, file in sorted(walk(handin) if handin.path.is_dir() else unpacked(handin), key=preference):
                lesson = lesson_of(inside)
                if lesson is None or lesson in handin.files:
                    handin.ignore(inside)
                else:
                    handin.files[lesson] = file() if callable(file) else file
    except Exception as problem:  # what is made to be damaged raises whatever its reader has not thought of
        handin.why = f"it cannot be read: {printable(str(problem) or type(problem).__name__)[:200]}"


@functools.lru_cache(maxsize=None)
def lesson_names():
    return {f"{lesson.name}.cu".lower(): lesson.name for lesson in lessons()}


def lesson_of(inside):
    """The name of the lesson whose file a path is; None where it is no lesson's. Some systems do not tell upper case from lower."""
    return lesson_names().get(os.path.basename(inside).lower())


def preference(entry):
    """Of two files of a lesson the one is taken that is less deep, then the one that is spelled as the lesson is."""
    inside = entry[0]
    return len(Path(inside).parts), os.path.basename(inside) != f"{lesson_of(inside)}.cu", inside


def alike(handin, lesson):
    """What a hand-in has in the place of a lesson's file, of another name; '' where there is nothing of the kind."""
    name_of = lambda path: os.path.basename(path).lower()
    found = [path for path in handin.ignored if name_of(path).startswith(f"{lesson.number}_") or lesson.name in name_of(path)]
    return f", but {found[0]}" if found else ""


@contextlib.contextmanager
def at_most(cpu_s):
    """Ends with an error what takes more CPU time. For the main thread."""
    def late(*_):
        raise ValueError(f"reading it takes more than {cpu_s:g} s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def walk(handin):
    """(path inside, what reads it) of the entries of a folder."""
    waiting, seen = [("", handin.path, 0)], 0
    while waiting:
        inside, path, depth = waiting.pop()
        for entry in os.scandir(path):
            seen += 1
            if seen > ENTRIES:
                raise ValueError(f"it has more than {ENTRIES} entries")
            name = os.path.join(inside, entry.name)
            if entry.is_dir(follow_symlinks=False) and not entry.name.endswith(".cu"):
                if depth < DEEPEST:
                    waiting.append((name, entry.path, depth + 1))
                else:
                    handin.ignore(name)
            else:
                yield name, lambda path=entry.path: read_file(path)


def read_file(path):
    try:
        said = os.lstat(path)
        if stat.S_ISLNK(said.st_mode):
            return File(why="it is a link, and links are not followed")
        if not stat.S_ISREG(said.st_mode):
            return File(why="it is no file")
        if said.st_size > LONGEST:
            return File(why=f"it has {said.st_size:,} bytes, and {LONGEST:,} are read at most", changed=said.st_mtime)
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return as_text(file.read(LONGEST + 1), said.st_mtime)
    except OSError as problem:
        return File(why=f"it cannot be read: {problem.strerror}")


def as_text(data, when):
    if len(data) > LONGEST:
        return File(why=f"it has more than {LONGEST:,} bytes", changed=when)
    encoding = next((name for mark, name in ENCODINGS if data.startswith(mark)), "")
    if encoding:
        return File(why=f"it is {encoding} text; save it as UTF-8", changed=when)
    mark = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0  # which some editors write, and which is none of the text
    try:
        text = data[mark:].decode("utf-8")
    except UnicodeDecodeError as problem:
        at = mark + problem.start
        return File(why=f"it is no UTF-8 text: byte {at + 1} is 0x{data[at]:02x}; save it as UTF-8", changed=when)
    if "\0" in text:
        return File(why=f"it is no text: byte {data.index(0) + 1} is zero", changed=when)
    text = NO_LINE_ENDS.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    if text.count("\n") > MOST_LINES:
        return File(why=f"it has more than {MOST_LINES:,} lines", changed=when)
    return File(text, changed=when)


class Counted:
    """A stream that ends with an error where it would unpack to too much."""

    def __init__(self, stream):
        self.stream, self.left = stream, UNPACKED

    def read(self, count=-1):
        data = self.stream.read(min(count, 1 << 20) if count >= 0 else 1 << 20)
        self.left -= len(data)
        if self.left < 0:
            raise ValueError(f"it unpacks to more than {UNPACKED >> 20} MiB")
        return data


def unpacked(handin):
    """[(path inside, File)] of an archive, of which nothing is written to a disk."""
    end = ending(handin.path.name)
    if not end:
        raise ValueError(f"an archive of this kind is not read; hand in one of {', '.join(ARCHIVES)}")
    if handin.path.stat().st_size > PACKED:
        raise ValueError(f"it has more than {PACKED >> 20} MiB")
    found = []
    if end == ".zip":
        with zipfile.ZipFile(handin.path) as archive:
            for member in archive.infolist()[:ENTRIES + 1]:
                name = member.filename.replace("\\", "/")  # some programs write their own system's
                found.append((name, zip_member(archive, member) if lesson_of(name) else None))
    else:
        with ARCHIVES[end](handin.path, "rb") as stream, tarfile.open(fileobj=Counted(stream), mode="r|") as archive:
            for member in archive:
                found.append((member.name, tar_member(archive, member) if lesson_of(member.name) else None))
                if len(found) > ENTRIES:
                    break
    if len(found) > ENTRIES:
        raise ValueError(f"it has more than {ENTRIES} entries")
    return found


def zip_member(archive, member):
    when = time.mktime((*member.date_time, 0, 0, -1)) if member.date_time[0] >= 1980 else 0
    if stat.S_ISLNK(member.external_attr >> 16):
        return File(why="it is a link, and links are not followed")
    if member.is_dir():
        return File(why="it is no file")
    with archive.open(member) as file:
        return as_text(file.read(LONGEST + 1), when)


def tar_member(archive, member):
    if member.issym() or member.islnk():
        return File(why="it is a link, and links are not followed")
    if not member.isfile():
        return File(why="it is no file")
    if member.size > LONGEST:
        return File(why=f"it has {member.size:,} bytes, and {LONGEST:,} are read at most", changed=member.mtime)
    return as_text(archive.extractfile(member).read(LONGEST + 1), member.mtime)
