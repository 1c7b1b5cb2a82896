"""Runs from afar, as a figure: when the copies, the products and the stores of each tile of C were under way on one SM."""

from pathlib import Path

from . import names
from .beats import engine_load
from .figure import FILL, GREY, INK, LABELS, RIGHT, WIDTH, Drawing, document, label
from .read import Malformed, read
from .stages import STORES

HEIGHT, GAP = 22, 6
KINDS = ("copy", "product", "store")


def on_one_sm(trace):
    """The CTAs that are first in their cluster: in a window of one cluster these take turns on one SM."""
    across, down, deep = trace["cluster"]
    return [c["cta"] for c in trace["ctas"] if c["cta"] % (across * down * deep) == 0]


def periods(events, begins, ends, number):
    """[(from, to, event)] of the operations of a CTA that begin at an event of `begins`."""
    last = {e[number]: e["t"] for e in events if e["e"] == ends}
    return [(e["t"], last.get(e[number], e["t"]), e) for e in events if begins(e)]


def of_cta(trace, cta):
    """{(kind, warpgroup or None, tile): (from, to)} of one CTA, whose tiles are counted from 0; and how many they are."""
    events = [e for e in trace["events"] if e.get("cta") == cta]
    loads = periods(events, engine_load, "land", "copy")
    products = periods(events, lambda e: e["e"] == "product", "product_done", "product")
    stores = periods(events, lambda e: e["e"] == "copy" and e.get("kind") in STORES, "done", "copy")
    places = [e["start"][0] if e.get("start") else 0 for _, _, e in loads]  # along K, which starts anew with each tile
    tiles = 1 + sum(place < before for place, before in zip(places[1:], places))
    spans = {}

    def add(kind, group, tile, begin, end):
        first, last = spans.get((kind, group, tile), (begin, end))
        spans[kind, group, tile] = min(first, begin), max(last, end)

    tile = 0
    for (begin, end, _), place, before in zip(loads, places, [0] + places):
        tile += place < before
        add("copy", None, tile, begin, end)
    for group in {e["warpgroup"] for _, _, e in products}:
        mine = [(begin, end) for begin, end, e in products if e["warpgroup"] == group]
        for i, (begin, end) in enumerate(mine):  # each tile has as many
            add("product", group, i * tiles // len(mine), begin, end)
    for i, (begin, end, _) in enumerate(stores):
        add("store", None, i * tiles // len(stores), begin, end)
    return spans, tiles


def of_sm(trace):
    """The same of all CTAs that took turns on one SM."""
    spans, count = {}, 0
    for cta in on_one_sm(trace):
        found, tiles = of_cta(trace, cta)
        spans.update({(kind, group, tile + count): period for (kind, group, tile), period in found.items()})
        count += tiles
    if not spans or trace["unit"] != "cycle":
        raise Malformed("no tile of C is in the trace, or it knows no cycles")
    return spans


def row_name(kind, group):
    return {"copy": "copies", "store": "stores"}.get(kind) or names.warps(range(4 * group, 4 * group + 4))


def draw_run(drawing, spans, heading, end):
    drawing.parts.append(label(16, drawing.y + 4, heading, 13, weight="bold"))
    drawing.y += 22
    at = lambda x: LABELS + x * (WIDTH - LABELS - RIGHT) / end
    for kind, group in sorted({key[:2] for key in spans}, key=lambda row: (KINDS.index(row[0]), row[1] or 0)):
        drawing.parts.append(f'<path d="M16 {drawing.y - GAP / 2:g}H{WIDTH - RIGHT}" stroke="#DDDDDD"/>')
        drawing.parts.append(label(16, drawing.y + HEIGHT / 2 + 4, row_name(kind, group)))
        mine = sorted((tile, *period) for (k, g, tile), period in spans.items() if (k, g) == (kind, group))
        for i, (tile, begin, stop) in enumerate(mine):
            begin = max(begin, mine[i - 1][2]) if i else begin
            x0, x1 = at(begin), at(stop)
            drawing.parts.append(f'<rect x="{x0:.1f}" y="{drawing.y + 1:g}" width="{max(1.5, x1 - x0):.1f}" height="{HEIGHT - 2}" rx="3" '
                                 f'fill="{FILL[kind]}" stroke="{INK}" stroke-width="0.6"><title>tile {tile}: cycles {begin:,} to {stop:,}</title></rect>')
            drawing.parts.append(label((x0 + x1) / 2, drawing.y + HEIGHT / 2 + 4, f"tile {tile}" if x1 - x0 > 44 else f"{tile}", 11, "middle",
                                       INK if kind == "store" else "white"))
            idle = begin - mine[i - 1][2] if i else 0
            if kind == "product" and at(idle) - LABELS > 80:
                drawing.parts.append(label((at(mine[i - 1][2]) + x0) / 2, drawing.y + HEIGHT / 2 + 4, f"{idle:,} cycles", 11, "middle", GREY))
        drawing.y += HEIGHT + GAP
    drawing.axis("cycle", end, at)
    drawing.y += 36


def write_tiles(traces, out, title):
    """Draws `traces`, [(path, heading)], one under the other on one scale. Raises Malformed."""
    runs = [(of_sm(read(path)), heading) for path, heading in traces]
    end = max(period[1] for spans, _ in runs for period in spans.values())
    drawing = Drawing()
    for spans, heading in runs:
        draw_run(drawing, spans, heading, end)
    drawing.legend(set(KINDS))
    words = " ".join(f"{heading}: {1 + max(key[2] for key in spans)} tiles in {max(period[1] for period in spans.values()):,} cycles." for spans, heading in runs)
    Path(out).write_text(document(drawing, title, words), encoding="utf-8")
