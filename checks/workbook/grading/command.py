"""make grade: all hand-ins of a folder, in parallel. make grade-merge: the results of its shards."""

import argparse
import contextlib
import csv
import hashlib
import io
import os
import re
import secrets
import shutil
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from datetime import datetime
from pathlib import Path

from workbook import build
from workbook.base import BAD_INPUT, BUILD, GREEN, OK, RED, WRONG, YELLOW, Stop, colour, load_text, save_text, shown, table
from workbook.grading import examples, handins, handout, harness, results
from workbook.grading.judge import Judge, judge_file
from workbook.grading.points import Weights
from workbook.grading.sandbox import Sandbox, Unjudged
from workbook.lessons import lessons
from workbook.one_file import caller


def options(words):
    parser = argparse.ArgumentParser(prog="make grade ARGS=...", add_help=False)
    parser.add_argument("--no-sandbox", action="store_true")
    parser.add_argument("--changed-harness", action="store_true")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--roster")
    parser.add_argument("--deadline")
    parser.add_argument("--weights")
    parser.add_argument("--key")
    try:
        return parser.parse_args(words)
    except SystemExit:
        raise Stop("ARGS has something that grading does not know",
                   ("try", "--roster FILE.csv, --deadline 'YYYY-MM-DD HH:MM', --weights FILE.json, --key WORD, --no-sandbox, --changed-harness, --build-only"))


def folder_of(name, otherwise):
    wanted = os.environ.get(name, "")
    path = Path(wanted).expanduser() if wanted else otherwise
    return caller() / path


def chosen_lessons():
    wanted = [w for w in re.split(r"[,\s]+", os.environ.get("LESSONS", "")) if w]
    found = [lesson for w in wanted for lesson in lessons(w)] or lessons()
    return sorted(set(found), key=lambda lesson: lesson.name)


def shard():
    """(i, n) of SHARD=i/n; (1, 1) without."""
    wanted = os.environ.get("SHARD", "") or "1/1"
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", wanted)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise Stop(f"SHARD={wanted} is no shard", ("try", "SHARD=1/4 to SHARD=4/4, each with an OUT of its own"))
    return int(found[1]), int(found[2])


def roster(path):
    """{name: why it counts as late, or ''} of a class list: a CSV file whose first column is the hand-ins' names, with a header;
    a column 'late' is a reason."""
    try:
        rows = [row for row in csv.DictReader(io.StringIO(load_text(path).lstrip("\ufeff")))]
        first = (rows[0] and list(rows[0])[0]) if rows else ""
        return {row[first].strip(): (row.get("late") or "").strip() for row in rows if row.get(first)}
    except (OSError, csv.Error) as problem:
        raise Stop("the roster cannot be read", ("where", str(path)), ("why", str(problem)))


def deadline(text):
    for form in ("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d"):
        try:
            return datetime.strptime(text, form).timestamp()
        except ValueError:
            pass
    raise Stop(f"--deadline {text} is no time", ("try", "--deadline '2027-01-31 23:59', in this machine's time zone"))


def key_in(folder):
    """The word of a class with which its hand-ins draw what they are tried with: the file `key` of the folder, made when there is none."""
    path, word = folder / "key", secrets.token_hex(16)
    if not path.exists():
        made = folder / f".key.{word}"
        save_text(made, word)
        made.chmod(0o600)
        with contextlib.suppress(FileExistsError):  # of shards that begin together one makes it
            os.link(made, path)
        made.unlink()
    return load_text(path)


def nothing(what, why):
    """What is written down of a file that is not judged."""
    return {"what": what, "why": why, "lines": [], "cases": [], "blanks": [], "remarks": []}


def build_all(chosen):
    """Builds what hand-ins are judged with."""
    build.prepare(*(t for lesson in chosen for t in (f"solutions.{lesson.name}.emu", f"check.lesson.{lesson.name}", f"claim.{lesson.name}")))


class Class:
    """One run of `make grade`."""

    def __init__(self, asked):
        self.asked = asked
        self.chosen, self.shard = chosen_lessons(), shard()
        self.out = folder_of("OUT", BUILD / "grade")
        if not os.environ.get("SUBMISSIONS"):
            raise Stop("which hand-ins?", ("try", "make grade SUBMISSIONS=folder, in which each hand-in is a folder or an archive"))
        folder = folder_of("SUBMISSIONS", None)
        self.examples = {}
        if folder.resolve() == examples.folder().resolve():
            folder = self.make_examples()
        self.handins, self.others = handins.collect(folder)
        self.weights = Weights(caller() / asked.weights if asked.weights else None)
        self.late = roster(caller() / asked.roster) if asked.roster else {}
        self.until = deadline(asked.deadline) if asked.deadline else None
        there = {handin.name for handin in self.handins}
        self.handins += [handins.HandIn(name, None, why="nothing was handed in") for name in self.late if name not in there]
        self.handins = sorted(self.handins, key=lambda h: h.name)[self.shard[0] - 1::self.shard[1]]
        self.commit = harness.commit(asked.changed_harness)
        self.key = asked.key or key_in(self.out.parent if self.shard[1] > 1 else self.out)
        self.sandbox = Sandbox(asked.no_sandbox, build.jobs())
        self.found, self.failed, self.done, self.total = {}, [], 0, 0

    def make_examples(self):
        """Writes the hand-ins of the recipes; their folder. Without LESSONS those lessons are graded that they are for."""
        folder, made = self.out / "examples", examples.recipes()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for example in made:
            example.make(folder)
        self.examples = {example.name: example for example in made}
        if not os.environ.get("LESSONS"):
            self.chosen = [lesson for lesson in self.chosen if any(e.lesson == lesson.name for e in made)]
        return folder

    def surprises(self):
        """What came of examples other than their recipes promise."""
        for handin in self.handins:
            example = self.examples.get(handin.name)
            found = example and self.found.get((handin.slug, example.lesson))
            said = example.deviation(found) if found else ""
            if said:
                yield f"{handin.title}, {example.title}: {said}"

    def prepare(self):
        build_all(self.chosen)
        self.identity = harness.identity(self.chosen)
        self.judge = Judge(self.sandbox, self.out / "judged", self.identity, self.key)
        for handin in self.handins:
            if handin.path:
                handins.read(handin)

    def without(self, handin, lesson):
        """What is written down of a file that is not judged; None where it is to be judged."""
        file = handin.files.get(lesson.name)
        if file is None:
            return nothing("missing", handin.why or f"there is no {lesson.name}.cu" + handins.alike(handin, lesson))
        if self.late.get(handin.name):
            return nothing("late", self.late[handin.name])
        if self.until and file.changed > self.until:
            return nothing("late", f"changed at {datetime.fromtimestamp(file.changed):%Y-%m-%d %H:%M}, after {self.asked.deadline}")
        return nothing("unreadable", file.why) if file.text is None else None

    def guarded(self, handin, lesson, last=False):
        """Likewise; what goes wrong here is said of this hand-in, and the others go on. None where it is to be judged again."""
        try:
            return judge_file(self.judge, lesson, handin.files[lesson.name].text)
        except Unjudged as problem:
            if not last:
                return None
            self.failed.append(f"{handin.title}, {lesson.name}: {problem}")
            return nothing("not graded", f"{problem.args[0]} Grade it again")
        except Exception as problem:  # whatever it is, one hand-in does not end the run
            said = problem.args[0] if isinstance(problem, Stop) else f"{type(problem).__name__}: {problem}"
            self.failed.append(f"{handin.title}, {lesson.name}: {problem}")
            return nothing("not graded", f"something went wrong in grading it: {said}")

    def run(self):
        """Grades all; True when nothing interrupted it."""
        work = []
        for handin in self.handins:
            for lesson in self.chosen:
                said = self.without(handin, lesson)
                if said:
                    self.keep(handin, lesson, said)
                else:
                    work.append((handin, lesson))
        work.sort(key=lambda w: w[1].name, reverse=True)  # what is slow to judge is begun first
        self.total, again = len(work), []
        pool = ThreadPoolExecutor(build.jobs())
        futures = {pool.submit(self.guarded, h, lesson): (h, lesson) for h, lesson in work}
        left, began = set(futures), time.monotonic()
        try:
            while left:
                ended, left = wait(left, return_when=FIRST_COMPLETED)
                for future in ended:
                    h, lesson = futures[future]
                    if future.result() is None:
                        again.append((h, lesson))
                    else:
                        self.graded(h, lesson, future.result(), began)
            for h, lesson in again:  # now that nothing else of this run keeps the machine busy
                self.graded(h, lesson, self.guarded(h, lesson, last=True), began)
            return True
        except KeyboardInterrupt:
            self.sandbox.stopping = True
            for future in left:
                future.cancel()
            return False
        finally:
            pool.shutdown(wait=True)

    def graded(self, handin, lesson, said, began):
        self.keep(handin, lesson, said)
        self.done += 1
        self.progress(handin, lesson, began)

    def keep(self, handin, lesson, said):
        for blank in said["blanks"]:
            blank["share"] = self.weights.blank(blank)
        said["points"], said["most"] = self.weights.points(lesson, said), self.weights.most(lesson)
        self.found[handin.slug, lesson.name] = said

    def progress(self, handin, lesson, began):
        said = self.found[handin.slug, lesson.name]
        text = f"[{self.done}/{self.total}] {handin.title[:40]}  {lesson.name}: {said['what']}, {said['points']:g} points"
        if sys.stdout.isatty():
            spent = time.monotonic() - began
            text += f"   ({spent / self.done * (self.total - self.done):.0f} s left)"
            print(f"\r\033[K{text[:110]}", end="" if self.done < self.total else "\n", flush=True)
        else:
            print(text, flush=True)

    def said(self, whole):
        """What results.json holds."""
        ungraded = lambda lesson: dict(nothing("not graded", "the run was interrupted"), points=0.0, most=self.weights.most(lesson))
        return {"format": results.FORMAT, "commit": self.commit, "identity": self.identity, "sandbox": str(self.sandbox),
                "key": hashlib.sha256(self.key.encode()).hexdigest()[:12], "interrupted": not whole,
                "complete": whole and not self.failed,
                "shard": list(self.shard), "lessons": [lesson.name for lesson in self.chosen], "others": self.others,
                "weights": {"numbers": self.weights.numbers, "point": self.weights.point},
                "handins": [{"name": h.name.encode("utf-8", "backslashreplace").decode(), "title": h.title, "slug": h.slug, "ignored": h.ignored,
                             "more": h.more, "lessons": {lesson.name: self.found.get((h.slug, lesson.name)) or ungraded(lesson)
                                                         for lesson in self.chosen}} for h in self.handins]}


def print_class(said):
    names = said["lessons"]
    points = lambda r: "-" if r["what"] in ("missing", "late") else f"{r['points']:g}"
    rows = [[h["title"][:36], *(points(h["lessons"][n]) for n in names), f"{results.total(h):g}", f"{results.most(h):g}"] for h in said["handins"]]
    most = {i + 1: r["most"] for i, r in enumerate(said["handins"][0]["lessons"].values())} if rows else {}

    def paint(i, text):
        if i not in most or text == "-":
            return None
        return GREEN if float(text) >= most[i] else YELLOW if float(text) > 0 else RED

    table(["hand-in", *(n[:2] for n in names), "points", "of"], rows, paint)


def grade(words):
    asked = options(words)
    if asked.build_only:
        build_all(chosen_lessons())
        return OK
    run = Class(asked)
    print(run.sandbox, flush=True)
    run.prepare()
    whole = run.run()
    changed = harness.identity(run.chosen) != run.identity
    if changed:
        raise Stop("what grades has changed while it graded: nothing of it counts", ("where", "the build folder, or the checkout"),
                   ("try", "grade again"))
    said = run.said(whole)
    results.write(run.out, said)
    print()
    print_class(said)
    print(f"\n{shown(run.out / 'class.html')}   results.csv, junit.xml and results.json are beside it")
    if not whole:
        print(f"interrupted: {run.done} of {run.total} files are graded and kept; the same command goes on")
        raise KeyboardInterrupt
    for problem in run.failed:
        print(colour(f"not graded: {handins.printable(problem)[:300]}", RED))
    surprises = list(run.surprises())
    for said in surprises:
        print(colour(f"not as its recipe promises: {said}", RED))
    return BAD_INPUT if run.failed else WRONG if surprises else OK


def merge(words):
    """ARGS: the folders of the shards' results. OUT: where the whole goes."""
    out = folder_of("OUT", BUILD / "grade")
    folders = [caller() / w for w in words]
    if not folders:
        raise Stop("which results?", ("try", "make grade-merge ARGS='shard-1 shard-2' OUT=folder"))
    parts = []
    for folder in folders:
        try:
            parts.append(results.load(folder / "results.json"))
        except (OSError, ValueError, AttributeError) as problem:
            raise Stop("the results of a shard cannot be read", ("where", shown(folder / "results.json")), ("why", str(problem)))
    first, count = parts[0], parts[0]["shard"][1]
    for folder, part in zip(folders, parts):
        for key, what in (("commit", "by another commit"), ("identity", "by another build"), ("lessons", "in other lessons"),
                          ("weights", "with other weights"), ("sandbox", "in another sandbox"), ("key", "with another key; give them one: ARGS='--key WORD'")):
            if part[key] != first[key]:
                raise Stop("shards that do not belong together", ("where", f"{shown(folders[0])} and {shown(folder)}"),
                           ("why", f"one was graded {what}"))
        if part["interrupted"]:
            raise Stop("a shard is not complete", ("where", shown(folder)), ("try", "run it again; it goes on where it was"))
    numbers = sorted(part["shard"][0] for part in parts)
    if any(part["shard"][1] != count for part in parts) or numbers != list(range(1, count + 1)):
        missing = sorted(set(range(1, count + 1)) - set(numbers))
        raise Stop(f"these are not the {count} shards of one class",
                   ("why", f"shards {', '.join(map(str, missing))} are missing" if missing else "one is there twice"))
    said = dict(first, shard=[1, 1], handins=sorted((h for part in parts for h in part["handins"]), key=lambda h: h["name"]),
                others=first["others"], complete=all(part["complete"] for part in parts))
    results.write(out, said)
    print_class(said)
    print(f"\n{shown(out / 'class.html')}   results.csv, junit.xml and results.json are beside it")
    left = [f"{h['title']}, {name}" for h in said["handins"] for name, r in h["lessons"].items() if r["what"] == "not graded"]
    for one in left:
        print(colour(f"not graded: {one}; run its shard again", RED))
    return BAD_INPUT if left else OK


def hand_out(words):
    if words:
        raise Stop("ARGS means nothing here", ("try", "make handout OUT=folder LESSONS=01,02"))
    chosen = chosen_lessons()
    out = handout.write(folder_of("OUT", BUILD / "handout"), chosen)
    print(f"{shown(out)}: lessons {', '.join(lesson.number for lesson in chosen)}, without worked programs, bugs and git history")
    if len(chosen) > 1:
        print("  each lesson's file starts from what the one before asks for; to hand them out one after the other: LESSONS=01, then LESSONS=01,02")
    return OK
