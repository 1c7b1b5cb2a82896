"""A run as the page and the figure take it: made of a trace, with nothing left to decide."""

from . import names
from .beats import beats
from .changes import Changes
from .lanes import Lanes
from .questions import questions
from .read import AGAIN, Malformed, read
from .stages import find
from .words import Words


def left_out(trace):
    """What the window does not show, in sentences."""
    out, left = [], trace["left_out"]
    if left.get("ctas"):
        out.append(f"{left['ctas']:,} other CTAs (EMU_TRACE_CTAS=FIRST-LAST records them)")
    if left.get("events_in_other_steps"):
        first, last = trace["window"].get("steps", ["?", "?"])
        out.append(f"{left['events_in_other_steps']:,} events outside the K steps {first} to {last} (EMU_TRACE_STEPS=FIRST-LAST)")
    if left.get("events_beyond_the_limit"):
        out.append(f"{left['events_beyond_the_limit']:,} events beyond the first {trace['window'].get('events', 0):,} (EMU_TRACE_EVENTS)")
    if left.get("launches"):
        out.append(f"{left['launches']:,} other launches (EMU_TRACE_LAUNCH=NUMBER)")
    return out


def sides(trace, all_beats, finding_beat, event):
    """The beats of the two lines that a finding names: what it happened at, and what it conflicts with."""
    def latest(line):
        if line is None or line < 0:
            return None
        place = trace["lines"][line]["file"], trace["lines"][line]["line"]
        for i in range(finding_beat - 1, -1, -1):
            for e in all_beats[i].events:
                at = e.get("line", -1)
                if at >= 0 and event.get("cta") in (None, e.get("cta")) and place == (
                        trace["lines"][at]["file"], trace["lines"][at]["line"]):
                    return i
        return None
    return latest(event.get("line")), latest(event.get("other_line"))


def findings(trace, all_beats):
    out = []
    for i, beat in enumerate(all_beats):
        for event in beat.events:
            if event["e"] == "finding":
                at, other = sides(trace, all_beats, i, event)
                out.append(dict(trace["findings"][event["finding"]], beat=i, at=at, other=other, line=event.get("line", -1),
                                other_line=event.get("other_line", -1)))
    return out


def source_lines(beat, copies):
    """The lines behind a beat; what an engine does is at the line that asked for it."""
    lines = [e.get("line", copies.get(e.get("copy"), {}).get("line", -1)) for e in beat.events]
    return sorted({line for line in lines if line >= 0})


def tile(trace, row):
    """A tile as the inspector draws it: rows of 16-byte chunks."""
    of_map = trace["maps"][row["map"]] if row["map"] is not None else None
    swizzle = row["swizzle"]
    width = of_map["row_bytes"] if of_map else swizzle or 128
    return {"name": row["name"], "address": row["range"][1], "bytes": row["range"][2], "swizzle": swizzle, "row_bytes": width,
            "rows": row["range"][2] // max(width, 1), "type": of_map["type"].lower() if of_map else "",
            "box": of_map["box"] if of_map else []}


def view(trace, title):
    names.without_blocks(trace)
    barrier_names, stages = [b["name"] for b in trace["barriers"]], find(trace)
    all_beats = beats(trace)
    changes = Changes(trace, stages, barrier_names)
    sets = [changes.beat(beat) for beat in all_beats]
    words = Words(trace, barrier_names)
    texts = [words.text(beat) for beat in all_beats]
    copies = {e["copy"]: e for e in trace["events"] if e["e"] == "copy" and "copy" in e}
    lanes = Lanes(trace, stages, barrier_names, all_beats, sets)
    return {
        "title": title, "kernel": trace["kernel"], "schedule": trace["schedule"], "unit": trace["unit"],
        "grid": trace["grid"], "block": trace["block"], "cluster": trace["cluster"], "left_out": left_out(trace),
        "fault": bool(trace.get("fault")), "end": lanes.end,
        "ctas": [{"cta": c["cta"], "index": c.get("index", [])} for c in trace["ctas"]],
        "barriers": [{"name": n, "cta": b["cta"]} for n, b in zip(barrier_names, trace["barriers"])],
        "stages": [{"cta": s.cta, "number": s.number, "full": s.full, "empty": s.empty,
                    "tiles": [tile(trace, t) for t in s.tiles]} for s in stages],
        "beats": [{"x": lanes.x(i), "t": b.start, "e": b.events[0]["e"], "cta": b.events[0].get("cta", -1), "text": texts[i],
                   "lines": source_lines(b, copies), "set": sets[i],
                   "flips": [e["barrier"] for e in b.events if e["e"] == "flip"]} for i, b in enumerate(all_beats)],
        "lanes": lanes.lanes, "spans": lanes.spans, "marks": lanes.marks,
        "findings": findings(trace, all_beats), "questions": questions(all_beats, barrier_names, texts),
        "files": [{"path": f["path"], "lines": f["lines"]} for f in trace["files"]],
        "lines": [{"file": r["file"], "line": r["line"], "instruction": r.get("instruction", "")} for r in trace["lines"]],
    }


def load(path, title):
    """The view of a trace file. Raises Malformed, also where every field can be read and they contradict each other."""
    trace = read(path)
    try:
        return view(trace, title)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise Malformed(f"{path}: its events contradict each other ({error!r}); {AGAIN}") from error
