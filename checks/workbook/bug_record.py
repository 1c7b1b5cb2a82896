"""Measures the corpus of bugs on a Hopper GPU: what the hardware shows, and what compute-sanitizer says.

`record` compiles the bugs for the GPU, then runs each in several processes of its own, with a large problem and with the small
one of the patch; some bugs share the GPU. A kernel that hangs takes time from those beside it, so a bug with a process that did
not end is run again later, alone, and only that counts. Then each bug runs once under each tool of compute-sanitizer, where the
tools are installed; bugs that hang come last. What it saw is written down after every bug, so that a record cut short is not
lost; `merge` takes it into the patches.
"""

import json
import re
import shutil
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from workbook import bugs, build, device
from workbook.base import BAD_INPUT, BUILD, OK, WRONG, Stop, load_text, save_text, shown
from workbook.program import DoesNotCompile
from workbook.run import run

# The first thing a tool says, without the address.
FIRST_LINE = re.compile(r"^========= ((?!COMPUTE-SANITIZER|Internal|ERROR SUMMARY|RACECHECK).{4,90}?)(?: at | by | of size |$)", re.M)
SUSPECT = "did not end among others"
LARGE = "--m 2040 --n 2040 --k 4168"  # ragged, and long enough for every race to have its chance


def options(parser):
    parser.add_argument("filter", nargs="*", help="such as 04, or 04/no_wait; without one all bugs")
    parser.add_argument("--missing", action="store_true", help="only what the patches do not say yet")
    parser.add_argument("--at-once", type=int, default=4, help="bugs that share the GPU (4)")
    parser.add_argument("--alone", type=int, default=1, help="suspects that share it (1)")
    parser.add_argument("--processes", type=int, default=5, help="runs of each size (5)")
    parser.add_argument("--limit", type=float, default=20, help="seconds of a run (20)")
    parser.add_argument("--hangs", type=int, default=2, help="processes that do not end after which no more are started (2)")
    parser.add_argument("--tools", default="memcheck,racecheck,synccheck,initcheck", help="of compute-sanitizer; none: no tool")
    parser.add_argument("--tool-limit", type=float, default=60, help="seconds of a run under a tool (60)")
    parser.add_argument("--seconds", type=float, default=86400, help="after this time nothing more is started")
    parser.add_argument("--out", type=Path, default=BUILD / "bugs" / "record.json")


def run_once(command, limit_s, environment):
    lesson = "--m" in command
    return run([*command, "--repeat", "1"] if lesson else command, limit_s, json_option=lesson, **environment)


def name_outcome(done):
    """One of correct, wrong numbers, launch failure, hang, refused."""
    if done.code is None:
        return "hang"
    if done.code == OK:
        return "correct"
    if done.code == BAD_INPUT and not done.result.get("verdict"):
        return "refused"
    if done.result.get("verdict") == "wrong" or (not done.result and "wrong" in done.output):
        return "wrong numbers"
    return "launch failure"


class Recorder:
    def __init__(self, chosen, choice):
        self.chosen, self.environment, self.started = chosen, choice.environment, time.time()
        self.results, self.left = {}, Counter()

    def count(self, executable, arguments, hangs):
        """'correct (5 of 5 runs)', or several such. After that many hangs nothing more is run."""
        seen = Counter()
        while sum(seen.values()) < self.chosen.processes and seen["hang"] < hangs:
            seen[name_outcome(run_once([str(executable), *arguments.split()], self.chosen.limit, self.environment))] += 1
        return ", ".join(f"{what} ({times} of {sum(seen.values())} runs)" for what, times in seen.most_common() if times)

    def observe(self, bug, executable, hangs):
        """What the hardware shows, as in the header of a patch."""
        small = self.count(executable, bug.run, hangs)
        if not bug.run:  # a stand-alone program has one size
            return small
        large = self.count(executable, f"{LARGE} {re.sub(r'--[mnk] [0-9]+ ?', '', bug.run)}".strip(), hangs)
        return small if large == small else f"{large}; small problem: {small}"

    def observe_in_company(self, bug, executable):
        """As observe; SUSPECT where a process did not end, for which those beside it may be to blame."""
        seen = self.observe(bug, executable, 1)
        return SUSPECT if "hang" in seen else seen

    def observe_alone(self, bug, executable):
        return self.observe(bug, executable, self.chosen.hangs)

    def sanitize(self, bug, executable):
        """What each tool says first, silent tools together."""
        said, silent = [], []
        for tool in self.chosen.tools.split(","):
            command = [shutil.which("compute-sanitizer"), "--tool", tool, str(executable), *bug.run.split()]
            done = run_once(command, self.chosen.tool_limit, self.environment)
            summary = re.search(r"(?:ERROR SUMMARY: |RACECHECK SUMMARY: )(\d+)", done.output)
            first = FIRST_LINE.search(done.output)
            if done.code is None:
                said.append(f"{tool}: {first[1].strip()}, then no end" if first else f"{tool}: no end")
            elif summary and summary[1] == "0":
                silent.append(tool)
            else:
                said.append(f"{tool}: {first[1].strip() if first else 'ended with an error'}")
        if silent:
            said.append(", ".join(silent) + ": silent" if said else "all silent")
        return "; ".join(said)

    def measure_all(self, tasks, key, measured, at_once):
        """Writes the results down as they come; returns the suspects. tasks: [(bug, executable)]."""
        suspects = []
        late = lambda: time.time() - self.started > self.chosen.seconds
        with ThreadPoolExecutor(at_once) as pool:
            running = {pool.submit(lambda b, e: None if late() else measured(b, e), *task): task for task in tasks}
            for done in as_completed(running):
                bug, seen = running[done][0], done.result()
                if seen == SUSPECT:
                    suspects.append(running[done])
                elif seen is None:
                    self.left[key] += 1
                else:
                    print(f"  {time.time() - self.started:4.0f} s  {bug.label}: {seen}", flush=True)
                    self.results.setdefault(f"{bug.program.name}/{bug.name}", {})[key] = seen
                    save_text(self.chosen.out, json.dumps(self.results, indent=1) + "\n")
        return suspects


def wanted_bugs(filters):
    found = [b for p in bugs.programs() for b in bugs.bugs(p) if not filters or any(b.label.startswith(f) for f in filters)]
    if not found:
        raise Stop("no bug has such a name", ("where", " ".join(filters)), ("try", "make break-NN lists a lesson's"))
    return found


def record(chosen):
    device.choose("gpu")  # there is nothing to record without one
    found = wanted_bugs(chosen.filter)
    build.prepare("lab_host", "ladder", again=True)
    recorder = Recorder(chosen, device.choose("gpu", build.toolkit()[0]))
    keys = ["h200"]
    if chosen.tools != "none" and shutil.which("compute-sanitizer"):
        keys.append("sanitizer")
    elif chosen.tools != "none":
        print("compute-sanitizer is not installed: the record goes without it", flush=True)
    wanted = lambda bug, key: key in keys and (not chosen.missing or bug.header[key] == bugs.NOT_MEASURED)

    def compile_one(bug):
        try:
            return bugs.build(bug.program, bug, "gpu")
        except DoesNotCompile as problem:
            print(f"{bug.label} does not compile:\n{problem}", flush=True)
            return None

    found = [bug for bug in found if any(wanted(bug, key) for key in keys)]
    with ThreadPoolExecutor(build.jobs()) as pool:
        built = list(zip(found, pool.map(compile_one, found)))
    print(f"compiled {len(built)} programs in {time.time() - recorder.started:.0f} s", flush=True)
    tasks = {key: [(b, e) for b, e in built if e and wanted(b, key)] for key in ("h200", "sanitizer")}
    suspects = recorder.measure_all(tasks["h200"], "h200", recorder.observe_in_company, chosen.at_once)
    recorder.measure_all(suspects, "h200", recorder.observe_alone, chosen.alone)
    hangs = lambda task: "hang" in recorder.results.get(f"{task[0].program.name}/{task[0].name}", {}).get("h200", task[0].header["h200"])
    recorder.measure_all(sorted(tasks["sanitizer"], key=hangs), "sanitizer", recorder.sanitize, chosen.at_once)
    for key, number in recorder.left.items():
        print(f"{key} of {number} bugs was not measured in {chosen.seconds:.0f} s; --missing takes them up after a merge")
    print(f"wrote {shown(chosen.out)}")
    return OK if all(e for _, e in built) and not recorder.left else WRONG


def merge(path):
    results = json.loads(load_text(path))
    known = {f"{b.program.name}/{b.name}": b for p in bugs.programs() for b in bugs.bugs(p)}
    unknown = sorted(set(results) - set(known))
    if unknown:
        raise Stop(f"the record has a bug '{unknown[0]}' that the corpus has not", ("where", str(path)))
    for name, values in results.items():
        bugs.write_header(known[name], **values)
    print(f"wrote {len(results)} records into the patches")
    return OK
