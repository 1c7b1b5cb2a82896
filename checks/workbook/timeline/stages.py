"""Stages: places in shared memory that are filled, read and filled again, each with the barriers that say so.

A stage is found by what happened, not by names: copies that complete on one barrier fill one stage; where no barrier counts
bytes, the operands of one product are a stage. The barrier whose wait comes before the copy says that the stage is empty, the
one whose wait comes before the product says that it is full.
"""

from collections import Counter

from . import names

LOADS = ("tensor_load", "bulk_load", "bulk_shared", "st_async")
STORES = ("tensor_store", "bulk_store", "tensor_reduce", "bulk_reduce")


def overlaps(a, b):
    return a[0] == b[0] and a[1] < b[1] + b[2] and b[1] < a[1] + a[2]


class Stage:
    def __init__(self, number, cta, full):
        self.number, self.cta, self.full, self.empty = number, cta, full, None
        self.tiles = []  # {"name", "range", "map", "swizzle"}

    def add_tile(self, name, area, of_map, swizzle):
        for tile in self.tiles:
            if overlaps(tile["range"], area):
                start = min(tile["range"][1], area[1])
                end = max(tile["range"][1] + tile["range"][2], area[1] + area[2])
                tile["range"] = [area[0], start, end - start]
                return
        self.tiles.append({"name": name, "range": list(area), "map": of_map, "swizzle": swizzle})

    def holds(self, area):
        return any(overlaps(tile["range"], area) for tile in self.tiles)


def hull(areas):
    """One range over all ranges of each CTA."""
    out = {}
    for cta, start, size in areas:
        low, high = out.get(cta, (start, start + size))
        out[cta] = min(low, start), max(high, start + size)
    return [[cta, low, high - low] for cta, (low, high) in out.items()]


def by_barrier(trace):
    """Stages of copies that complete on barriers."""
    copies, targets = {}, {}
    for event in trace["events"]:
        if event["e"] == "copy" and event.get("kind") in LOADS:
            copies[event["copy"]] = event
            if "barrier" in event:
                targets.setdefault(event["copy"], set()).add(event["barrier"])
        elif event["e"] == "complete_tx" and event.get("copy") in copies:
            targets.setdefault(event["copy"], set()).add(event["barrier"])
    found = {}
    for copy, event in copies.items():
        for area in hull(event.get("shared", [])):
            for barrier in sorted(targets.get(copy, ())):
                if trace["barriers"][barrier]["cta"] != area[0]:
                    continue
                stage = found.setdefault(barrier, Stage(0, area[0], barrier))
                of_map = event.get("map")
                stage.add_tile(names.tile_name(event, len(stage.tiles)), area, of_map,
                               trace["maps"][of_map]["swizzle"] if of_map is not None else 0)
    for stage in found.values():
        stage.tiles.sort(key=lambda tile: tile["range"][1])  # where they lie: a multicast may bring them in any order
    return sorted(found.values(), key=lambda s: (s.cta, trace["barriers"][s.full]["address"]))


def by_product(trace):
    """Stages of operands, where no barrier counts bytes."""
    found = []
    for event in trace["events"]:
        areas = event.get("shared", []) if event["e"] == "product" else []
        if not areas:
            continue
        stage = next((s for s in found if s.holds(areas[-1])), None)
        if stage is None:
            stage = Stage(0, event["cta"], None)
            found.append(stage)
        called = [names.short(event.get(key, "")) or key.upper() for key in ("ab" if len(areas) > 1 else "b")]
        for name, area in zip(called, areas):
            # Two warpgroups read one half of A each: neighbours are one tile.
            near = next((t for t in stage.tiles if t["name"] == name), None)
            if near:
                start = min(near["range"][1], area[1])
                end = max(near["range"][1] + near["range"][2], area[1] + area[2])
                near["range"] = [area[0], start, end - start]
            else:
                stage.tiles.append({"name": name, "range": list(area), "map": None, "swizzle": event.get("swizzle", 0)})
    return sorted(found, key=lambda s: (s.cta, s.tiles[0]["range"][1]))


def find(trace):
    """All stages, numbered within their CTA, with their barriers."""
    stages = by_barrier(trace) or by_product(trace)
    per_cta = Counter()
    for stage in stages:
        stage.number = per_cta[stage.cta]
        per_cta[stage.cta] += 1
    vote(trace, stages)
    return stages


def vote(trace, stages):
    """Finds the barriers of each stage by the wait that comes before it is filled, and before it is read."""
    before_fill, before_read = Counter(), Counter()
    passed = {}  # by warp: the barrier it waited for last
    writes = ("copy", "store_shared")
    for event in trace["events"]:
        warp = event.get("cta"), event.get("warp")
        if event["e"] == "pass" and "barrier" in event:
            passed[warp] = event["barrier"]
        elif event["e"] in writes + ("product", "load_shared") and warp in passed:
            if event.get("kind") in STORES:
                continue
            for stage in stages:
                if any(stage.holds(area) for area in event.get("shared", [])):
                    (before_fill if event["e"] in writes else before_read)[stage.cta, stage.number, passed[warp]] += 1

    def best(votes, stage, others):
        mine = [(n, -b) for (c, s, b), n in votes.items() if (c, s) == (stage.cta, stage.number) and b not in others]
        return -max(mine)[1] if mine else None

    for stage in stages:
        stage.full = best(before_read, stage, ()) if stage.full is None else stage.full
    full = {stage.full for stage in stages}
    for stage in stages:
        stage.empty = best(before_fill, stage, full)


def of_areas(stages, areas):
    """Indices of the stages that own one of these ranges."""
    return [i for i, stage in enumerate(stages) if any(stage.holds(area) for area in areas)]
