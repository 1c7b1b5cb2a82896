"""The figures: each draws rows of a data file on the axes it is given. `recorded`: rows of the recorded run, drawn beside a
reader's own; None where the rows are the recorded ones."""

from statistics import median

import style
from data import beside, lessons, middle, pick

SQUARES = [512, 1024, 2048, 4096, 8192, 16384]
PEAK_TFLOPS = 989.4  # dense bf16, H100 SXM and H200 data sheet
INSTRUCTIONS = [("copy", "asynchronous copies", "#0072B2", ""), ("memory", "loads, stores, fences", "#56B4E9", "//"),
                ("address", "addresses, integers", "#E69F00", ""), ("barrier", "barriers", "#B2182B", "xx"),
                ("math", "wgmma, floats", "#00694E", ".."), ("control", "branches, predicates", "#CC79A7", "\\\\"),
                ("other", "moves", "#8C8C8C", "")]


def square(size):
    return (size, size, size)


def size_curves(rows, axes, recorded):
    """TFLOP/s against M = N = K: small sizes on a scale of their own."""
    last = lessons(rows)[-1]
    for ax, sizes in zip(axes, (SQUARES[:2], SQUARES[2:])):
        ends, top = [], 0
        for lesson in lessons(rows):
            x = [s for s in sizes if pick(rows, lesson, square(s), "tflops")]
            if not x:
                continue
            style.spread(ax, x, [pick(rows, lesson, square(s), "tflops") for s in x], capsize=2, **style.of(lesson))
            ends.append((x[-1], middle(rows, lesson, square(x[-1]), "tflops"), lesson, style.of(lesson)["color"]))
            top = max([top] + [max(pick(rows, lesson, square(s), "tflops")) for s in x])
        # As it ran in turns with the last rung: beside a slower one the chip is cooler, and its clock higher.
        x = [s for s in sizes if pick(rows, last, square(s), "cublas_tflops")]
        theirs = [middle(rows, last, square(s), "cublas_tflops") for s in x]
        ax.plot(x, theirs, **style.CUBLAS)
        ends.append((x[-1], theirs[-1], "cuBLASLt", "black"))
        if recorded:
            x = [s for s in sizes if pick(recorded, last, square(s), "tflops")]
            ax.plot(x, [middle(recorded, last, square(s), "tflops") for s in x], linestyle="none", marker="o", markersize=9,
                    markerfacecolor="none", color=style.NOTE, label=f"{last}, recorded")
            ax.legend(fontsize=7, frameon=False, loc="lower right")
        limit = 1.08 * max(top, *theirs)
        if sizes[-1] == SQUARES[-1]:
            limit = 1.05 * PEAK_TFLOPS
            ax.axhline(PEAK_TFLOPS, color=style.NOTE, linestyle=":", linewidth=1)
            ax.annotate("data-sheet peak", (sizes[0], PEAK_TFLOPS), xytext=(0, -9), textcoords="offset points", fontsize=7)
        ax.set_ylim(0, limit)
        style.label_ends(ax, ends, limit / 24)
        ax.set_xscale("log", base=2)
        ax.set_xticks(sizes, [str(s) for s in sizes])
        ax.set_xlabel("M = N = K")
        ax.set_ylabel("TFLOP/s")


def speed_up(rows, axes, recorded):
    """How many times as fast as lesson 01."""
    (ax,) = axes
    names = lessons(rows)
    sizes = [s for s in (1024, 4096, 8192) if all(pick(rows, n, square(s), "ms_median") for n in names)]
    for i, size in enumerate(sizes):
        base = middle(rows, names[0], square(size), "ms_median")
        groups = [[base / ms for ms in pick(rows, name, square(size), "ms_median")] for name in names]
        x = [k + (i - (len(sizes) - 1) / 2) * 0.27 for k in range(len(names))]
        ax.bar(x, [median(g) for g in groups], width=0.25, color=["#56B4E9", "#0072B2", "#173F5F"][i], label=f"{size}")
        style.spread(ax, x, groups, fmt="none", ecolor="black", capsize=1.5, elinewidth=0.8)
        if size == sizes[-1]:
            for at, group in zip(x, groups):
                ax.annotate(f"{median(group):.2f}", (at, max(group)), ha="center", xytext=(4, 2), textcoords="offset points",
                            fontsize=6.5)
    ax.axhline(1, color=style.NOTE, linestyle=":", linewidth=1)
    ax.set_xticks(range(len(names)), [style.short(n) for n in names], fontsize=6.5)
    ax.set_ylabel(f"speed-up over {names[0][:2]}")
    ax.set_ylim(0)
    ax.legend(title="M = N = K", fontsize=7, title_fontsize=7, frameon=False, loc="upper left")


def ladder(rows, axes, recorded, size=(8192, 8192, 8192)):
    """What each rung reaches of cuBLASLt."""
    (ax,) = axes
    names = lessons(rows)
    groups = [pick(rows, lesson, size, "ratio_median") for lesson in names]
    ax.bar(range(len(names)), [median(g) for g in groups], color=style.BAR, width=0.7)
    style.spread(ax, range(len(names)), groups, fmt="none", ecolor="black", capsize=3)
    for i, group in enumerate(groups):
        ax.annotate(f"{median(group):.2f}", (i, max(group)), ha="center", xytext=(0, 4), textcoords="offset points", fontsize=8,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})
    if recorded:
        found = [(i, middle(recorded, name, size, "ratio_median")) for i, name in enumerate(names)]
        ax.plot(*zip(*[(i, y) for i, y in found if y is not None]), "kD", markerfacecolor="white", label="recorded")
        ax.legend(fontsize=7, frameon=False, loc="upper left")
    ax.axhline(1, color="black", linestyle="--", linewidth=1, zorder=0)
    ax.set_xticks(range(len(names)), [style.short(n) for n in names], fontsize=6.5)
    ax.set_ylim(0, 1.2)
    ax.set_ylabel("ratio to cuBLASLt, {} x {} x {}".format(*size))


def states(rows, axes, recorded, cool):
    """The last rung to the fastest of cuBLASLt's algorithms, on a cool chip and under sustained load. cool: rows of that part."""
    (ax,) = axes
    last = lessons(cool)[-1]
    names = list(dict.fromkeys((r["m"], r["n"], r["k"]) for r in cool))
    for name, own, colour, marker, shift in (("sustained load", rows, "#B2182B", "o", -0.12), ("cool chip", cool, "#0072B2", "s", 0.12)):
        at = [(i, [v for key in ("ratio_min", "ratio_median", "ratio_max") for v in pick(own, last, size, key)])
              for i, size in enumerate(names) if pick(own, last, size, "ratio_median")]
        style.spread(ax, [i + shift for i, _ in at], [g for _, g in at], fmt=marker, color=colour, capsize=3, label=name)
    ax.axhline(1, color="black", linestyle="--", linewidth=1)
    ax.set_xticks(range(len(names)), ["\n".join(map(str, dict.fromkeys(s))) for s in names], fontsize=7)
    ax.set_xlabel("M, N, K; a single number: all three")
    ax.set_ylabel(f"{last}: ratio to cuBLASLt")
    ax.legend(fontsize=7, frameon=False, loc="upper right")


def stages(rows, axes, recorded):
    """Time against the length of the ring."""
    series = sorted({(r["lesson"], r["m"]) for r in rows})
    for ax, size in zip(axes, sorted({m for _, m in series})):
        for lesson in lessons(rows):
            own = [r for r in rows if r["lesson"] == lesson and r["m"] == size]
            x = sorted({r["stages"] for r in own})
            style.spread(ax, x, [[r["ms_median"] for r in own if r["stages"] == s] for s in x], capsize=3, label=lesson,
                         **style.of(lesson))
        ax.set_xticks(sorted({r["stages"] for r in rows}))
        ax.set_ylim(0)
        ax.set_xlabel("stages")
        ax.set_ylabel(f"ms, M = N = K = {size}")
        ax.legend(fontsize=7, frameon=False, loc="lower right")


def copy(rows, axes, recorded):
    """Bytes in flight against bandwidth."""
    limit = next(r["gb_per_s"] for r in rows if r["kind"] == "cudaMemcpy")
    looks = [("#E69F00", "o"), ("#56B4E9", "s"), ("#0072B2", "^"), ("#B2182B", "D")]
    for ax, (kind, title) in zip(axes, (("load", "load: bytes read"), ("copy", "load and store: bytes read and written"))):
        own = [r for r in rows if r["kind"] == kind]
        for i, size in enumerate(sorted({r["stage_bytes"] for r in own})):
            line = sorted((r["bytes_in_flight"] / 2**20, r["gb_per_s"]) for r in own if r["stage_bytes"] == size)
            colour, marker = looks[i % len(looks)]
            ax.plot(*zip(*line), color=colour, marker=marker, markersize=4, linewidth=1.2, label=f"stages of {size // 1024} KiB")
        best = max(r["gb_per_s"] for r in own)
        ax.axhline(limit, color="black", linestyle="--", linewidth=1, label="cudaMemcpy, read and written")
        ax.set_xscale("log", base=2)
        ax.set_xticks([0.25, 0.5, 1, 2, 4, 8, 16, 32], ["1/4", "1/2", "1", "2", "4", "8", "16", "32"])
        ax.set_ylim(0, 1.6 * max(best, limit))
        ax.set_xlabel("MiB in flight, all SMs")
        ax.set_ylabel("GB/s")
        ax.set_title(f"{title}\nat most {best:.0f} GB/s, {best / limit:.2f} of cudaMemcpy", fontsize=8)
        ax.legend(fontsize=7, frameon=False, loc="upper left")


def instructions(rows, axes, recorded):
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
    ax.set_xticks(range(len(rows)), [style.short(r["lesson"]) for r in rows], fontsize=6.5)
    ax.set_ylabel("thread instructions per 128 x 128 x 64")
    style.legend_beside(ax)


def predicted(rows, axes, recorded):
    """What the timed schedule predicts against what was recorded: the ladder, and the stage sweeps."""
    for ax, part, title in ((axes[0], "ladder", "the ladder, sustained load"), (axes[1], "stages", "rings of 2 to 6 stages")):
        own = [r for r in rows if r["part"] == part]
        top = 1.1 * max(max(r["recorded"], r["predicted"]) for r in own)
        ax.plot([0, top], [0, top], color="black", linewidth=1)
        ax.fill_between([0, top], [0, 0.88 * top], [0, 1.12 * top], color=style.NOTE, alpha=0.12, linewidth=0, label="within 12 %")
        for lesson in lessons(own):
            for size, filled in ((2048, "none"), (4096, "left"), (8192, "full")):
                at = [r for r in own if r["lesson"] == lesson and r["m"] == size]
                ax.plot([r["recorded"] for r in at], [r["predicted"] for r in at], fillstyle=filled,
                        label=lesson if size == 8192 else None, **dict(style.of(lesson), linestyle="none", markersize=6))
        errors = [abs(r["error"]) for r in own]
        ax.set_title(f"{title}\nmean error {100 * sum(errors) / len(errors):.1f} %, largest {100 * max(errors):.1f} %", fontsize=8)
        ax.set_xlim(0, top)
        ax.set_ylim(0, top)
        ax.set_aspect("equal")
        ax.set_xlabel("recorded TFLOP/s")
        ax.set_ylabel("predicted TFLOP/s")
        ax.legend(fontsize=6, frameon=False, loc="upper left", title="full: 8192, half: 4096, open: 2048", title_fontsize=6)


SOURCES = {"CUTLASS": ("#0072B2", "o"), "ThunderKittens": ("#E69F00", "s"), "fast.cu": ("#B2182B", "^")}


def others(rows, axes, recorded, measured):
    """Others' kernels, to which nothing was fitted: TFLOP/s, and cycles where they were counted."""
    rows = beside(rows, measured)
    counted = [dict(r, predicted=r["cycles"] / 1000, recorded=r["counted"] / 1000) for r in rows if r["counted"]]
    for ax, own, unit in ((axes[0], rows, "TFLOP/s"), (axes[1], counted, f"1000 cycles at {counted[0]['m']}")):
        top = 1.1 * max(max(r["recorded"], r["predicted"]) for r in own)
        ax.plot([0, top], [0, top], color="black", linewidth=1)
        ax.fill_between([0, top], [0, 0.8 * top], [0, 1.2 * top], color=style.NOTE, alpha=0.12, linewidth=0, label="within 20 %")
        for source, (colour, marker) in SOURCES.items():
            for size, filled in ((2048, "none"), (4096, "left"), (8192, "full")):
                at = [r for r in own if r["source"] == source and r["m"] == size]
                ax.plot([r["recorded"] for r in at], [r["predicted"] for r in at], fillstyle=filled, color=colour, marker=marker, linestyle="none",
                        markersize=6, label=source if size == counted[0]["m"] else None)
        errors = [abs(r["predicted"] / r["recorded"] - 1) for r in own]
        ax.set_title(f"others' kernels, {unit}\nmean error {100 * sum(errors) / len(errors):.0f} %, largest {100 * max(errors):.0f} %", fontsize=8)
        ax.set_xlim(0, top)
        ax.set_ylim(0, top)
        ax.set_aspect("equal")
        ax.set_xlabel(f"recorded {unit}")
        ax.set_ylabel(f"predicted {unit}")
        ax.legend(fontsize=6, frameon=False, loc="upper left", title="full: 8192, half: 4096, open: 2048" if ax is axes[0] else None, title_fontsize=6)


def ring_kib(row):
    """KiB of the operand tiles that the CTAs of an SM hold together; 0 where the occupancy was not recorded."""
    bm, bn, bk = (int(x) for x in row["tile"].split("x"))
    return row.get("ctas_per_sm", 0) * row["stages"] * (bm + bn) * bk * 2 / 1024


def resources(rows, axes, recorded, counts):
    """Registers, room for tiles, and asynchronous copies for the same work. counts: the emulator's."""
    names = [n for n in lessons(rows) if any(r["lesson"] == n for r in counts)]
    registers = [max(r["registers"] for r in rows if r["lesson"] == name and r["m"] == 8192) for name in names]
    copies = [next(r["async_copies"] for r in counts if r["lesson"] == name) for name in names]
    room = [max(ring_kib(r) for r in rows if r["lesson"] == name and r["m"] == 8192) for name in names]
    for ax, values, label in ((axes[0], registers, "registers per thread at launch"), (axes[1], room, "KiB of rings per SM"),
                              (axes[2], copies, "async copies per 128 x 128 x 64")):
        ax.bar(range(len(names)), values, color=style.BAR, width=0.7)
        for i, value in enumerate(values):
            ax.annotate(f"{value:.4g}", (i, value), ha="center", xytext=(0, 3), textcoords="offset points", fontsize=6.5)
        ax.set_xticks(range(len(names)), [n[:2] for n in names], fontsize=8)
        ax.set_xlabel("lesson")
        ax.set_ylabel(label)
    axes[1].set_visible(any(room))
    axes[2].set_yscale("symlog", linthresh=1)
