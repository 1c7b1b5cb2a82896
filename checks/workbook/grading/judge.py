"""Judges one file of a hand-in.

The kernel's PTX is run by the worked program's host code, which the build has made, and by the lesson's own check; the hand-in's
host code has no part in it. Where that host code differs from the worked one, it is run in a process of its own that only tells
what it hands to the first launch. That is a claim: it is compared with what the worked program hands over.
"""

import difflib
import hashlib
import json
import os
import re
import subprocess
import tempfile
import threading
import xml.etree.ElementTree as xml
from dataclasses import asdict, dataclass, field
from pathlib import Path

from workbook import base, check, compile_report, program, report
from workbook.base import Stop, load_text, save_text
from workbook.grading import compiler
from workbook.grading.blanks import alone, around, blanks, host_text, others_worked
from workbook.grading.sandbox import INSIDE, Limits, Unjudged
from workbook.nvcc import registers
from workbook.run import Run, read_json, run

ANOTHER = "its kernel is not the lesson's: the name differs, or the parameters do"
HOST_CASE = "the host code hands the kernel what the lesson asks for"
DRAWN_CASE = "right at a size, with numbers and in an order that nobody knows before"
PLACE = "/judge"  # of the judged kernel, the worked program and its check in a sandbox
LIMITS = Limits(cpu_s=90, memory=2 << 30)
WORKED_LIMIT_S = 600  # of the worked program, until it says what it launches
LAUNCH_S = 20   # of a kernel, until the emulator says who waits for what
# Of the judged programs: reading a kernel's PTX takes much memory in small pieces, which costs a third less time in large pages.
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=33554432:glibc.malloc.mmap_threshold=1073741824:"
                                 "glibc.malloc.trim_threshold=1073741824"}
SHOWN = 40      # lines of a report, at most
COLUMNS = 200   # of a line
PRINTED = 8     # lines of what a program says that does not get to its launch
ENDS = "the program ends before it launches the kernel"
ANSI = re.compile(r"\x1b\[\d*m")


@dataclass
class Case:
    name: str
    status: str          # passed, failed, not run
    point: bool = False  # it is about the lesson's own point, not about right numbers
    message: str = ""
    lines: list = field(default_factory=list)  # what a person reads of it


@dataclass
class Verdict:
    """What came of one program text. what: right, point missed, wrong, TODO open, does not compile."""
    what: str
    why: str = ""
    lines: list = field(default_factory=list)
    cases: list = field(default_factory=list)
    slow: str = ""  # what the assembler says of a right one's speed, in lines

    def share(self, point):
        """How much of the cases about the lesson's point, or of the others, has passed; 0 to 1."""
        if any(c.name == HOST_CASE and c.status == "failed" for c in self.cases):
            return 0.0  # the cases say nothing of it: they run with the worked program's host code
        mine = [c for c in self.cases if c.point == point and c.name != HOST_CASE]
        return sum(c.status == "passed" for c in mine) / len(mine) if mine else 0.0

    @staticmethod
    def read(said):
        return Verdict(**dict(said, cases=[Case(**c) for c in said["cases"]]))


def readable(folder):
    """Lets the user of a sandbox read a folder, whatever the umask is."""
    os.chmod(folder, 0o755)
    for path in Path(folder).rglob("*"):
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


def text_of(lines):
    """Lines of a report as they are kept: without colours and without end."""
    plain = [ANSI.sub("", line)[:COLUMNS] for line in "\n".join(lines).splitlines()]
    return plain[:SHOWN] + ([f"... and {len(plain) - SHOWN} lines more"] if plain[SHOWN:] else [])


@dataclass(frozen=True)
class Drawn:
    """What a text is tried with beside the known cases. It follows from the text and a key that its writer does not know: without
    one, a number in a comment could be sought with which the text draws what it likes."""
    m: int
    n: int
    k: int
    seed: int
    order: int

    @staticmethod
    def of(text, key=""):
        return Drawn.by(hashlib.sha256(f"{key}\0{text}".encode()))

    @staticmethod
    def by(hashed):
        bits = hashed.digest()
        number = lambda at: int.from_bytes(bits[at:at + 4], "big")
        return Drawn(1 + number(0) % 400, 8 + number(4) % 50 * 8, 8 + number(8) % 50 * 8, 1 + number(12) % 1_000_000, 1 + number(16) % 1_000_000)

    schedule = property(lambda self: f"random:{self.order}")

    def words(self):
        return ["--m", str(self.m), "--n", str(self.n), "--k", str(self.k)]

    def said(self):
        return f"M={self.m} N={self.n} K={self.k}, seed {self.seed}, schedule {self.schedule}"


class Judge:
    """Judges program texts of the lessons. What has been judged is remembered in `folder`, by its text. drawn_by: the key of what
    they are tried with (Drawn)."""

    def __init__(self, sandbox, folder, harness, drawn_by=""):
        self.sandbox, self.folder, self.harness, self.drawn_by = sandbox, Path(folder), harness, drawn_by
        self.locks, self.lock = {}, threading.Lock()
        self.names, self.claims = {}, {}

    # ---- what is remembered

    def key(self, lesson, text):
        return hashlib.sha256("\0".join([self.harness, self.drawn_by, lesson.name, str(self.sandbox), text]).encode()).hexdigest()

    def verdict(self, lesson, text):
        key = self.key(lesson, text)
        with self.lock:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            path = self.folder / f"{key}.json"
            try:
                return Verdict.read(json.loads(load_text(path)))
            except (OSError, ValueError, KeyError, TypeError):
                found = self.judge(lesson, text)
            if not self.sandbox.stopping:
                save_text(path, json.dumps(asdict(found)))
            return found

    def case_names(self, lesson):
        """{name: whether it is about the lesson's point} of the lesson's cases, as its check lists them."""
        with self.lock:
            if lesson.name not in self.names:
                done = run([check.checks_of(lesson), check.PROJECT, "--list-test-cases", "--reporters=xml", "--no-version"], 60, merge=False)
                try:
                    found = {c.get("name"): Path(c.get("filename")).stem == lesson.name for c in xml.fromstring(done.output).iter("TestCase")}
                except (xml.ParseError, TypeError):
                    found = {}
                if not found:
                    raise Stop("the check does not list its cases", ("where", str(check.checks_of(lesson))), ("try", "make clean, then again"))
                self.names[lesson.name] = found
            return self.names[lesson.name]

    # ---- one program text

    def judge(self, lesson, text):
        with tempfile.TemporaryDirectory(prefix="workbook.") as folder:
            source = Path(folder, "source", f"{lesson.name}.cu")
            save_text(source, text)
            readable(folder)
            differs = host_text(text) != host_text(load_text(lesson.solution))
            try:
                ptx, handed = self.compile(lesson, source, differs and "TODO_OPEN(" not in text)
                cases = self.run_cases(lesson, source, ptx, Path(folder))
                if differs and not any(c.message.startswith("TODO ") for c in cases):
                    cases.append(self.host_case(lesson, source, handed))
            except compiler.Refused as refused:
                return Verdict("does not compile", str(refused), text_of(self.refusal(refused, source)), [])
            except compiler.Broken:
                if text == load_text(lesson.solution):
                    raise
                self.verdict(lesson, load_text(lesson.solution))  # if the compiler works on this, it was the hand-in that broke it
                return Verdict("does not compile", "the compiler breaks down on it", ["the compiler breaks down on it"], [])
            found = summed_up(cases)
            if found.what == "right":
                found.slow = self.speed(source, Path(folder, "judged"), ptx)
            return found

    def compile(self, lesson, source, host):
        """(PTX, what the host code hands over, where `host` asks for it and it can be had)."""
        if host:
            try:
                return compiler.with_launches(self.sandbox, source, calls(lesson))
            except compiler.Broken:
                pass  # the kernel may be good all the same
            except compiler.Refused as refused:
                if refused.stopped:
                    raise
        return compiler.to_ptx(self.sandbox, source), None

    def speed(self, source, folder, ptx):
        """What ptxas remarks of a right kernel, as `make check` tells it, and what it spills; '' where neither."""
        said = compiler.assembled(self.sandbox, folder, ptx)
        count, spilled = registers(said)
        lines = [line.replace(str(source), source.name) for line in text_of(compile_report.remarks(said, source))]
        if spilled:
            lines += [""] * bool(lines) + [f"{spilled:,} bytes spilled per thread, which has {count} registers"]
        return "\n".join(lines)

    def refusal(self, refused, source):
        """What the compiler said, with lines of the hand-in and of no other file."""
        mine = [w for w in refused.where if w[0] == f"{compiler.FOLDER}/{source.name}"]
        if not mine:
            return [str(refused)] + [f"  in {Path(w[0]).name}:{w[1]}" for w in refused.where[:1]]
        error = program.DoesNotCompile("")
        error.where = [(str(source), line, what) for _, line, what in mine]
        return [line.replace(str(source), source.name) for line in compile_report.refusal(error, source)]

    def run_cases(self, lesson, source, ptx, folder):
        """The lesson's cases on the worked program that runs `ptx` in place of its own."""
        mine, out = folder / "judged", folder / "out"
        save_text(mine / "kernel.ptx", "")
        (mine / "kernel.ptx").write_bytes(ptx)
        out.mkdir()
        see = [(mine, f"{PLACE}/hand-in"), (lesson.program("emu"), f"{PLACE}/worked/{lesson.name}.emu"),
               (check.checks_of(lesson), f"{PLACE}/{lesson.name}")]
        script, drawn = mine / f"{lesson.name}.emu", Drawn.of(load_text(source), self.drawn_by)
        script.write_text(f"#!/bin/sh\nEMU_TIME_LIMIT={LAUNCH_S} EMU_CHECK=on EMU_PTX={PLACE}/hand-in/kernel.ptx \\\n"
                          f"  exec {PLACE}/worked/{lesson.name}.emu \"$@\" --seed {drawn.seed}\n")
        places = {"CHECK_BIN_DIR": PLACE, "CHECK_GROUP": "hand-in"}
        if self.sandbox.without:
            script.write_text(f"#!/bin/sh\nEMU_TIME_LIMIT={LAUNCH_S} EMU_CHECK=on EMU_PTX='{mine}/kernel.ptx' \\\n"
                              f"  exec '{lesson.program('emu')}' \"$@\" --seed {drawn.seed}\n")
            places = {"CHECK_BIN_DIR": str(folder), "CHECK_GROUP": "judged"}
        script.chmod(0o755)
        readable(folder)
        told = out / "report"
        done = self.sandbox.run([f"{PLACE}/{lesson.name}", check.PROJECT, "--no-version"], LIMITS, see, (out, f"{PLACE}/out"),
                                dict(places, **LARGE_PAGES, CHECK_REPORT=f"{PLACE}/out/report", DEVICE="emu"), lambda: hopeless(told))
        found, names = read_cases(told), self.case_names(lesson)
        for said in found.values():
            if said.message.startswith("not judged: "):
                raise Unjudged(said.message)
        cases = []
        for name, point in names.items():
            said = found.get(name)
            if said:
                passed = said.status == "passed"
                cases.append(Case(name, "passed" if passed else "failed", point, "" if passed else said.message[:400],
                                  [] if passed else self.told(lesson, source, said.run, said.message, see)))
            else:
                cases.append(Case(name, "not run", point))
        if not found or (done.why and not hopeless(told)):  # the case during which it ended has written nothing
            first = next((c for c in cases if c.status == "not run"), None)
            if first:
                first.status, first.message = "failed", f"the check was {done.why}" if done.why else f"the check: {done.ended()}"
                first.lines = [first.message]
        if all(c.status == "passed" for c in cases):
            cases.append(self.drawn_case(lesson, source, drawn, see, out))
        return cases

    def drawn_case(self, lesson, source, drawn, see, out):
        """Whether the kernel is right where it can have been made for nothing that the checks are known to try."""
        ran = Run([f"{PLACE}/hand-in/{lesson.name}.emu", *drawn.words()], {"EMU_SCHEDULE": drawn.schedule}, None, "", LIMITS.cpu_s)
        done = self.sandbox.run([*ran.command, "--json", f"{PLACE}/out/own"], LIMITS, see, (out, f"{PLACE}/out"),
                                dict(ran.environment, DEVICE="emu", EMU_JSON=f"{PLACE}/out/own.emu"))
        ran.result, ran.emu = read_json(out / "own"), read_json(out / "own.emu")
        ran.code, ran.output = None if done.why else done.code, (done.output + done.errors).decode("utf-8", "replace")
        if ran.verdict == "right" and not ran.errors:
            return Case(DRAWN_CASE, "passed")
        why = f"the program was {done.why}" if done.why else "it is not right at " + drawn.said()
        return Case(DRAWN_CASE, "failed", False, why, [*self.told(lesson, source, ran, why, see), "", f"  with   {drawn.said()}", f"  case   {DRAWN_CASE}"])

    def told(self, lesson, source, first, message, see):
        """What a person reads of a failed case: its first failing run, told as `make check` does."""
        own(first.emu, source)
        if first.errors and first.errors[0]["id"] == "ptx-file":
            return self.another_kernel(lesson, see[0][0] / "kernel.ptx")
        if not first.errors and first.verdict not in ("right", "todo") and first.command:
            again = self.sandbox.run([f"{PLACE}/hand-in/{lesson.name}.emu", *first.command[1:]], LIMITS, see,
                                     environment={k: v for k, v in first.environment.items() if k in ("EMU_SCHEDULE", "EMU_CHECK")})
            first.output = (again.output + again.errors).decode("utf-8", "replace")
        lines = report.body(first, source) if first.command else []
        if first.verdict == "right" and not first.errors:
            lines = [check.short_claim(message), *([""] + lines if lines else [])]
        return [line.replace(str(source), source.name) for line in text_of(lines or [message])]

    @staticmethod
    def another_kernel(lesson, ptx):
        """What is said where the lesson's program finds none of its kernels in a hand-in."""
        plain = lambda names: report_names(sorted(n.decode() for n in names))[:4]
        return text_of([ANOTHER, "", *(f"  handed in   {name}" for name in plain(program.kernels(ptx)) or ["none"]),
                        *(f"  the lesson  {name}" for name in plain(program.kernels_of_program(lesson.program("emu"))))])

    # ---- the host code

    def host_case(self, lesson, source, got):
        """Whether what the host code says it hands to the kernel is what the worked program hands over. got: what it says, where
        that is known."""
        want = self.worked_launches(lesson)
        try:
            got = got or compiler.with_launches(self.sandbox, source, calls(lesson))[1]
        except compiler.Refused as refused:
            return Case(HOST_CASE, "failed", False, str(refused), text_of(self.refusal(refused, source)))
        for call, right, (mine, output) in zip(calls(lesson), want, got):
            said = differences(right, mine)
            if said:
                printed = [] if mine else ["", *(f"  {line}" for line in text_of([output])[-PRINTED:])]
                return Case(HOST_CASE, "failed", False, said[0], [said[0], *(f"  {line}" for line in said[1:8]), *printed, "",
                                                                 f"  with   {' '.join(call)}", f"  case   {HOST_CASE}"])
        return Case(HOST_CASE, "passed")

    def worked_launches(self, lesson):
        with self.lock:
            if lesson.name not in self.claims:
                program_of = compiler.program_of(lesson)
                found = [compiler.told(run([program_of, *call], WORKED_LIMIT_S, merge=False).output) for call in calls(lesson)]
                if None in found:
                    raise Stop("the worked program does not say what it launches", ("where", str(program_of)), ("try", "make clean, then again"))
                self.claims[lesson.name] = found
            return self.claims[lesson.name]


def report_names(mangled):
    """Names as the source has them, where the system can tell."""
    try:
        done = subprocess.run(["c++filt"], input="\n".join(mangled), stdout=subprocess.PIPE, universal_newlines=True, timeout=60)
        return done.stdout.splitlines()
    except (OSError, subprocess.TimeoutExpired):
        return mangled


# Sizes at which host code is asked what it launches: one tile, ragged ones, and more tiles than a GPU has multiprocessors.
SIZES = [(1, 8, 8), (136, 120, 584), (1032, 776, 72), (2568, 3080, 136)]
OPTIONS = {"05": [["--stages", "2"], ["--stages", "5"]],
           "11": [["--tile", "128x256/stream-k"], ["--tile", "128x256/beside"], ["--tile", "128x128"], ["--tile", "64x128"]]}


def calls(lesson):
    """The command lines with which a lesson's host code is asked for its launch."""
    sizes = [["--m", str(m), "--n", str(n), "--k", str(k)] for m, n, k in SIZES]
    return sizes + [sizes[-1] + more for more in OPTIONS.get(lesson.number, [])]


def value(said):
    """A value as it is shown: a claim can say anything."""
    text = str(said)
    return text if re.fullmatch(r"[\w {},.+-]{1,40}", text) else "something else"


def differences(want, got):
    """How what is handed to a launch differs from what the worked program hands over, as sentences."""
    if got is None:
        return [ENDS]
    try:
        right, mine = json.loads(want), json.loads(got)
        said = [f"{word} is {value(mine.get(key))}, and the worked program's {right[key]}" for key, word in (
            ("grid", "the grid"), ("block", "a CTA"), ("sharedMemory", "the dynamic shared memory in bytes")) if right[key] != mine.get(key)]
        if len(right["parameters"]) != len(mine["parameters"]):
            return said + [f"the kernel has {len(mine['parameters'])} parameters, and the worked one {len(right['parameters'])}"]
        for at, (a, b) in enumerate(zip(right["parameters"], mine["parameters"]), 1):
            if isinstance(a, dict) and isinstance(b, dict):
                said += [f"tensor map of {a['globalAddress']}: {key} is {value(b.get(key))}, and the worked program's {a[key]}"
                         for key in a if a[key] != b.get(key)]
            elif isinstance(a, dict):
                said.append(f"tensor map of {a['globalAddress']}: there is none; cuTensorMapEncodeTiled has not been called for it")
            elif a != b:
                said.append(f"parameter {at} is {value(b)}, and the worked program's {a}")
        return said
    except (ValueError, KeyError, TypeError, AttributeError):
        return ["what it says of its launch cannot be read"]


def read_cases(path):
    """{name: check.Case} of what a lesson's check has written down so far."""
    found = {}
    for line in load_text(path).splitlines() if path.exists() else []:
        try:
            case = check.Case.read(line)
            found.setdefault(case.name, case)
        except (ValueError, KeyError, TypeError):
            pass  # cut short
    return found


def hopeless(path):
    """Why the cases that are left need not run: a blank is open, or a kernel does not end."""
    for case in read_cases(path).values():
        if case.status == "failed" and case.run.verdict == "todo":
            return "stopped: a TODO is open"
        if case.status == "failed" and any(f["id"] == "time-limit" for f in case.run.errors):
            return f"stopped: a kernel did not end within {LAUNCH_S} s"
    return ""


def own(emulated, source):
    """Makes the places of findings those of the hand-in's copy and of common/. A name that a #line has made up tells nothing: no
    file of this machine but those two comes into a report."""
    def real(name):
        if name == f"{compiler.FOLDER}/{source.name}" or name == str(source):
            return str(source)
        path = os.path.normpath(name.replace(f"{INSIDE}/", f"{base.ROOT}/", 1) if name.startswith(f"{INSIDE}/") else name)
        return path if path.startswith(f"{base.ROOT / 'common'}/") else ""

    for finding in emulated.get("findings", []):
        for key in ("file", "other_file"):
            finding[key] = real(finding.get(key) or "")
        for part in [*finding.get("chain", []), *finding.get("related", [])]:
            part["file"] = real(part.get("file") or "")
        for key, value in finding.items():
            if isinstance(value, str) and key not in ("file", "other_file"):
                finding[key] = value.replace(f"{compiler.FOLDER}/{source.name}", source.name).replace(f"{INSIDE}/", "")


def summed_up(cases):
    """The Verdict of a program from its cases."""
    bad = next((c for c in sorted(cases, key=lambda c: (c.name == HOST_CASE, c.point)) if c.status == "failed"), None)
    if bad is None and all(c.status == "passed" for c in cases):
        return Verdict("right", "", [], cases)
    if bad is None:
        return Verdict("wrong", "a case was not run", [], cases)
    if bad.message.startswith("TODO "):
        return Verdict("TODO open", bad.message, bad.lines, cases)
    # A lesson's own cases are about its means, and some about numbers at sizes that only it has.
    missed = bad.point and all(c.status != "failed" or c.name == HOST_CASE or c.message.startswith("right numbers at ") for c in cases)
    first = next((line for line in bad.lines if line.strip()), bad.message)
    return Verdict("point missed" if missed else "wrong", first, bad.lines, cases)


# ---- a file of a hand-in

def judge_file(judge, lesson, text):
    """What is written down of one file: the verdict on the whole, and on each blank alone in the otherwise worked program."""
    whole = judge.verdict(lesson, text)
    found = dict(asdict(whole), blanks=[], remarks=[])
    slow = found.pop("slow")
    found["remarks"] += [slow] if slow else []
    for blank in blanks(lesson, text):
        found["blanks"].append(judge_blank(judge, lesson, blank, whole, text))
    added, lacking = around(lesson, text)
    if added or lacking:
        found["remarks"].append(f"outside the blanks {len(added)} lines are other than the lesson's, and {lacking} of its lines are gone"
                                + (f"; the first: {added[0][:100]}" if added else ""))
    return found


def judge_blank(judge, lesson, blank, whole, text):
    said = {"number": blank.region.number, "sentence": blank.region.sentence, "state": blank.state, "why": "", "lines": [], "line": blank.first,
            "numbers": 0.0, "point": 0.0}
    if whole.what == "right":
        return dict(said, state="right", numbers=1.0, point=1.0)
    if blank.state == "right":
        return dict(said, numbers=1.0, point=1.0)
    if blank.state == "open":
        return dict(said, why="open")
    if blank.state == "lost":
        return dict(said, why="its place is gone: the marker, and the lines around it")
    one = alone(lesson, blank)
    found = judge.verdict(lesson, one)
    if found.what == "does not compile" and any(around(lesson, text)):  # it may need what the hand-in has outside its blanks
        other = others_worked(lesson, text, blank)
        again = judge.verdict(lesson, other)
        if again.what != "does not compile":
            one, found = other, again
    why, lines = as_handed_in(found, lesson.name, one, text, blank)
    return dict(said, state=found.what, why=why, numbers=found.share(False), point=found.share(True), lines=lines)


SOURCE_LINE = re.compile(r"^(\s*>?\s+)(\d+)( \| )(.*)$")


TELLS = re.compile(r"[a-z]+(-[a-z0-9]+)+: |its kernel is not|data-race|deadlock|wrong numbers|right numbers|TODO |the check was |tensor map of |the grid |a CTA |parameter "
                   r"|the dynamic shared memory |the program ends before ")


PRINTS = re.compile(r"print|##|\basm\b")


def as_handed_in(found, name, one, text, blank):
    """(why, lines) of the verdict on a program that has a blank of a hand-in and otherwise worked answers, as the hand-in's reader may
    see it: with the hand-in's line numbers, and with no line that it does not hold."""
    worked, mine = one.splitlines(), text.splitlines()
    here = next(i for i, line in enumerate(worked, 1) if f"// [todo {blank.region.number}]" in line) + 1
    place = {here + i: blank.first + i for i in range(len(blank.lines))}
    refused = re.search(rf"^  {re.escape(name)}\.cu:(\d+)", "\n".join(found.lines), re.M)
    if found.what == "does not compile" and not (refused and int(refused[1]) in place):
        return "the worked program does not compile with it", []
    if found.what not in ("does not compile", "right") and not TELLS.match(found.why):
        return "the worked program does not end well with it", []
    if found.why.startswith("wrong numbers") and PRINTS.search(text):  # what it prints may hold anything
        return "wrong numbers", []
    if found.why == ENDS:  # likewise
        return ENDS, []
    for block in difflib.SequenceMatcher(None, worked, mine, autojunk=False).get_matching_blocks():
        for i in range(block.size):
            place.setdefault(block.a + i + 1, block.b + i + 1)

    def shown(line):
        source = SOURCE_LINE.match(line)
        if source:
            at = place.get(int(source[2]))
            return f"{source[1]}{at:{len(source[2])}}{source[3]}{source[4]}" if at else f"{source[1]}{'-' * len(source[2])}{source[3]}(in another blank)"
        return re.sub(rf"({re.escape(name)}\.cu):(\d+)", lambda m: f"{m[1]}:{place[int(m[2])]}" if int(m[2]) in place else m[1], line)

    return found.why, [shown(line) for line in found.lines]
