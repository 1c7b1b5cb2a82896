"""Draws the figures from the newest file of each part in plots/data, as SVG and PNG beside this script. The same data gives
the same bytes. A part without data is said and left out.

usage: draw.py
Exit: 0 drawn, 2 there is no matplotlib.
"""

import sys
from pathlib import Path
from statistics import median

try:
    import matplotlib
except ImportError:
    print(f"draw: {sys.executable} has no matplotlib\n  try    make setup, where the package index can be reached, or install matplotlib "
          "for python3", file=sys.stderr)
    sys.exit(2)
matplotlib.use("Agg")
import matplotlib.pyplot as plt

from data import FOLDER as DATA
from data import files, lessons, load, middle, pick

FOLDER = Path(__file__).resolve().parent
SQUARES = [512, 1024, 2048, 4096, 8192, 16384]
PEAK_TFLOPS = 989.4  # dense bf16, H100 SXM and H200 data sheet
# Okabe-Ito: told apart by colour-blind readers and in grey.
COLOURS = ["#999999", "#E69F00", "#F0E442", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#000000", "#882255", "#44AA99"]
MARKERS = "osD^v<>pXhP"
INSTRUCTIONS = [("copy", "asynchronous copies", "#0072B2", ""), ("memory", "loads, stores, fences", "#56B4E9", "//"),
                ("address", "addresses, integers", "#E69F00", ""), ("barrier", "barriers", "#D55E00", "xx"),
                ("math", "wgmma, floats", "#009E73", ".."), ("control", "branches, predicates", "#F0E442", "\\\\"),
                ("other", "moves", "#999999", "")]


def short(lesson):
    return lesson.replace("_", "\n")


def spread(ax, x, groups, **style):
    """Medians of the groups of values, with bars from the lowest to the highest."""
    y = [median(g) for g in groups]
    ax.errorbar(x, y, yerr=[[m - min(g) for m, g in zip(y, groups)], [max(g) - m for m, g in zip(y, groups)]], **style)


def legend_beside(ax):
    ax.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))


def size_curves(rows, axes, other):
    """TFLOP/s against M = N = K."""
    (ax,) = axes
    for i, lesson in enumerate(lessons(rows)):
        x = [s for s in SQUARES if pick(rows, lesson, (s, s, s), "tflops")]
        spread(ax, x, [pick(rows, lesson, (s, s, s), "tflops") for s in x], color=COLOURS[i], marker=MARKERS[i], capsize=2,
               linewidth=1.4, label=lesson)
    # As it ran in turns with the last rung: beside a slower one the chip is cooler, and its clock higher.
    last = lessons(rows)[-1]
    x = [s for s in SQUARES if pick(rows, last, (s, s, s), "cublas_tflops")]
    ax.plot(x, [middle(rows, last, (s, s, s), "cublas_tflops") for s in x], color="black", linestyle="--", linewidth=1.4,
            label=f"cuBLASLt beside {last[:2]}")
    if other:
        last = lessons(other)[-1]
        x_other = [s for s in SQUARES if pick(other, last, (s, s, s), "tflops")]
        ax.plot(x_other, [middle(other, last, (s, s, s), "tflops") for s in x_other], "k:", label=f"{last}, recorded")
    ax.axhline(PEAK_TFLOPS, color="#666666", linestyle=":", linewidth=1)
    ax.annotate("data-sheet peak", (SQUARES[0], PEAK_TFLOPS), xytext=(0, 3), textcoords="offset points", fontsize=8)
    ax.set_xscale("log", base=2)
    ax.set_xticks(x, [str(s) for s in x])
    ax.set_ylim(0)
    ax.set_xlabel("M = N = K")
    ax.set_ylabel("TFLOP/s")
    legend_beside(ax)


def ladder(rows, axes, other, size=(8192, 8192, 8192)):
    """What each rung reaches of cuBLASLt."""
    (ax,) = axes
    names = lessons(rows)
    groups = [pick(rows, lesson, size, "ratio_median") for lesson in names]
    ax.bar(range(len(names)), [median(g) for g in groups], color=COLOURS[5], width=0.7)
    spread(ax, range(len(names)), groups, fmt="none", ecolor="black", capsize=3)
    for i, group in enumerate(groups):
        ax.annotate(f"{median(group):.2f}", (i, max(group)), ha="center", xytext=(0, 4), textcoords="offset points", fontsize=8)
    if other:
        found = [(i, middle(other, name, size, "ratio_median")) for i, name in enumerate(names)]
        ax.plot(*zip(*[(i, y) for i, y in found if y is not None]), "kD", markerfacecolor="white", label="recorded")
        ax.legend(fontsize=7, frameon=False, loc="upper left")
    ax.axhline(1, color="black", linestyle="--", linewidth=1)
    ax.set_xticks(range(len(names)), [short(n) for n in names], fontsize=7)
    ax.set_ylim(0, 1.2)
    ax.set_ylabel("ratio to cuBLASLt, {} x {} x {}".format(*size))


def stages(rows, axes, other):
    """Time against the length of the ring."""
    series = sorted({(r["lesson"], r["m"]) for r in rows})
    for ax, size in zip(axes, sorted({m for _, m in series})):
        for i, lesson in enumerate(lessons(rows)):
            own = [r for r in rows if r["lesson"] == lesson and r["m"] == size]
            x = sorted({r["stages"] for r in own})
            spread(ax, x, [[r["ms_median"] for r in own if r["stages"] == s] for s in x], color=COLOURS[5 + i], capsize=3,
                   marker=MARKERS[i], label=lesson)
        ax.set_xticks(sorted({r["stages"] for r in rows}))
        ax.set_ylim(0)
        ax.set_xlabel("stages")
        ax.set_ylabel(f"ms, M = N = K = {size}")
        ax.legend(fontsize=7, frameon=False, loc="lower right")


def copy(rows, axes, other):
    """Bytes in flight against bandwidth."""
    limit = next(r["gb_per_s"] for r in rows if r["kind"] == "cudaMemcpy")
    for ax, (kind, title) in zip(axes, (("load", "load: bytes read"), ("copy", "load and store: bytes read and written"))):
        own = [r for r in rows if r["kind"] == kind]
        for i, size in enumerate(sorted({r["stage_bytes"] for r in own})):
            line = sorted((r["bytes_in_flight"] / 2**20, r["gb_per_s"]) for r in own if r["stage_bytes"] == size)
            ax.plot(*zip(*line), color=COLOURS[[1, 3, 5, 8][i % 4]], marker=MARKERS[i], markersize=4, linewidth=1.2,
                    label=f"stages of {size // 1024} KiB")
        best = max(r["gb_per_s"] for r in own)
        title = f"{title}\nat most {best:.0f} GB/s, {best / limit:.2f} of cudaMemcpy"
        ax.axhline(limit, color="black", linestyle="--", linewidth=1, label="cudaMemcpy, read and written")
        ax.set_xscale("log", base=2)
        ax.set_xticks([0.25, 0.5, 1, 2, 4, 8, 16, 32], ["1/4", "1/2", "1", "2", "4", "8", "16", "32"])
        ax.set_ylim(0, 1.6 * max(best, limit))
        ax.set_xlabel("MiB in flight, all SMs")
        ax.set_ylabel("GB/s")
        ax.set_title(title, fontsize=8)
        ax.legend(fontsize=7, frameon=False, loc="upper left")


def instructions(rows, axes, other):
    """Thread instructions for the same work, by class."""
    (ax,) = axes
    bottom = [0.0] * len(rows)
    for key, label, colour, hatch in INSTRUCTIONS:
        values = [r[key] for r in rows]
        ax.bar(range(len(rows)), values, bottom=bottom, color=colour, hatch=hatch, edgecolor="black", linewidth=0.4, width=0.7,
               label=label)
        bottom = [b + v for b, v in zip(bottom, values)]
    for i, total in enumerate(bottom):
        ax.annotate(f"{total:,.0f}", (i, total), ha="center", xytext=(0, 3), textcoords="offset points", fontsize=8)
    ax.set_xticks(range(len(rows)), [short(r["lesson"]) for r in rows], fontsize=7)
    ax.set_ylabel("thread instructions for 128 x 128 x 64")
    legend_beside(ax)


def ring_kib(row):
    """KiB of the operand tiles that the CTAs of an SM hold together; 0 where the occupancy was not recorded."""
    bm, bn, bk = (int(x) for x in row["tile"].split("x"))
    return row.get("ctas_per_sm", 0) * row["stages"] * (bm + bn) * bk * 2 / 1024


def resources(rows, axes, other):
    """Registers, room for tiles, and asynchronous copies for the same work. `other`: the emulator's counts."""
    names = lessons(rows)
    registers = [max(r["registers"] for r in rows if r["lesson"] == name and r["m"] == 8192) for name in names]
    copies = [next(r["async_copies"] for r in other if r["lesson"] == name) for name in names]
    room = [max(ring_kib(r) for r in rows if r["lesson"] == name and r["m"] == 8192) for name in names]
    for ax, values, label in ((axes[0], registers, "registers a thread at launch"), (axes[1], room, "KiB of rings an SM"),
                              (axes[2], copies, "async copies for 128 x 128 x 64")):
        ax.bar(range(len(names)), values, color=COLOURS[5], width=0.7)
        for i, value in enumerate(values):
            ax.annotate(f"{value:.4g}", (i, value), ha="center", xytext=(0, 3), textcoords="offset points", fontsize=7)
        ax.set_xticks(range(len(names)), [n[:2] for n in names], fontsize=8)
        ax.set_xlabel("lesson")
        ax.set_ylabel(label)
    axes[1].set_visible(any(room))
    axes[2].set_yscale("symlog", linthresh=1)


# name: (part, panels, function, size in inches)
FIGURES = {"sizes": ("ladder", 1, size_curves, (7.5, 4)), "ladder": ("ladder", 1, ladder, (7.5, 4)),
           "stages": ("stages", 2, stages, (7.5, 3.2)), "copy_bandwidth": ("copy", 2, copy, (7.5, 3.6)),
           "instructions": ("instructions", 1, instructions, (8.5, 4)), "resources": ("ladder", 3, resources, (9, 3))}


def read(part):
    """(title, rows of the newest file, rows of the oldest when there are several); None without a file."""
    if part == "instructions":
        path = DATA / "emulator-instructions.csv"
        if not path.exists():
            return None
        header, rows = load(path, ("device", "toolkit"))
        return f"{header['device']}, toolkit {header['toolkit']}", rows, None
    found = files(part)
    if not found:
        return None
    header, rows = load(found[-1])
    title = f"{header['device']}, driver {header['driver']}, toolkit {header['toolkit']}, {header['date']}"
    return title, rows, load(found[0])[1] if len(found) > 1 else None


def main():
    plt.rcParams.update({"svg.hashsalt": "tma-workbook", "svg.fonttype": "none", "axes.spines.top": False,
                         "axes.spines.right": False, "font.size": 9, "hatch.linewidth": 0.4})
    counted = read("instructions")
    for name, (part, panels, draw, size) in FIGURES.items():
        found = read(part)
        if name == "resources" and found and counted:
            found = (f"{found[0]}; copies: {counted[0]}", found[1], counted[1])
        elif name == "resources":
            found = None
        if not found:
            print(f"plots/{name}: not drawn, there is no data for it", file=sys.stderr)
            continue
        title, rows, other = found
        fig, axes = plt.subplots(1, panels, figsize=size, layout="constrained", squeeze=False)
        draw(rows, list(axes[0]), other)
        fig.suptitle(title, fontsize=8)
        fig.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
        fig.savefig(FOLDER / f"{name}.png", dpi=150, metadata={"Software": None})
        plt.close(fig)
        print(f"plots/{name}.svg, plots/{name}.png")


if __name__ == "__main__":
    main()
