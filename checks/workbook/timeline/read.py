"""Reads a trace and checks it, so that nothing behind has to ask whether a field is there."""

import json
from pathlib import Path

FORMAT, VERSION = "tma-workbook-trace", 1
AGAIN = "record it again: EMU_TRACE=file, and let the program end by itself"


class Malformed(Exception):
    """The file is no trace that can be shown; str() says why and what to do."""


LISTS = ("ctas", "barriers", "maps", "files", "lines", "findings", "events")
# The field that an event names a row of a list by.
REFERENCES = {"line": "lines", "barrier": "barriers", "map": "maps", "finding": "findings", "other_line": "lines"}


def read(path):
    """The trace as a dict. Raises Malformed."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise Malformed(f"{path} cannot be read: {error.strerror}; {AGAIN}") from error
    try:
        trace = json.loads(text)
    except ValueError as error:
        raise Malformed(f"{path} ends too early or is no JSON ({error}); {AGAIN}") from error
    except RecursionError as error:
        raise Malformed(f"{path} is no trace: it is nested too deeply") from error
    try:
        check(trace)
    except Malformed as error:
        raise Malformed(f"{path}: {error}; {AGAIN}") from error
    return trace


def need(condition, what):
    if not condition:
        raise Malformed(what)


def whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def check(trace):
    need(isinstance(trace, dict) and trace.get("format") == FORMAT, "it is no trace of this workbook")
    need(trace.get("version") == VERSION, f"it is of version {trace.get('version')}, and this reads version {VERSION}")
    need(trace.get("unit") in ("step", "cycle"), f"its unit is {trace.get('unit')!r}, neither step nor cycle")
    for key in ("kernel", "schedule"):
        need(isinstance(trace.get(key), str), f"it has no {key}")
    for key in LISTS:
        need(isinstance(trace.get(key), list) and all(isinstance(row, dict) for row in trace[key]),
             f"its list of {key} is missing or broken")
    for key in ("grid", "block", "cluster"):
        need(isinstance(trace.get(key), list) and len(trace[key]) == 3 and all(map(whole, trace[key])),
             f"it does not say what the {key} is")
    need(isinstance(trace.get("left_out"), dict) and isinstance(trace.get("window"), dict), "it does not say what was left out")
    for row in trace["files"]:
        need(isinstance(row.get("path"), str) and isinstance(row.get("lines"), list)
             and all(isinstance(line, list) and len(line) == 2 and whole(line[0]) and isinstance(line[1], str)
                     for line in row["lines"]), "the text of a file is broken")
    for row in trace["lines"]:
        need(whole(row.get("line")) and whole(row.get("file")) and row["file"] < len(trace["files"]), "a source line is broken")
    for row in trace["barriers"]:
        need(whole(row.get("cta")) and whole(row.get("address")) and isinstance(row.get("name"), str), "a barrier is broken")
    for row in trace["findings"]:
        need(all(isinstance(row.get(key), str) for key in ("id", "title", "severity")), "a finding is broken")
    need(trace["events"], "it has no events: nothing of the window was executed")
    for number, event in enumerate(trace["events"]):
        need(whole(event.get("t")) and isinstance(event.get("e"), str), f"event {number} is broken")
        for key, rows in REFERENCES.items():
            if key in event and event[key] != -1:
                need(whole(event[key]) and 0 <= event[key] < len(trace[rows]), f"event {number} names {key} {event[key]!r}, "
                     "which is not there")
        for key in ("cta", "warp", "lanes", "copy", "product", "wait", "bytes", "pending", "phase", "count", "amount"):
            need(key not in event or whole(event[key]), f"event {number}: {key} is no number")
        need(all(isinstance(event.get(key, ""), str) for key in ("kind", "place", "a", "b", "group", "for", "text")),
             f"event {number}: a text is none")
        need(isinstance(event.get("shared", []), list)
             and all(isinstance(r, list) and len(r) == 3 and all(map(whole, r)) for r in event.get("shared", [])),
             f"event {number}: its range of shared memory is broken")
