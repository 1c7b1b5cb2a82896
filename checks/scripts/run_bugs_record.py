"""Measures the corpus of bugs on a Hopper GPU: what the hardware shows, and what compute-sanitizer says.

  run_bugs.py record [--jobs N] [--at-once N] [--processes N] [--limit S] [--tools LIST|none] [--out FILE] [FILTER...]
  run_bugs.py merge FILE

record compiles the programs that FILTER names (all of them without one) for the GPU, --jobs at a time, then runs each
bug --processes times in processes of their own, with a large problem and with the small one of the patch, and once
under each tool of compute-sanitizer (memcheck,racecheck,synccheck,initcheck) where it is installed; --at-once bugs
share the GPU. What it saw is written to FILE (BUILD/bugs/record.json) after every bug, so that a record cut short is
not lost; merge writes it into the patches.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import run_bugs_corpus as corpus
from run_bugs_build import BuildError, build
from run_common import BAD_INPUT, BUILD, OK, WRONG, die

TOOLS = "memcheck,racecheck,synccheck,initcheck"
# The first thing a tool says, without the address.
FIRST_LINE = re.compile(r"^========= ((?!COMPUTE-SANITIZER|Internal|ERROR SUMMARY|RACECHECK).{4,90}?)"
                        r"(?: at | by | of size |$)", re.M)
LARGE = "--m 2040 --n 2040 --k 4168"  # ragged, and long enough for every race to have its chance


def options(arguments):
    chosen = {"jobs": 4, "at-once": 4, "processes": 5, "limit": 20, "tools": TOOLS,
              "out": str(BUILD / "bugs" / "record.json")}
    wanted, at = [], 0
    while at < len(arguments):
        name = arguments[at].removeprefix("--")
        if not arguments[at].startswith("--"):
            wanted.append(arguments[at])
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
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit_s)
            code, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as stopped:
            code, output = -1, (stopped.stdout or b"").decode(errors="replace")
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


def count(executable, arguments, chosen):
    """'correct (5 of 5 runs)', or several such. A bug that hangs is not run again and again."""
    seen = Counter()
    for _ in range(chosen["processes"]):
        seen[name_outcome(*run_once([str(executable)] + arguments.split(), chosen["limit"]))] += 1
        if seen["hang"] == 2:
            break
    runs = sum(seen.values())
    return ", ".join(f"{what} ({times} of {runs} runs)" for what, times in seen.most_common())


def sanitize(executable, arguments, chosen):
    """What each tool says first, silent tools together; '' where the tools are not installed."""
    binary = shutil.which("compute-sanitizer")
    if chosen["tools"] == "none" or not binary:
        return ""
    said, silent = [], []
    for tool in chosen["tools"].split(","):
        command = [binary, "--tool", tool, str(executable)] + arguments.split()
        code, output, _ = run_once(command, 3 * chosen["limit"])
        summary = re.search(r"(?:ERROR SUMMARY: |RACECHECK SUMMARY: )(\d+)", output)
        first = FIRST_LINE.search(output)
        if code == -1:
            said.append(f"{tool}: no end")
        elif summary and summary[1] == "0":
            silent.append(tool)
        else:
            said.append(f"{tool}: {first[1].strip() if first else 'ended with an error'}")
    if silent:
        said.append(", ".join(silent) + ": silent" if said else "all silent")
    return "; ".join(said)


def measure(bug, executable, chosen):
    small = count(executable, bug.run, chosen)
    values = {"h200": small}
    if bug.run:  # a stand-alone program has one size
        option = re.search(r"--(bulk|tile \S+|stages \S+)", bug.run)
        large = count(executable, LARGE + (f" {option[0]}" if option else ""), chosen)
        values["h200"] = small if large == small else f"{large}; small problem: {small}"
    if text := sanitize(executable, bug.run, chosen):
        values["sanitizer"] = text
    return values


def record(arguments):
    os.environ["DEVICE"] = "gpu"  # there is nothing to record without one
    from run_device import choose
    choice = choose()
    chosen, wanted = options(arguments)
    os.environ.update(choice.environment)
    everything = [b for p in corpus.programs() for b in corpus.bugs(p)]
    chosen_bugs = [b for b in everything if not wanted
                   or any(f"{b.program.label}/{b.name}".startswith(w) for w in wanted)]
    if not chosen_bugs:
        die("no bug has such a name", f"where {' '.join(wanted)}", "try   run_bugs.py list")

    def compile_one(bug):
        try:
            return build(bug.program, bug, "gpu")
        except BuildError as problem:
            print(f"{bug.program.label}/{bug.name} does not compile:\n{problem}", flush=True)
            return None

    started = time.time()
    with ThreadPoolExecutor(chosen["jobs"]) as pool:
        executables = list(pool.map(compile_one, chosen_bugs))
    print(f"compiled {len(chosen_bugs)} programs in {time.time() - started:.0f} s for {choice.name}", flush=True)
    out, results = Path(chosen["out"]), {}
    tasks = [(bug, executable) for bug, executable in zip(chosen_bugs, executables) if executable]
    with ThreadPoolExecutor(chosen["at-once"]) as pool:
        for (bug, _), values in zip(tasks, pool.map(lambda task: measure(*task, chosen), tasks)):
            results[f"{bug.program.name}/{bug.name}"] = values
            print(f"  {bug.program.label}/{bug.name}: " + "; ".join(values.values()), flush=True)
            out.write_text(json.dumps(results, indent=1) + "\n")
    print(f"wrote {out}; `run_bugs.py merge {out}` takes it into the patches")
    return OK if all(executables) else WRONG


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
