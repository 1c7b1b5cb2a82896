"""Who was busy from when to when: lanes with spans and marks, in the units of the axis."""

from . import names
from .beats import engine_load
from .stages import STORES, of_areas

THREADS = {"load_global": "global → registers", "store_global": "registers → global", "load_shared": "reads shared",
           "store_shared": "registers → shared", "atomic_global": "atomic", "atomic_shared": "atomic"}
APART = 0.001  # of two beats of the same time, in units of the axis
LEAST = 0.8  # how wide a beat is drawn that takes no time, in beats


class Lanes:
    def __init__(self, trace, stages, barrier_names, beats, changes):
        self.trace, self.stages, self.barriers, self.beats, self.changes = trace, stages, barrier_names, beats, changes
        self.copies = {e["copy"]: e for e in trace["events"] if e["e"] == "copy" and "copy" in e}
        self.by_time = trace["unit"] == "cycle"
        self.places = []  # of the beats on the axis; those of one time come one after the other
        for number, beat in enumerate(beats):
            place = beat.start if self.by_time else number + 0.5
            self.places.append(max(place, self.places[-1] + APART) if self.places else place)
        self.end = self.x(len(beats) - 1) + 1
        self.lanes, self.spans, self.marks = [], [], []
        for cta in [c["cta"] for c in trace["ctas"]]:
            self.cta(cta)

    def x(self, beat):
        return self.places[beat]

    def lane(self, cta, kind, label, rows=1, **more):
        self.lanes.append(dict(cta=cta, kind=kind, label=label, rows=rows, **more))
        return len(self.lanes) - 1

    def span(self, lane, row, first, last, kind, text, beat=None, open_end=False):
        self.spans.append({"lane": lane, "row": row, "x0": first, "x1": last, "kind": kind, "text": text,
                           "beat": beat, "open": open_end})

    def mark(self, lane, row, beat, kind, text):
        self.marks.append({"lane": lane, "row": row, "x": self.x(beat), "kind": kind, "text": text, "beat": beat})

    def events(self, cta):
        """(beat, event) of one CTA, in the order in which they are shown."""
        return [(i, e) for i, beat in enumerate(self.beats) for e in beat.events if e.get("cta") == cta]

    def cta(self, cta):
        events = self.events(cta)
        self.issuer(cta, events)
        self.engine(cta, events, "engine", "copy engine", engine_load)
        for number, stage in enumerate(self.stages):
            if stage.cta == cta:
                self.stage(number, stage)
        self.tensor(cta, events)
        self.engine(cta, events, "store", "store engine", lambda e: e["e"] == "copy" and e.get("kind") in STORES)
        self.warps(cta, events)

    def issuer(self, cta, events):
        warps = sorted({e["warp"] for _, e in events if engine_load(e)})
        if not warps:
            return
        lane = self.lane(cta, "issuer", "issuing thread", rows=len(warps), warps=warps)
        for row, warp in enumerate(warps):
            waits = {}
            for beat, e in events:
                if e.get("warp") != warp or e["e"] in ("complete_tx", "flip"):
                    continue
                if engine_load(e):
                    self.mark(lane, row, beat, "issue", f"starts copy {e['copy']}")
                elif e["e"] == "expect_tx":
                    self.mark(lane, row, beat, "expect", f"announces {names.count(e['amount'], 'byte')}")
                elif e["e"] == "wait" and "barrier" in e and self.is_empty(e["barrier"]):
                    waits[e["wait"]] = beat, e
                elif e["e"] == "pass" and e.get("wait") in waits:
                    begun, first = waits.pop(e["wait"])
                    self.span(lane, row, self.x(begun), self.x(beat), "wait", f"waits: {self.barriers[first['barrier']]}", begun)
            for begun, first in waits.values():
                self.span(lane, row, self.x(begun), self.end, "wait", f"waits: {self.barriers[first['barrier']]}", begun, True)

    def is_empty(self, barrier):
        return any(stage.empty == barrier for stage in self.stages)

    def engine(self, cta, events, kind, label, mine):
        """Copies from their issue to their end, packed into as many rows as are in flight at once."""
        open_copies, done = {}, []
        for beat, e in events:
            if mine(e):
                open_copies[e["copy"]] = beat, e
            elif e["e"] == ("land" if kind == "engine" else "done") and e.get("copy") in open_copies:
                begun, first = open_copies.pop(e["copy"])
                done.append((begun, beat, first))
        done += [(begun, None, first) for begun, first in open_copies.values()]
        if kind == "store":  # the stores of one line that start and end together are one
            together = {}
            for begun, end, first in done:
                together.setdefault((begun, end), []).append(first)
            done = [(b, e, dict(f[0], bytes=sum(x.get("bytes", 0) for x in f))) for (b, e), f in together.items()]
        if not done and kind == "store":
            return
        lane, rows = self.lane(cta, kind, label, used=bool(done)), []
        for begun, end, first in sorted(done, key=lambda d: d[0]):
            x0, x1 = self.x(begun), self.end if end is None else self.x(end)
            row = next((i for i, until in enumerate(rows) if until <= x0), len(rows))
            rows[row:row + 1] = [x1]
            target = names.tile_name(first) if kind == "engine" else names.count(first["bytes"], "byte")
            part = f" K {first['start'][0]}" if first.get("start") and kind == "engine" else ""
            self.span(lane, row, x0, x1, "copy" if kind == "engine" else "store", target + part, begun, end is None)
        self.lanes[lane]["rows"] = max(1, len(rows))

    def stage(self, number, stage):
        """From state to state; the flips of its barriers are marks."""
        lane = self.lane(stage.cta, "stage", f"stage {stage.number}", stage=number,
                         barriers=[self.barriers[b] for b in (stage.full, stage.empty) if b is not None])
        state, since = "empty", 0
        for beat, change in enumerate(self.changes):
            new = change.get(f"s{number}.state")
            if new and new != state:
                if state in ("filling", "full", "used"):
                    self.span(lane, 0, self.x(since), self.x(beat), state, state, since)
                state, since = new, beat
        if state in ("filling", "full", "used"):
            self.span(lane, 0, self.x(since), self.end, state, state, since, True)
        for beat, b in enumerate(self.beats):
            for e in b.events:
                if e["e"] == "flip" and e["barrier"] in (stage.full, stage.empty):
                    kind = "flip" if e["barrier"] == stage.full else "flip_empty"
                    self.mark(lane, 0, beat, kind, f"{self.barriers[e['barrier']]}: phase {e['completed']} is complete")

    def tensor(self, cta, events):
        """Products from issue to completion; those of a warpgroup that are in flight together are one row each."""
        running, done = {}, []
        for beat, e in events:
            if e["e"] == "product":
                running[e["product"]] = beat, e
            elif e["e"] == "product_done" and e["product"] in running:
                done.append((*running.pop(e["product"]), self.x(beat), False))
        done += [(begun, first, self.end, True) for begun, first in running.values()]
        lane, rows = self.lane(cta, "tensor", "tensor core", used=bool(done)), []
        for begun, first, x1, open_end in sorted(done, key=lambda d: d[0]):
            row = next((i for i, until in enumerate(rows) if until <= self.x(begun)), len(rows))
            rows[row:row + 1] = [x1]
            of = of_areas(self.stages, first.get("shared", []))
            text = f"stage {self.stages[of[0]].number}" if of else f"product {first['product']}"
            self.span(lane, row, self.x(begun), x1, "product", f"{text}, warps {first['warpgroup'] * 4} to {first['warpgroup'] * 4 + 3}",
                      begun, open_end)
        self.lanes[lane]["rows"] = max(1, len(rows))

    def warps(self, cta, events):
        all_warps = sorted({e["warp"] for _, e in events if "warp" in e})
        issues = {e["warp"] for _, e in events if engine_load(e)}
        multiplies = {e["warpgroup"] for _, e in events if e["e"] == "product"}
        for group in sorted({w // 4 for w in all_warps}):
            warps = [w for w in all_warps if w // 4 == group]
            roles = (["issues copies"] if issues & set(warps) else []) + (["multiplies"] if group in multiplies else [])
            lane = self.lane(cta, "warps", names.warps(warps, True), rows=len(warps), warps=warps, role=", ".join(roles))
            for row, warp in enumerate(warps):
                self.warp(lane, row, [(b, e) for b, e in events if e.get("warp") == warp
                                      and e["e"] not in ("complete_tx", "flip", "finding", "print")])

    def warp(self, lane, row, events):
        waits, bars = {}, None
        for beat, e in events:
            kind = e["e"]
            if kind == "wait":
                waits[e["wait"]] = beat, e
            elif kind == "pass" and e.get("wait") in waits:
                begun, first = waits.pop(e["wait"])
                self.waited(lane, row, begun, self.x(beat), first)
            elif kind == "bar_arrive":
                bars = beat, e
            elif kind == "bar_leave" and bars:
                self.span(lane, row, self.x(bars[0]), self.x(beat), "wait", f"waits: barrier {e.get('bar')}", bars[0])
                bars = None
            elif kind in THREADS:
                width = e.get("until", e["t"]) - e["t"] if self.by_time else LEAST
                x0 = self.x(beat) - (0 if self.by_time else LEAST / 2)
                self.span(lane, row, x0, x0 + max(width, 0), kind, THREADS[kind], beat)
            elif kind in ("fence", "registers", "arrive", "exit"):
                self.mark(lane, row, beat, kind, e.get("kind") or kind)
        for begun, first in waits.values():
            self.waited(lane, row, begun, self.end, first, True)
        if bars:
            self.span(lane, row, self.x(bars[0]), self.end, "wait", f"waits: barrier {bars[1].get('bar')}", bars[0], True)

    def waited(self, lane, row, begun, end, first, open_end=False):
        what = self.barriers[first["barrier"]] if "barrier" in first else first.get("group") or "its warp"
        self.span(lane, row, self.x(begun), end, "wait", f"waits: {what}", begun, open_end)
