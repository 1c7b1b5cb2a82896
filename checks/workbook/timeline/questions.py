"""What the page asks: of these moments, at which does the phase flip?"""

MOST = 12  # questions of one run
MOMENTS = 6  # to choose from, the right one among them


def touches(event, barrier):
    return event.get("barrier") == barrier and event["e"] in ("expect_tx", "arrive", "complete_tx", "copy")


def state_after(beat, barrier):
    """(arrivals, bytes) that are pending after the beat; None where it does not change them."""
    for event in reversed(beat.events):
        if event.get("barrier") == barrier and "pending" in event:
            return event["pending"], event["bytes"]
    return None


def why_not(pending, waiting):
    parts = []
    if pending:
        parts.append(f"{pending:,} arrival{'s' if pending != 1 else ''}")
    if waiting:
        parts.append(f"{waiting:,} bytes")
    return "Not yet: " + " and ".join(parts or ["the phase's last operation"]) + " still to come."


def questions(beats, barrier_names, words):
    found, begun = [], {}
    for at, beat in enumerate(beats):
        for event in beat.events:
            if event["e"] == "init":
                begun[event["barrier"]] = at
            if event["e"] != "flip" or event["barrier"] not in begun or len(found) == MOST:
                continue
            barrier, start = event["barrier"], begun[event["barrier"]]
            begun[barrier] = at
            moments = [i for i in range(start + 1, at + 1) if any(touches(e, barrier) for e in beats[i].events)]
            later = next((i for i in range(at + 1, len(beats)) if beats[i].events[0]["e"] in ("pass", "product")), None)
            if len(moments) < 2 or later is None:
                continue
            moments = moments[-(MOMENTS - 1):] + [later]
            state, options = None, []
            for i in moments:
                state = state_after(beats[i], barrier) or state
                why = "Right." if i == at else f"Too late: {words[at]}" if i > at else why_not(*(state or (0, 0)))
                options.append({"beat": i, "label": words[i].split(": ")[0].rstrip("."), "why": why})
            found.append({"barrier": barrier, "name": barrier_names[barrier], "phase": event["completed"],
                          "from": max(moments[0] - 1, 0), "answer": at, "options": options})
    return found
