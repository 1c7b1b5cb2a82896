"""What each beat changes in the picture: a dict of keys and values. The state at a beat is all changes up to it, one after the
other, so the page can show any moment by itself.

  b<i>.pending .expected .bytes .announced .phase      the counters of barrier i
  s<i>.state                                           of stage i: empty, filling, full, used or read
  s<i>.<j>                                             bytes that have landed of its tile j
  s<i>.what                                            which part of the matrices is in it
  engine<cta> tensor<cta> store<cta>                   what the engine is busy with: a list
  w<cta>.<warp>                                        what the warp is doing
"""

from . import names
from .stages import LOADS, STORES, of_areas

DOES = {"load_global": "reads global memory", "store_global": "writes global memory", "load_shared": "reads shared memory",
        "store_shared": "writes shared memory", "atomic_global": "updates global memory", "atomic_shared": "updates shared memory",
        "fence": "fences", "arrive": "arrives", "expect_tx": "announces bytes", "copy": "starts copies", "product": "multiplies",
        "pass": "goes on", "bar_leave": "goes on", "commit": "closes a group", "init": "initialises barriers", "exit": "has left"}


class Changes:
    def __init__(self, trace, stages, barrier_names):
        self.trace, self.stages, self.barriers = trace, stages, barrier_names
        self.copies = {e["copy"]: e for e in trace["events"] if e["e"] == "copy" and "copy" in e}
        self.announced, self.landed, self.state = {}, {}, {}
        self.busy = {}          # engine's key: {id: text}
        self.reading = {}       # product: its stages
        self.out = {}

    def beat(self, beat):
        self.out = {}
        for event in beat.events:
            handle = getattr(self, "on_" + event["e"], None)
            if handle:
                handle(event)
            if "warp" in event and event["e"] in DOES:
                self.out[f"w{event['cta']}.{event['warp']}"] = DOES[event["e"]]
        return self.out

    # ---- barriers
    def counters(self, event):
        key = f"b{event['barrier']}"
        self.out[key + ".pending"], self.out[key + ".bytes"] = event["pending"], event["bytes"]
        self.out[key + ".phase"] = event["phase"]

    def on_init(self, event):
        self.counters(event)
        self.out[f"b{event['barrier']}.expected"] = event["count"]
        self.out[f"b{event['barrier']}.announced"] = 0

    def on_expect_tx(self, event):
        self.counters(event)
        total = self.announced[event["barrier"]] = self.announced.get(event["barrier"], 0) + event["amount"]
        self.out[f"b{event['barrier']}.announced"] = total

    def on_arrive(self, event):
        self.counters(event)

    def on_complete_tx(self, event):
        self.counters(event)

    def on_flip(self, event):
        self.counters(event)
        self.announced[event["barrier"]] = self.out[f"b{event['barrier']}.announced"] = 0
        self.out[f"b{event['barrier']}.expected"] = event["pending"]
        for number, stage in enumerate(self.stages):
            if stage.full == event["barrier"] and self.state.get(number) == "filling":
                self.set_stage(number, "full")
            elif stage.empty == event["barrier"]:
                self.set_stage(number, "empty")

    # ---- stages
    def set_stage(self, number, state):
        self.state[number] = self.out[f"s{number}.state"] = state

    def fill(self, areas, add):
        """The bytes of these ranges begin to come (add: False), or are there."""
        for number in of_areas(self.stages, areas):
            if self.state.get(number) != "filling":
                self.set_stage(number, "filling")
                for j in range(len(self.stages[number].tiles)):
                    self.landed[number, j] = self.out[f"s{number}.{j}"] = 0
            for j, tile in enumerate(self.stages[number].tiles):
                cta, start, size = tile["range"]
                come = sum(max(0, min(start + size, a + n) - max(start, a)) for c, a, n in areas if c == cta)
                if add and come:
                    self.landed[number, j] = self.out[f"s{number}.{j}"] = min(size, self.landed.get((number, j), 0) + come)
            all_there = all(self.landed.get((number, j), 0) >= tile["range"][2] for j, tile in enumerate(self.stages[number].tiles))
            if all_there and self.stages[number].full is None:
                self.set_stage(number, "full")

    def on_store_shared(self, event):
        self.fill(event.get("shared", []), True)

    def on_load_shared(self, event):
        for number in of_areas(self.stages, event.get("shared", [])):
            self.set_stage(number, "used")

    # ---- engines
    def set_busy(self, engine, cta, number, text):
        busy = self.busy.setdefault(f"{engine}{cta}", {})
        if text is None:
            busy.pop(number, None)
        else:
            busy[number] = text
        self.out[f"{engine}{cta}"] = list(busy.values())

    def stores(self, cta, number, size):
        """All stores in flight are told in one line: there may be one for each warp."""
        busy = self.busy.setdefault(f"store{cta}", {})
        if size is None:
            busy.pop(number, None)
        else:
            busy[number] = size
        self.out[f"store{cta}"] = [names.count(len(busy), "store"), names.count(sum(busy.values()), "byte")] if busy else []

    def on_copy(self, event):
        number, areas = event.get("copy"), event.get("shared", [])
        if event.get("kind") in STORES:
            return self.stores(event["cta"], number, event.get("bytes", 0))
        if event.get("kind") in LOADS:
            self.set_busy("engine", event["cta"], number, f"copy {number}: {names.count(event.get('bytes', 0), 'byte')}")
        self.fill(areas, False)
        if event.get("start"):
            for stage in of_areas(self.stages, areas):
                self.out[f"s{stage}.what"] = f"K {event['start'][0]}"

    def on_land(self, event):
        copy = self.copies.get(event.get("copy"), {})
        if copy.get("kind") in STORES:
            return
        areas, whole = copy.get("shared", []), copy.get("bytes", 0)
        if 0 < event.get("bytes", 0) < whole:  # a piece of it, in the order of its addresses
            done = self.landed.get(("copy", event["copy"]), 0)
            self.landed["copy", event["copy"]] = done + event["bytes"]
            areas = cut(areas, done / whole, event["bytes"] / whole)
        self.fill(areas, True)
        if copy.get("kind") in LOADS:
            self.set_busy("engine", event["cta"], event["copy"], None)

    def on_done(self, event):
        if self.copies.get(event.get("copy"), {}).get("kind") in STORES:
            self.stores(event["cta"], event["copy"], None)

    def on_product(self, event):
        stages = self.reading[event["product"]] = of_areas(self.stages, event.get("shared", []))
        for number in stages:
            self.set_stage(number, "used")
        self.set_busy("tensor", event["cta"], event["product"], f"product {event['product']}")

    def on_product_done(self, event):
        self.set_busy("tensor", event["cta"], event["product"], None)
        for number in self.reading.pop(event["product"], ()):
            if self.state.get(number) == "used" and not any(number in others for others in self.reading.values()):
                self.set_stage(number, "read")

    # ---- warps
    def on_wait(self, event):
        what = self.barriers[event["barrier"]] if "barrier" in event else event.get("group") or "its warp"
        self.out[f"w{event['cta']}.{event['warp']}"] = f"waits: {what}"

    def on_bar_arrive(self, event):
        self.out[f"w{event['cta']}.{event['warp']}"] = f"waits: barrier {event.get('bar')}"


def cut(areas, skip, take):
    """The part of each CTA's ranges that begins after the share `skip` of them and is the share `take` of them."""
    out = []
    for owner in sorted({cta for cta, _, _ in areas}):
        mine = [(start, size) for cta, start, size in areas if cta == owner]
        total = sum(size for _, size in mine)
        low, high = round(total * skip), round(total * (skip + take))
        for start, size in mine:
            first, last = max(0, min(size, low)), max(0, min(size, high))
            if last > first:
                out.append([owner, start + first, last - first])
            low, high = low - size, high - size
    return out
