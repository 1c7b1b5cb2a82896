"""Beats: what happened, cut into the moments that a person steps through.

A beat is one event of an engine or a barrier, or one thing that several warps do alike. An operation that changes a counter and
what follows from it at once (bytes land, the counter falls, the phase flips) is one beat. Warps that do the same thing between
two events of the engines are one beat, as far as the order of each warp's own events allows.
"""

# Events that change the picture for everybody. What warps do alike joins only what came after the last of these.
WALLS = {"copy", "land", "complete_tx", "flip", "product_done", "finding", "print"}
# Waiters that go on: they could as soon as the first of them did, so they join it whatever came in between.
TOGETHER = {"pass", "bar_leave"}
QUIET = {"cta_begin", "cta_end"}
# What an engine does, though it names the warp that asked for it.
ENGINES = {"complete_tx", "flip", "land", "read", "done", "product_done", "finding"}


def engine_load(event):
    return event["e"] == "copy" and event.get("kind") in ("tensor_load", "bulk_load", "bulk_shared")


def actor(event):
    """Whose events keep their order: a warp's, and those of what an engine does for one copy."""
    if event["e"] not in ENGINES:
        return event.get("cta"), event.get("warp")
    return (event["e"], event["copy"]) if "copy" in event else None


class Beat:
    def __init__(self, event, number, key):
        self.events, self.numbers, self.key = [event], [number], key
        self.actors = {actor(event)}
        self.start = event["t"]

    def add(self, event, number):
        self.events.append(event)
        self.numbers.append(number)
        self.actors.add(actor(event))

    def first(self, *kinds):
        return next((e for e in self.events if e["e"] in kinds), None)


def quiet_waits(trace):
    """Waits that end and are no part of the story: of lanes for the rest of their warp."""
    ended = {e["wait"] for e in trace["events"] if e["e"] == "pass" and "wait" in e}
    return {e["wait"] for e in trace["events"] if e["e"] == "wait" and e.get("wait") in ended
            and "barrier" not in e and "group" not in e}


def is_quiet(event, waits):
    kind = event["e"]
    if kind == "fence" or kind == "commit":
        return "wgmma" in (event.get("kind") or event.get("group") or "")
    if kind in ("wait", "pass") and "barrier" not in event:  # a group that needs no waiting is quiet, too
        return event.get("wait") in waits or (kind == "pass" and "wait" not in event)
    return kind in QUIET


def key_of(event, copies):
    """Events of different warps with the same key are one beat; None: an event by itself."""
    kind = event["e"]
    if kind == "copy":
        return None if engine_load(event) else (kind, event.get("cta"), event.get("line"), event.get("kind"))
    if kind in ("land", "read", "done"):
        copy = copies.get(event.get("copy"), {})
        return None if engine_load(copy) else ("land" if kind == "done" else kind, event.get("cta"), copy.get("line"))
    if kind in ("flip", "complete_tx", "product", "product_done", "finding", "print", "expect_tx"):
        return None
    what = tuple(event.get(k) for k in ("cta", "line", "barrier", "phase", "bar", "generation", "group", "registers"))
    return (kind,) + (what[:1] if kind == "init" else what[:3] if kind == "arrive" else what)


def continues(beat, event):
    """The event follows at once from the last one of the beat."""
    last = beat.events[-1]
    if event["e"] == "flip":
        return last.get("barrier") == event["barrier"] and last["e"] in ("arrive", "complete_tx", "expect_tx", "flip")
    if event["e"] == "complete_tx":
        return last["e"] in ("land", "complete_tx", "flip") and any(
            e.get("copy") == event.get("copy") for e in beat.events if e["e"] == "land")
    if event["e"] == "arrive":
        return last["e"] == "expect_tx" and all(last.get(k) == event.get(k) for k in ("cta", "warp", "line", "barrier"))
    return False


def place(event, candidates, wall, actor, last, found, same_time):
    """The first beat that an event may join; -1: none. last: the beat of what its warp, or its copy, did before."""
    for at in candidates:
        beat = found[at]
        if at < last or (at <= wall and event["e"] not in TOGETHER) or (same_time and beat.start != event["t"]):
            continue
        if actor not in beat.actors or at == last:
            return at
    return -1


def beats(trace):
    """The beats of a trace, in order."""
    copies = {e["copy"]: e for e in trace["events"] if e["e"] == "copy" and "copy" in e}
    waits = quiet_waits(trace)
    same_time = trace["unit"] == "cycle"  # under a schedule that knows time only what happens at one time is one beat
    found, with_key, last_of, copy_at, wall, previous = [], {}, {}, {}, -1, -1
    for number, event in enumerate(trace["events"]):
        if is_quiet(event, waits):
            continue
        who = actor(event)
        if previous >= 0 and continues(found[previous], event):
            at, key = previous, None
        else:
            key = key_of(event, copies)
            last = max(last_of.get(who, -1), copy_at.get(event.get("copy"), -1))
            at = place(event, with_key.get(key, ()), wall, who, last, found, same_time) if key else -1
        if at >= 0:
            found[at].add(event, number)
        else:
            at = len(found)
            found.append(Beat(event, number, key))
            if key:
                with_key.setdefault(key, []).append(at)
        if event["e"] == "flip" or (event["e"] in WALLS and key is None):
            wall = max(wall, at)
        last_of[who] = max(last_of.get(who, -1), at) if who else -1
        if "copy" in event:
            copy_at[event["copy"]] = max(copy_at.get(event["copy"], -1), at)
        previous = at
    return found
