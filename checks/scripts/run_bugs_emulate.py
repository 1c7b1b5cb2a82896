"""Runs a program of the corpus on the emulator and compares what came out with what its patch promises."""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from run_common import BAD_INPUT, OK, WRONG

SCHEDULES = ["in-order", "late"] + [f"random:{seed}" for seed in range(1, 11)]
LIMIT_S = 100


@dataclass
class Outcome:
    exit_code: int  # -1: stopped at the time limit
    output: str
    findings: list  # of the emulator, as dicts
    result: dict  # of the program

    @property
    def errors(self):
        return [f for f in self.findings if f["severity"] == "error"]


def load(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}


def execute(executable, arguments, schedule):
    """One run in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        findings, result = Path(folder) / "findings.json", Path(folder) / "result.json"
        environment = dict(os.environ, EMU_SCHEDULE=schedule, EMU_JSON=str(findings), EMU_TIME_LIMIT=str(LIMIT_S - 20))
        command = [str(executable)] + arguments.split()
        if arguments:  # a stand-alone program takes none
            command += ["--json", str(result)]
        try:
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=LIMIT_S)
            code, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as stopped:
            code, output = -1, (stopped.stdout or b"").decode(errors="replace")
        return Outcome(code, output, load(findings).get("findings", []), load(result))


def source_line(finding):
    """The text of the line a finding points at."""
    try:
        return Path(finding["file"]).read_text().splitlines()[finding["line"] - 1].strip()
    except (OSError, IndexError):
        return ""


def kind_of_numbers(outcome):
    """'right', or what the comparison calls the wrong numbers; a stand-alone program only says 'wrong'."""
    if not outcome.result:
        return "wrong" if ": wrong, " in outcome.output else "right" if ": right, " in outcome.output else "none"
    return outcome.result.get("classification", "none")


def describe(outcome):
    """What came out, in one line."""
    if outcome.exit_code == -1:
        return f"no end within {LIMIT_S} s"
    said = [f"{f['id']} at \"{source_line(f)}\"" for f in outcome.errors]
    if not said:
        said = [f"advice {f['id']} at \"{source_line(f)}\"" for f in outcome.findings] or ["no finding"]
        said += [f"numbers: {kind_of_numbers(outcome)}"]
    return "; ".join(said) + f"; exit code {outcome.exit_code}"


def deviation(expect, outcome):
    """'' when the outcome is what `expect` (None: a right program) asks for, else what came out."""
    errors = outcome.errors
    if expect is None:
        good = outcome.exit_code == OK and not outcome.findings
    elif expect.kind == "error":
        good = (outcome.exit_code == WRONG and len(errors) == 1
                and expect.meets(errors[0]["id"], source_line(errors[0])))
    elif expect.kind == "advice":
        good = (outcome.exit_code == OK and not errors and outcome.findings
                and all(expect.meets(f["id"], source_line(f)) for f in outcome.findings))
    elif expect.kind == "numbers":
        good = outcome.exit_code == WRONG and not errors and kind_of_numbers(outcome) == expect.text
    else:
        good = (outcome.exit_code in (WRONG, BAD_INPUT) and not errors and expect.text in outcome.output
                and outcome.result.get("verdict") in (None, "error"))
    return "" if good else describe(outcome)


def judge(executable, expect, runs):
    """[(arguments, schedule, deviation)] of every run that did not come out as it should."""
    found = []
    for arguments in runs:
        for schedule in SCHEDULES:
            if said := deviation(expect, execute(executable, arguments, schedule)):
                found.append((arguments, schedule, said))
    return found
