"""Draws runs as a figure: the lanes of the page, as an SVG that can be printed. The same traces give the same bytes."""

import html
import math
from pathlib import Path

from .view import load

WIDTH, LABELS, RIGHT = 860, 128, 12
ROW = {"issuer": 20, "engine": 17, "stage": 22, "tensor": 18, "store": 17, "warps": 7}
GAP, HEAD = 6, 30
INK, LINE, GREY = "#222222", "#DDDDDD", "#999999"
# As in the page and in the other figures: threads, copies, tensor core, stores.
FILL = {"copy": "#009E73", "full": "#009E73", "product": "#0072B2", "used": "#0072B2", "store": "#CC79A7", "filling": "#CFEEE4",
        "wait": "url(#hatch)", "load_global": "#FBE3B5", "store_global": "#FBE3B5"}
THREADS = "#E69F00"
LIGHT = ("product", "used")  # with white text
ERROR = "#D55E00"


def label(x, y, text, size=12, anchor="start", fill=INK, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" fill="{fill}">'
            f"{escape(text)}</text>")


def tick(end):
    """The distance of the marks of an axis: a round number, of which at most ten fit."""
    step = 10 ** max(0, math.ceil(math.log10(end)) - 2)
    return next(step * factor for factor in (1, 2, 5, 10, 20) if end / (step * factor) <= 10)


def escape(text):
    return html.escape(text, quote=False)


class Drawing:
    def __init__(self):
        self.parts, self.y = [], 18

    def run(self, run, heading, end):
        """One run, on an axis that goes to `end`."""
        if heading:
            self.parts.append(label(16, self.y + 4, heading, 13, weight="bold"))
            self.y += HEAD - 8
        scale = (WIDTH - LABELS - RIGHT) / end
        tops, several, last_cta = [], len(run["ctas"]) > 1, None
        for lane in run["lanes"]:
            if several and lane["cta"] != last_cta:
                index = next(c["index"] for c in run["ctas"] if c["cta"] == lane["cta"])
                self.parts.append(label(16, self.y + 11, f"CTA ({','.join(map(str, index))})", 12, weight="bold"))
                self.y += 18
                last_cta = lane["cta"]
            tops.append(self.y)
            height = max(lane["rows"] * ROW[lane["kind"]], 14)
            self.parts.append(f'<path d="M16 {self.y - GAP / 2:g}H{WIDTH - RIGHT}" stroke="{LINE}"/>')
            self.parts.append(label(16, self.y + height / 2 + 4, lane["label"]))
            if lane.get("used") is False:
                self.parts.append(label(LABELS + 6, self.y + height / 2 + 4, "not used", 11, fill=GREY))
            self.y += height + GAP
        place = lambda item: (tops[item["lane"]] + item["row"] * ROW[run["lanes"][item["lane"]]["kind"]],
                              ROW[run["lanes"][item["lane"]]["kind"]], run["lanes"][item["lane"]]["kind"])
        at = lambda x: LABELS + x * scale
        for span in run["spans"]:
            self.span(span, at, *place(span))
        for mark in run["marks"]:
            self.mark(mark, at(mark["x"]), *place(mark)[:2])
        named = set()
        for finding in run["findings"]:
            x = at(run["beats"][finding["beat"]]["x"])
            self.parts.append(f'<path d="M{x:.1f} {tops[0] - 8}V{self.y}" stroke="{ERROR}" stroke-width="2"/>')
            if finding["id"] not in named:
                late = x > WIDTH * 0.7
                self.parts.append(label(x + (-4 if late else 4), tops[0] - 1, finding["id"], 11, "end" if late else "start", ERROR, "bold"))
            named.add(finding["id"])
        self.axis(run["unit"], end, at)
        self.y += 36

    def axis(self, unit, end, at):
        self.parts.append(f'<path d="M{LABELS} {self.y}H{WIDTH - RIGHT}" stroke="{INK}"/>')
        if unit != "cycle":
            self.parts.append(label(WIDTH - RIGHT, self.y + 14, "order of events, not to scale", 11, "end"))
            return
        step = tick(end)
        for value in range(0, int(end) + 1, step):
            self.parts.append(f'<path d="M{at(value):.1f} {self.y}v4" stroke="{INK}"/>'
                              + label(at(value), self.y + 16, f"{value:,}" if value else "0 cycles", 11, "middle" if value else "start"))

    def span(self, span, at, y, height, kind):
        x0, x1 = at(span["x0"]), at(span["x1"])
        fill = FILL.get(span["kind"], THREADS)
        dashes = ' stroke-dasharray="3 2"' if span["open"] else ""
        radius = 1.5 if kind == "warps" else 3
        stroke = GREY if span["kind"] == "wait" else INK
        self.parts.append(f'<rect x="{x0:.1f}" y="{y + 1:g}" width="{max(1.5, x1 - x0):.1f}" height="{height - 2}" rx="{radius}" fill="{fill}" '
                          f'stroke="{stroke}" stroke-width="0.6"{dashes}><title>{escape(span["text"])}</title></rect>')
        text = "read" if span["kind"] == "used" else span["text"].split(",")[0]
        if kind != "warps" and span["kind"] != "wait" and x1 - x0 > 6.2 * len(text) + 4:
            self.parts.append(label((x0 + x1) / 2, y + height / 2 + 4, text, 11, "middle", "white" if span["kind"] in LIGHT else INK))

    def mark(self, mark, x, y, height):
        middle = y + height / 2
        shapes = {"issue": f'<rect x="{x - 3:.1f}" y="{middle - 6:g}" width="6" height="12" rx="2" fill="{THREADS}"/>',
                  "expect": f'<path d="M{x:.1f} {middle - 6:g}l6 6-6 6-6-6z" fill="{THREADS}"/>',
                  "flip": f'<path d="M{x:.1f} {y - 3:g}l5 5-5 5-5-5z" fill="{INK}" stroke="white"/>',
                  "flip_empty": f'<path d="M{x:.1f} {y + height - 7:g}l5 5-5 5-5-5z" fill="white" stroke="{INK}"/>'}
        self.parts.append(shapes.get(mark["kind"], ""))

    def legend(self, kinds):
        x, known = LABELS, (("threads", THREADS, "threads"), ("copy", FILL["copy"], "copies under way"), ("product", FILL["product"], "tensor core"),
                            ("store", FILL["store"], "stores"), ("wait", FILL["wait"], "waits"))
        for kind, fill, text in known:
            if kind in kinds:
                self.parts.append(f'<rect x="{x}" y="{self.y - 8}" width="14" height="12" rx="2" fill="{fill}" stroke="{INK}" stroke-width="0.6"/>'
                                  + label(x + 20, self.y + 2, text, 11))
                x += 40 + 7 * len(text)
        if "flip" in kinds:
            self.parts.append(f'<path d="M{x + 6} {self.y - 7}l5 5-5 5-5-5z" fill="{INK}"/>' + label(x + 18, self.y + 2, "a phase is complete", 11))
        self.y += 16


def draw(runs, title):
    """The SVG of [(view, heading)]."""
    drawing = Drawing()
    together = max(run["end"] for run, _ in runs)
    for run, heading in runs:  # where time is to scale, the scale is one
        drawing.run(run, heading, together if run["unit"] == "cycle" else run["end"])
    kinds = {span["kind"] for run, _ in runs for span in run["spans"]} | {mark["kind"] for run, _ in runs for mark in run["marks"]}
    if kinds & {"issue", "expect"} or any(kind.split("_")[0] in ("load", "store", "atomic") and "_" in kind for kind in kinds):
        kinds.add("threads")
    drawing.legend(kinds)
    words = " ".join(f"{heading or run['title']}: {len(run['beats'])} steps; {run['beats'][-1]['text']}" for run, heading in runs)
    return document(drawing, title, words)


def document(drawing, title, words):
    """The SVG of a drawing; words: for who cannot see it."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {drawing.y:g}" role="img" font-family="sans-serif">\n'
            f"<title>{escape(title)}</title>\n<desc>{escape(words)}</desc>\n"
            '<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
            f'<path d="M0 0V5" stroke="{GREY}" stroke-width="2"/></pattern></defs>\n'
            f'<rect width="{WIDTH}" height="{drawing.y:g}" fill="white"/>\n' + "\n".join(p for p in drawing.parts if p) + "\n</svg>\n")


def write_figure(traces, out, title):
    """Draws `traces`, [(path, heading)], one under the other. Raises Malformed."""
    Path(out).write_text(draw([(load(path, heading or title), heading) for path, heading in traces], title), encoding="utf-8")
