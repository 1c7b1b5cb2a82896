"""Runs the project's tests with CTest and counts them.

Every test is a process of its own with a time limit, and so is every case of a doctest executable. The last line
is 'N passed, N failed' or 'N passed, N failed, N skipped'.
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


def count(status):
    """(passed, failed, skipped) of one CTest test with its status ('run', 'fail', 'notrun')."""
    return {"run": (1, 0, 0), "fail": (0, 1, 0)}.get(status, (0, 0, 1))


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
        counted = count(case.get("status"))
        total = [a + b for a, b in zip(total, counted)]
        if counted[1]:
            failures.append(case.get("name"))
        if counted[2]:
            skips.append(case.get("name"))
    print()
    for name in skips:
        print(f"skipped: {name}")
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
