"""Measures the corpus of bugs on a Hopper GPU: what the hardware shows, and what compute-sanitizer says.

  run_bugs.py record [--missing] [--jobs N] [--at-once N] [--alone N] [--processes N] [--limit S] [--hangs N]
                     [--tools LIST|none] [--tool-limit S] [--seconds S] [--out FILE] [FILTER...]
  run_bugs.py merge FILE

record compiles the programs that FILTER names (all of them without one) for the GPU, --jobs at a time, then runs each
bug --processes times in processes of their own, with a large problem and with the small one of the patch, none longer
than --limit; --at-once bugs share the GPU. A kernel that hangs takes time from those beside it, so a bug with a process
that did not end is run again later, --alone at once, and only that counts; after --hangs processes that do not end no
more are started. Then each bug runs once under each tool of compute-sanitizer (memcheck,racecheck,synccheck,initcheck),
none longer than --tool-limit, where the tools are installed; bugs that hang come last, for they take longest.
With --missing it measures only what the patches do not say yet. After --seconds it starts nothing more.
What it saw is written to FILE (BUILD/bugs/record.json) after every bug, so that a record cut short is not lost; merge
writes it into the patches.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import run_bugs_corpus as corpus
from run_bugs_build import BuildError, build
from run_common import BAD_INPUT, BUILD, OK, WRONG, die

TOOLS = "memcheck,racecheck,synccheck,initcheck"
# The first thing a tool says, without the address.
FIRST_LINE = re.compile(r"^========= ((?!COMPUTE-SANITIZER|Internal|ERROR SUMMARY|RACECHECK).{4,90}?)"
                        r"(?: at | by | of size |$)", re.M)
SUSPECT = "did not end among others"
LARGE = "--m 2040 --n 2040 --k 4168"  # ragged, and long enough for every race to have its chance


def options(arguments):
    chosen = {"jobs": 4, "at-once": 4, "alone": 1, "processes": 5, "limit": 20, "hangs": 2, "tools": TOOLS,
              "tool-limit": 60, "seconds": 86400, "out": str(BUILD / "bugs" / "record.json"), "missing": False}
    wanted, at = [], 0
    while at < len(arguments):
        name = arguments[at].removeprefix("--")
        if not arguments[at].startswith("--"):
            wanted.append(arguments[at])
            at += 1
        elif name == "missing":
            chosen[name] = True
            at += 1
        elif name in chosen and at + 1 < len(arguments):
            chosen[name] = type(chosen[name])(arguments[at + 1])
            at += 2
        else:
            die(f"record does not know '{arguments[at]}'", "try   " + ", ".join("--" + c for c in chosen))
    return chosen, wanted


def run_once(command, limit_s):
    """(exit code or -1 for no end, output, the program's JSON)."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        if "--m" in command:
            command = command + ["--repeat", "1", "--json", str(result)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace", start_new_session=True)
        try:
            output, _ = process.communicate(timeout=limit_s)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # a tool of compute-sanitizer starts the program as its child
            output, _ = process.communicate()
            code = -1
        try:
            return code, output, json.loads(result.read_text())
        except (OSError, ValueError):
            return code, output, {}


def name_outcome(code, output, result):
    """One of correct, wrong numbers, launch failure, hang, refused."""
    if code == -1:
        return "hang"
    if code == OK:
        return "correct"
    if code == BAD_INPUT and not result.get("verdict"):
        return "refused"
    if result.get("verdict") == "wrong" or (not result and "wrong" in output):
        return "wrong numbers"
    return "launch failure"


def count(executable, arguments, chosen, hangs):
    """'correct (5 of 5 runs)', or several such. After that many hangs nothing more is run."""
    seen = Counter()
    for _ in range(chosen["processes"]):
        seen[name_outcome(*run_once([str(executable)] + arguments.split(), chosen["limit"]))] += 1
        if seen["hang"] == hangs:
            break
    runs = sum(seen.values())
    return ", ".join(f"{what} ({times} of {runs} runs)" for what, times in seen.most_common())


def sanitize(bug, executable, chosen):
    """What each tool says first, silent tools together."""
    said, silent = [], []
    for tool in chosen["tools"].split(","):
        command = [shutil.which("compute-sanitizer"), "--tool", tool, str(executable)] + bug.run.split()
        code, output, _ = run_once(command, chosen["tool-limit"])
        summary = re.search(r"(?:ERROR SUMMARY: |RACECHECK SUMMARY: )(\d+)", output)
        first = FIRST_LINE.search(output)
        if code == -1:
            said.append(f"{tool}: {first[1].strip()}, then no end" if first else f"{tool}: no end")
        elif summary and summary[1] == "0":
            silent.append(tool)
        else:
            said.append(f"{tool}: {first[1].strip() if first else 'ended with an error'}")
    if silent:
        said.append(", ".join(silent) + ": silent" if said else "all silent")
    return "; ".join(said)


def observe(bug, executable, chosen, hangs):
    """What the hardware shows, as in the header of a patch."""
    small = count(executable, bug.run, chosen, hangs)
    if not bug.run:  # a stand-alone program has one size
        return small
    options = re.sub(r"--[mnk] \d+ ?", "", bug.run)
    large = count(executable, f"{LARGE} {options}".strip(), chosen, hangs)
    return small if large == small else f"{large}; small problem: {small}"


def observe_in_company(bug, executable, chosen):
    """As observe; SUSPECT where a process did not end, for which those beside it may be to blame."""
    seen = observe(bug, executable, chosen, 1)
    return SUSPECT if "hang" in seen else seen


def observe_alone(bug, executable, chosen):
    return observe(bug, executable, chosen, chosen["hangs"])


def plan(bugs, chosen):
    """{bug's label: (bug, the keys of its header to measure)}, of the bugs with any."""
    keys = ["h200"]
    if chosen["tools"] == "none":
        pass
    elif shutil.which("compute-sanitizer"):
        keys.append("sanitizer")
    else:
        print("compute-sanitizer is not installed: the record goes without it", flush=True)
    wanted = {f"{b.program.label}/{b.name}":
              (b, [k for k in keys if not chosen["missing"] or b.header[k] == corpus.NOT_MEASURED]) for b in bugs}
    return {label: (bug, parts) for label, (bug, parts) in wanted.items() if parts}


def record(arguments):
    os.environ["DEVICE"] = "gpu"  # there is nothing to record without one
    from run_device import choose
    choice = choose()
    chosen, wanted = options(arguments)
    os.environ.update(choice.environment)
    started = time.time()
    found = [b for p in corpus.programs() for b in corpus.bugs(p) if not wanted
             or any(f"{p.label}/{b.name}".startswith(w) for w in wanted)]
    if not found:
        die("no bug has such a name", f"where {' '.join(wanted)}", "try   run_bugs.py list")
    tasks = plan(found, chosen)

    def compile_one(label):
        try:
            return build(tasks[label][0].program, tasks[label][0], "gpu")
        except BuildError as problem:
            print(f"{label} does not compile:\n{problem}", flush=True)
            return None

    with ThreadPoolExecutor(chosen["jobs"]) as pool:
        executables = dict(zip(tasks, pool.map(compile_one, tasks)))
    print(f"compiled {len(tasks)} programs in {time.time() - started:.0f} s for {choice.name}", flush=True)
    out, results, left = Path(chosen["out"]), {}, Counter()

    def measure(label, measured):
        if time.time() - started > chosen["seconds"]:
            return None
        return measured(tasks[label][0], executables[label], chosen)

    def measure_all(labels, key, measured, at_once):
        """Writes the results down as they come; returns the labels of suspects."""
        suspects = []
        with ThreadPoolExecutor(at_once) as pool:
            running = {pool.submit(measure, label, measured): label for label in labels}
            for done in as_completed(running):
                label, seen = running[done], done.result()
                if seen == SUSPECT:
                    suspects.append(label)
                elif seen is None:
                    left[key] += 1
                else:
                    print(f"  {time.time() - started:4.0f} s  {label}: {seen}", flush=True)
                    bug = tasks[label][0]
                    results.setdefault(f"{bug.program.name}/{bug.name}", {})[key] = seen
                    out.write_text(json.dumps(results, indent=1) + "\n")
        return suspects

    def hangs(label):
        bug = tasks[label][0]
        return "hang" in results.get(f"{bug.program.name}/{bug.name}", {}).get("h200", bug.header["h200"])

    labels = {key: [label for label in tasks if key in tasks[label][1] and executables[label]]
              for key in ("h200", "sanitizer")}
    suspects = measure_all(labels["h200"], "h200", observe_in_company, chosen["at-once"])
    measure_all(suspects, "h200", observe_alone, chosen["alone"])
    measure_all(sorted(labels["sanitizer"], key=hangs), "sanitizer", sanitize, chosen["at-once"])
    for key, bugs in left.items():
        print(f"{key} of {bugs} bugs was not measured in {chosen['seconds']} s; --missing takes them up after a merge")
    print(f"wrote {out}; `run_bugs.py merge {out}` takes it into the patches")
    return OK if all(executables.values()) and not left else WRONG


def merge(path):
    results = json.loads(Path(path).read_text())
    known = {f"{b.program.name}/{b.name}": b for p in corpus.programs() for b in corpus.bugs(p)}
    for name, values in results.items():
        if name not in known:
            die(f"the record has a bug '{name}' that the corpus has not", f"where {path}")
        corpus.write_header(known[name], **values)
    print(f"wrote {len(results)} records into the patches; `run_bugs.py readme` renews the table")
    return OK


def main(command, arguments):
    if command == "record":
        return record(arguments)
    if len(arguments) != 1:
        die("merge takes one file", "try   run_bugs.py merge build/bugs/record.json")
    return merge(arguments[0])
