"""Runs the project's tests with CTest and counts test cases.

Every test is a process of its own with a time limit. A doctest executable counts as many cases as it has, any
other test as one. The last line is 'N passed, N failed' or 'N passed, N failed, N skipped'.
Environment: DEVICE (emu), JOBS, TESTS (a regular expression that names the tests to run).
Exit: 0 if tests ran and none failed, 1 if not, 2 for bad input.
"""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

from run_common import BUILD, die, tools
from run_device import choose

SUMMARY = re.compile(r"^\[doctest\] test cases: *(\d+) *\| *(\d+) passed *\| *(\d+) failed *\| *(\d+) skipped", re.M)
NOTE = re.compile(r"^.*\bSKIPPED: .*$", re.M)  # a case that could not run here says so on a line of its own


def count(status, output):
    """(passed, failed, skipped) of one CTest test with its status ('run', 'fail', 'notrun') and output."""
    output = re.sub(r"\x1b\[[0-9;]*m", "", output)
    summary = SUMMARY.findall(output)
    if status not in ("run", "fail"):
        return 0, 0, 1
    if not summary:
        return (1, 0, 0) if status == "run" else (0, 1, 0)
    _, passed, failed, skipped = (sum(int(s[i]) for s in summary) for i in range(4))
    noted = min(passed, len(NOTE.findall(output)))
    if status == "fail" and failed == 0:
        failed = 1  # it ended badly after its last case: crash, sanitizer, time limit
    return passed - noted, failed, skipped + noted


def main():
    choice = choose(default="emu")
    report = BUILD / "tests.xml"
    report.unlink(missing_ok=True)
    command = [tools()["CTEST"], "--test-dir", str(BUILD), "-j", os.environ.get("JOBS") or "2", "--output-on-failure",
               "--no-label-summary", "--no-tests=error", "--output-junit", str(report),
               "--test-output-size-passed", "10000000", "--test-output-size-failed", "10000000"]
    command += ["-L", "^(lesson|gpu)$"] if choice.device == "gpu" else ["-LE", "^gpu$"]
    if os.environ.get("TESTS"):
        command += ["-R", os.environ["TESTS"]]
    code = subprocess.run(command, env=dict(os.environ, **choice.environment)).returncode
    if not report.exists():
        die("CTest wrote no report", f"where {report}", f"why   ctest ended with exit code {code}", code=1)

    total, failures, skips = [0, 0, 0], [], []
    for case in xml.parse(report).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        counted = count(case.get("status"), output)
        total = [a + b for a, b in zip(total, counted)]
        if counted[1]:
            failures.append(case.get("name"))
        if counted[2]:
            skips.append((case.get("name"), counted[2]))
    print()
    for name, number in skips:
        print(f"skipped: {number} of {name}")
    for name in failures:
        print(f"failed:  {name} (its output is above; again: make test TESTS='^{re.escape(name)}$')")
    if code != 0 and total[1] == 0:
        print(f"failed:  ctest ended with exit code {code}")
        total[1] = 1
    line = f"{total[0]} passed, {total[1]} failed"
    print(line + (f", {total[2]} skipped" if total[2] else ""))
    return 0 if total[1] == 0 and total[0] > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
