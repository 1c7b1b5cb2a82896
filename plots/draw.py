"""Draws the figures from the newest file of plots/data, as SVG and PNG beside this script. The same data gives the same bytes.

usage: draw.py [FILE.csv]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from data import lessons, load, middle, newest, pick

FOLDER = Path(__file__).resolve().parent
SQUARES = [512, 1024, 2048, 4096, 8192, 16384]
PEAK_TFLOPS = 989.4  # dense bf16, H100 SXM and H200 data sheet
# Okabe-Ito: told apart by colour-blind readers and in grey.
COLOURS = ["#999999", "#E69F00", "#F0E442", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#000000"]
MARKERS = "osD^v<>pX"


def size_curves(rows, ax):
    """TFLOP/s against M = N = K: median of the processes, bar from the lowest to the highest."""
    for i, lesson in enumerate(lessons(rows)):
        x = [s for s in SQUARES if pick(rows, lesson, (s, s, s), "tflops")]
        values = [pick(rows, lesson, (s, s, s), "tflops") for s in x]
        y = [middle(rows, lesson, (s, s, s), "tflops") for s in x]
        low = [m - min(v) for m, v in zip(y, values)]
        high = [max(v) - m for m, v in zip(y, values)]
        ax.errorbar(x, y, yerr=[low, high], color=COLOURS[i], marker=MARKERS[i], capsize=2, linewidth=1.4, label=lesson)
    x = [s for s in SQUARES if any(r["m"] == r["n"] == r["k"] == s for r in rows)]
    y = [sorted(r["cublas_tflops"] for r in rows if r["m"] == r["n"] == r["k"] == s) for s in x]
    ax.plot(x, [v[len(v) // 2] for v in y], color="black", linestyle="--", linewidth=1.4, label="cuBLASLt, best heuristic")
    ax.axhline(PEAK_TFLOPS, color="#666666", linestyle=":", linewidth=1)
    ax.annotate("data-sheet peak", (SQUARES[0], PEAK_TFLOPS), xytext=(0, 3), textcoords="offset points", fontsize=8)
    ax.set_xscale("log", base=2)
    ax.set_xticks(x, [str(s) for s in x])
    ax.set_ylim(0)
    ax.set_xlabel("M = N = K")
    ax.set_ylabel("TFLOP/s")
    ax.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))


def ladder(rows, ax, size=8192):
    """What each rung reaches of cuBLASLt."""
    names = lessons(rows)
    values = [pick(rows, lesson, (size, size, size), "ratio_median") for lesson in names]
    y = [middle(rows, lesson, (size, size, size), "ratio_median") for lesson in names]
    ax.bar(range(len(names)), y, color=COLOURS[5], width=0.7)
    ax.errorbar(range(len(names)), y, yerr=[[m - min(v) for m, v in zip(y, values)], [max(v) - m for m, v in zip(y, values)]],
                fmt="none", ecolor="black", capsize=3)
    for i, value in enumerate(y):
        ax.annotate(f"{value:.2f}", (i, value), ha="center", va="bottom", xytext=(0, 4), textcoords="offset points", fontsize=8)
    ax.axhline(1, color="black", linestyle="--", linewidth=1)
    ax.set_xticks(range(len(names)), [n.replace("_", "\n", 1).replace("_", " ") for n in names], fontsize=7)
    ax.set_ylim(0, 1.2)
    ax.set_ylabel(f"ratio to cuBLASLt, {size} x {size} x {size}")


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else newest()
    header, rows = load(path)
    plt.rcParams.update({"svg.hashsalt": "tma-workbook", "svg.fonttype": "none", "axes.spines.top": False,
                         "axes.spines.right": False, "font.size": 9})
    for name, draw in (("sizes", size_curves), ("ladder", ladder)):
        fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
        draw(rows, ax)
        ax.set_title(f"{header['device']}, driver {header['driver']}, toolkit {header['toolkit']}, {header['date']}", fontsize=8)
        fig.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
        fig.savefig(FOLDER / f"{name}.png", dpi=150, metadata={"Software": None})
        plt.close(fig)
        print(f"plots/{name}.svg, plots/{name}.png from {path.name}")


if __name__ == "__main__":
    main()
