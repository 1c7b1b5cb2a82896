"""Draws the figures, as SVG and PNG. The same data gives the same bytes. A part without data is said and left out.

Without an option: the newest of your own runs (`make bench` writes them to plots/mine), each beside the recorded one, into
plots/mine. With --record: the recorded runs of plots/data, beside this script.

usage: draw.py [--record]
Exit: 0 drawn, 2 there is no matplotlib, or nothing of your own to draw.
"""

import argparse
import sys
from pathlib import Path

try:
    import matplotlib
except ImportError:
    print(f"draw: {sys.executable} has no matplotlib\n  try    make setup, where the package index can be reached, or install matplotlib "
          "for python3", file=sys.stderr)
    sys.exit(2)
matplotlib.use("Agg")
import matplotlib.pyplot as plt

import figures
import style
from data import MINE, RECORDED, load, newest

FOLDER = Path(__file__).resolve().parent
BARS = "Points are medians of processes, bars run from the least to the most of them."
ROUNDS = "Points are medians of rounds, bars run from the least to the most of them."
EMULATED = ("instructions", "predictions", "foreign")  # parts that come from the emulator, and so are the same everywhere
# name: (part, panels, function, size in inches, other part, title, description)
FIGURES = {
    "sizes": ("ladder", 2, figures.size_curves, (10.5, 4.2), None, "TFLOP/s of every rung against the size of the problem",
              "Two panels, 512 to 1024 and 2048 to 16384, a line per rung and a dotted one for cuBLASLt. " + BARS),
    "speed_up": ("ladder", 1, figures.speed_up, (9, 3.6), None, "How many times as fast as lesson 01 each rung is",
                 "Bars per rung at three sizes; the number is that of the largest. " + BARS),
    "ladder": ("ladder", 1, figures.ladder, (9, 3.8), None, "What each rung reaches of cuBLASLt at 8192",
               "A bar per rung, the ratio of times in the same process. " + BARS),
    "states": ("ladder", 1, figures.states, (7.5, 3.4), "cool", "The last rung beside cuBLASLt, cool and under sustained load",
               "The ratio at every size, for a cool chip and for sustained load. " + ROUNDS),
    "stages": ("stages", 2, figures.stages, (7.5, 3.2), None, "Time against the number of stages", BARS),
    "copy_bandwidth": ("copy", 2, figures.copy, (7.5, 3.6), None, "Bytes in flight against bandwidth of the copy engine",
                       "GB/s rise with the bytes in flight until device memory is the limit."),
    "instructions": ("instructions", 1, figures.instructions, (9.5, 4), None, "Thread instructions for the same work, by class",
                     "A stacked bar per rung; the emulator's counts."),
    "predicted": ("predictions", 2, figures.predicted, (8.5, 4.6), None, "What the emulator predicts for an H200, and what was recorded",
                  "Two panels, the rungs at 2048, 4096 and 8192 and the stage sweeps: a point on the line is predicted right."),
    "others": ("foreign", 2, figures.others, (8.5, 4.6), "others", "What the emulator predicts of others' kernels, and what an H200 needs",
               "Two panels, TFLOP/s at 2048, 4096 and 8192 and cycles at 4096: a point on the line is predicted right."),
    "resources": ("ladder", 3, figures.resources, (10, 3), "instructions", "Registers, rings and asynchronous copies of each rung",
                  "Three bar charts over the rungs."),
}


def find(part, folder):
    """(header, rows) of the newest file of a part in a folder; None without one. Counts of the emulator are always recorded."""
    if part in EMULATED:
        return load(RECORDED / f"emulator-{part}.csv", ("device", "toolkit"))
    path = newest(part, folder)
    return load(path) if path else None


def draw(name, folder, out):
    part, panels, function, size, second, title, description = FIGURES[name]
    found, more = find(part, folder), find(second, folder) if second else None
    if not found or (second and not more):
        print(f"{name}: not drawn, {folder.name} has no data for it", file=sys.stderr)
        return False
    header, rows = found
    recorded = find(part, RECORDED) if folder != RECORDED and part not in EMULATED else None
    fig, axes = plt.subplots(1, panels, figsize=size, layout="constrained", squeeze=False,
                             width_ratios=[1, 1.6] if name == "sizes" else None)
    function(rows, list(axes[0]), recorded[1] if recorded else None, *([more[1]] if second else []))
    said = ", ".join(f"{label}{header[key]}" for key, label in (("device", ""), ("driver", "driver "), ("toolkit", "toolkit "),
                                                                  ("date", "")) if key in header)
    fig.suptitle(said, fontsize=8)
    for bars in (BARS, ROUNDS):
        if bars in description:
            fig.supxlabel(bars.lower().rstrip("."), fontsize=7, color=style.NOTE)
    fig.savefig(out / f"{name}.svg", metadata={"Date": None})
    style.describe_svg(out / f"{name}.svg", title, f"{description} {said}.")
    fig.savefig(out / f"{name}.png", dpi=150, metadata={"Software": None})
    plt.close(fig)
    print(f"{out.relative_to(FOLDER.parent)}/{name}.svg and .png")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="draw the recorded data anew, beside this script")
    record = parser.parse_args().record
    folder, out = (RECORDED, FOLDER) if record else (MINE, MINE)
    own = [name for name, row in FIGURES.items() if record or (row[0] not in EMULATED and newest(row[0], MINE))]
    if not own:
        print("draw: there is no measurement of your own in plots/mine; the recorded figures are plots/*.svg\n"
              "  try    make bench, on a Hopper GPU", file=sys.stderr)
        return 2
    plt.rcParams.update({"svg.hashsalt": "tma-workbook", "svg.fonttype": "none", "axes.spines.top": False,
                         "axes.spines.right": False, "font.size": 9, "hatch.linewidth": 0.4})
    for name in own:
        draw(name, folder, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
