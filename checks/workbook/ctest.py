"""`make test`: the project's own tests, run by CTest. Every test is a process of its own with a time limit; a test that could
not run here is skipped, not passed. TESTS is a regular expression that names the tests to run."""

import difflib
import json
import os
import re
import subprocess
import xml.etree.ElementTree as xml

from workbook import bugs, build, device
from workbook.base import BUILD, OK, WRONG, Stop
from workbook.run import clean_environment


NOT_BUILT = "not built"  # stands for the cases of a doctest program that is yet to be built (checks/cases.cmake)
LESSON = ("solutions.{0}.emu", "lessons.{0}.emu", "todos.{0}.emu")


def known_tests():
    """{name: words of its command} of the tests that CTest knows now."""
    said = subprocess.run([build.tools()["CTEST"], "--test-dir", str(BUILD), "--show-only=json-v1"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout
    try:
        return {test["name"]: test.get("command", []) for test in json.loads(said)["tests"]}
    except (ValueError, KeyError):
        return {}


def expression():
    """TESTS, if it is a regular expression."""
    wanted = os.environ.get("TESTS", "")
    try:
        return re.compile(wanted)
    except re.error as problem:
        raise Stop(f"TESTS={wanted} is no regular expression", ("why", str(problem)), ("try", "TESTS='lesson\\.04'"))


def chosen(wanted, known):
    """The tests that TESTS may mean: those it names, and what stands for cases that only a program itself can list."""
    lead = re.match(r"(?:[\w ]|\\.|\.(?![*+?]))*", wanted.pattern.lstrip("^"))[0].replace("\\", "")
    close = lambda name: name.startswith(lead) or lead.startswith(name) if "." in lead else True
    return [n for n in known if wanted.search(n) or (n.endswith(NOT_BUILT) and close(n[:-len(NOT_BUILT)]))]


def targets(names, known):
    """What has to be built for these tests; nothing in particular (all) where that is not known or would be all."""
    if len(names) == len(known) or build.tools()["GENERATOR"] != "Ninja":  # only Ninja builds a file by its name
        return []
    found = set()
    for name in names:
        kind, word = (name.split(".") + [""])[:2]
        found.update(w[len(f"{BUILD}/"):] for w in known[name] if w.startswith(f"{BUILD}/") and not os.path.isdir(w))
        if kind == "lesson":
            found.update(need.format(word) for need in LESSON)
        elif kind in ("bug", "answers"):
            found.add(bugs.find(word).target)
        elif kind in ("script", "host"):
            found.add("ladder")
    return sorted(found)


def refuse(wanted, known):
    near = difflib.get_close_matches(wanted.pattern, known, 5, 0.4) or sorted({n.split(".")[0] for n in known})
    raise Stop(f"TESTS={wanted.pattern} names no test", ("try", "one of: " + ", ".join(near)))


def test():
    wanted = expression()
    choice = device.choose("emu")
    build.jobs()
    print(choice, flush=True)
    with build.locked():
        build.setup()
        if not build.is_configured():
            build.configure()
        known = known_tests()
        names = chosen(wanted, known)
        if not names:
            refuse(wanted, known)
        build.build(*(["all", "programs_gpu"] if choice.device == "gpu" else targets(names, known)))
    if not any(wanted.search(name) for name in known_tests()):
        refuse(wanted, known_tests())

    report = BUILD / "tests.xml"
    report.unlink() if report.exists() else None
    waiting = 0 if os.environ.get("JOBS") else 1  # a test that waits for a browser or a timer leaves its core to another
    command = [build.tools()["CTEST"], "--test-dir", str(BUILD), "-j", str(build.jobs() + waiting), "--output-on-failure", "--no-label-summary",
               "--no-tests=error", "--output-junit", str(report), "--test-output-size-passed", "100000",
               "--test-output-size-failed", "10000000"]
    thorough = os.environ.get("ALL") or wanted.pattern  # what is asked for by name is run
    left_out = "^gpu$" if thorough else "^(gpu|thorough)$"
    command += ["-L", "^(lesson|gpu)$"] if choice.device == "gpu" else ["-LE", left_out]
    command += ["-R", wanted.pattern] if wanted.pattern else []
    code = subprocess.run(command, env=clean_environment(**choice.environment)).returncode
    if not report.exists():
        raise Stop("CTest wrote no report", ("where", str(report)), ("why", f"ctest ended with exit code {code}"), code=WRONG)

    outcome = {"passed": [], "failed": [], "skipped": []}
    for case in xml.parse(report).getroot().iter("testcase"):
        outcome[{"run": "passed", "fail": "failed"}.get(case.get("status"), "skipped")].append(case.get("name"))
    print()
    for name in outcome["skipped"]:
        print(f"skipped: {name}")
    for name in outcome["failed"]:
        print(f"failed:  {name} (its output is above; again: make test TESTS='^{re.escape(name)}$')")
    if code != OK and not outcome["failed"]:
        outcome["failed"].append(f"ctest ended with exit code {code}")
        print(f"failed:  {outcome['failed'][0]}")
    print(", ".join(f"{len(found)} {what}" for what, found in outcome.items() if found or what != "skipped"))
    return WRONG if outcome["failed"] or not outcome["passed"] else OK
