"""The measured numbers in the documents, written from the newest files of plots/data.

A document says where:   <!-- measured: NAME -->  ...  <!-- measured: end -->   NAME is a function of BLOCKS below.

Exit: 0 written or equal, 1 a document differs from the data, 2 bad input.
"""

import argparse
import re
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path
from statistics import median

from data import beside, lessons, load, middle, newest, pick

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ["README.md", "plots/README.md", "lessons/05_tma_multistage/README.md", "lessons/07_registers/README.md",
             "lessons/09_cluster_multicast/README.md", "lessons/11_stream_k/README.md"]
BLOCK = re.compile(r"<!-- measured: (?!end)(\w+) -->\n(.*?)<!-- measured: end -->", re.DOTALL)
SQUARES = [(s, s, s) for s in (512, 1024, 2048, 4096, 8192, 16384)]
RAGGED = (4104, 3992, 2056)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def machine(header):
    return f"{header['device']}, driver {header['driver']}, toolkit {header['toolkit']}, {header['date']}, commit {header['commit']}"


def cell(rows, lesson, size):
    ratio = middle(rows, lesson, size, "ratio_median")
    return "" if ratio is None else f"{middle(rows, lesson, size, 'tflops'):.0f} ({ratio:.2f})"


def counted_in(rows):
    """How many processes a point has, and samples a process: "1 process of 8 samples", "9 to 10 processes of 20 samples"."""
    points = Counter((r["lesson"], r["m"], r["n"], r["k"]) for r in rows)
    fewest, most, samples = min(points.values()), max(points.values()), max(r["samples"] for r in rows)
    processes = f"{fewest} to {most} processes" if fewest != most else f"{most} process{'es' if most > 1 else ''}"
    return f"{processes} of {samples} samples"


def ladder():
    path = newest("ladder")
    header, rows = load(path)
    sizes = [size for size in SQUARES + [RAGGED] if any(pick(rows, lesson, size, "tflops") for lesson in lessons(rows))]
    return (
        f"Measured under sustained load on {machine(header)}: TFLOP/s, and in brackets the ratio to the fastest of cuBLASLt's "
        f"algorithms in the same turns, on random data. Medians over {counted_in(rows)} each; every result was compared with a "
        f"reference. The numbers come from [{path.name}](plots/data/{path.name}).\n\n"
    ) + table(["M = N = K"] + [str(s[0]) for s in sizes if s in SQUARES] + [" x ".join(map(str, s)) for s in sizes if s == RAGGED],
              [[lesson] + [cell(rows, lesson, size) for size in sizes] for lesson in lessons(rows)])


def against_cublas():
    header, rows = load(newest("ladder"))
    own = [r for r in rows if r["lesson"] == lessons(rows)[-1]]
    _, cool = load(newest("cool"))
    span = lambda values: f"{min(values):.3f} to {max(values):.3f}"

    def ratio(some, size):
        at = [r for r in some if (r["m"], r["n"], r["k"]) == size]
        rounds = [theirs / ours for r in at for ours, theirs in zip(samples(r, "ms_samples"), samples(r, "cublas_ms_samples"))]
        return [f"{median(r['tflops'] for r in at):.0f}", f"{median(r['cublas_tflops'] for r in at):.0f}",
                f"{median(rounds):.3f}, {span(rounds)}"] if at else ["", "", ""]

    lines = []
    for size in dict.fromkeys((r["m"], r["n"], r["k"]) for r in own + cool):
        tile = next(r["tile"] for r in own + cool if (r["m"], r["n"], r["k"]) == size)
        lines.append([" x ".join(map(str, size)), tile, *ratio(own, size), *ratio(cool, size)])
    return (f"Lesson {own[0]['lesson'][:2]} beside the fastest of cuBLASLt's algorithms in the same turns ({machine(header)}); TFLOP/s, "
            f"and the ratio by rounds: median, least to most. Sustained load: {counted_in(own)}; cool chip: {counted_in(cool)}.\n\n"
            ) + table(["M x N x K", "tile", "sustained", "cuBLASLt", "ratio", "cool", "cuBLASLt", "ratio"], lines)


def samples(row, key):
    return [float(value) for value in str(row[key]).split()]


def stages():
    header, rows = load(newest("stages"))
    lesson, size = "05_tma_multistage", 8192
    own = [r for r in rows if r["lesson"] == lesson and r["m"] == size]
    lengths = sorted({r["stages"] for r in own})
    at = {s: [r for r in own if r["stages"] == s] for s in lengths}
    return f"This lesson at M = N = K = {size} ({machine(header)}):\n\n" + table(
        ["stages"] + [str(s) for s in lengths],
        [["ms"] + [f"{median(r['ms_median'] for r in at[s]):.3f}" for s in lengths],
         ["TFLOP/s"] + [f"{median(r['tflops'] for r in at[s]):.0f}" for s in lengths]])


def spills():
    header, rows = load(newest("spills"))
    sizes = sorted({r["m"] for r in rows})

    def line(variant):
        at = [[r for r in rows if r["variant"] == variant and r["m"] == size] for size in sizes]
        return [f"{median(r['ms_median'] for r in some):.3f}, {median(r['tflops'] for r in some):.0f}" for some in at]

    taken = counted_in([r for r in rows if not r["variant"]])
    return f"Milliseconds and TFLOP/s (M = N = K; {machine(header)}; {taken}, medians):\n\n" + table(
        ["M = N = K"] + [str(s) for s in sizes],
        [["registers moved"] + line(""), ["an equal share"] + line("--registers equal")])


def copy():
    header, rows = load(newest("copy"))
    limit = next(r["gb_per_s"] for r in rows if r["kind"] == "cudaMemcpy")
    best = {kind: max((r for r in rows if r["kind"] == kind), key=lambda r: r["gb_per_s"]) for kind in ("load", "copy")}
    enough = min(r["bytes_in_flight"] for r in rows if r["kind"] == "load" and r["gb_per_s"] >= 0.9 * best["load"]["gb_per_s"])
    return (
        f"On one {machine(header)}: `cudaMemcpy` from device to device moves {limit:.0f} GB/s, bytes read and written counted. The "
        f"copy engine reads at most {best['load']['gb_per_s']:.0f} GB/s, {best['load']['gb_per_s'] / limit:.2f} of that, and "
        f"copies at most {best['copy']['gb_per_s']:.0f} GB/s, {best['copy']['gb_per_s'] / limit:.2f}. Nine tenths of its best "
        f"reading rate take {enough / 2**20:.1f} MiB in flight on the whole chip, {enough / best['load']['ctas'] / 1024:.0f} KiB per SM.\n")


def counted(names):
    header, rows = load(newest("counters"))
    gb = lambda value: f"{value / 1e9:.2f}"
    issued = lambda row: f"{row['warp_instructions'] / 1e6:.0f}" if "warp_instructions" in row else ""
    return f"{rows[0]['m']} x {rows[0]['n']} x {rows[0]['k']}, one launch under ncu ({machine(header)}):\n\n" + table(
        ["lesson", "tensor cores busy", "GB that reach the SMs", "GB that L2 handles", "GB read from DRAM", "written",
         "million warp instructions"],
        [[r["lesson"], f"{100 * r['tensor_busy']:.1f} %", gb(r["l2_to_sm_bytes"]), gb(r["l2_bytes"]), gb(r["dram_read_bytes"]),
          gb(r["dram_write_bytes"]), issued(r)] for r in rows if r["lesson"] in names or not names])


def counters():
    return counted([])


def multicast():
    return counted(["08_tma_store", "09_cluster_multicast"])


def busy():
    header, rows = load(newest("counters"))
    row = next(r for r in rows if r["lesson"] == "11_stream_k")
    return (f"At {row['m']} the tensor cores are busy in {100 * row['tensor_busy']:.1f} % of the cycles in which an SM works "
            f"({machine(header)}).\n")


def by_point(rows):
    """{(lesson, size): its processes}"""
    found = {}
    for r in rows:
        found.setdefault((r["lesson"], r["m"]), []).append(r)
    return found


def tflops(processes):
    return [r["tflops"] for r in processes]


def a_of(row):
    return row["lesson"][:2]


def cycles(predicted, processes):
    """Of a launch, by the clock of the SMs while it was timed; without the time from grid to grid."""
    overlaps = predicted["ms"] - predicted["cycles"] / predicted["mhz"] / 1000
    return median((median(samples(r, "ms_samples")) - overlaps) * 1000 * median(samples(r, "sm_mhz_samples")) for r in processes)


def predictions():
    header, rows = load(ROOT / "plots" / "data" / "emulator-predictions.csv", ("toolkit", "recorded"))
    own = [r for r in rows if r["part"] == "ladder"]
    sizes = sorted({r["m"] for r in own})
    at = {(r["lesson"], r["m"]): r for r in own}
    errors = {part: [abs(r["error"]) for r in rows if r["part"] == part] for part in ("ladder", "stages")}
    turns = by_point(load(newest("turns"))[1])
    pairs = [(a, b, turns[a["lesson"], a["m"]], turns[b["lesson"], b["m"]]) for a, b in combinations(own, 2) if a["m"] == b["m"]]
    apart = [(a, b, x, y) for a, b, x, y in pairs if min(tflops(x)) > max(tflops(y)) or min(tflops(y)) > max(tflops(x))]
    swapped = [(a, b, x, y) for a, b, x, y in apart if (median(tflops(x)) - median(tflops(y))) * (a["predicted"] - b["predicted"]) < 0]
    distance = max((abs(median(tflops(x)) / median(tflops(y)) - 1) for _, _, x, y in swapped), default=0)
    again = [abs(r["predicted"] / median(tflops(turns[r["lesson"], r["m"]])) - 1) for r in own]
    of_cycles = {size: [r["cycles"] / cycles(r, turns[r["lesson"], size]) - 1 for r in own if r["m"] == size] for size in sizes}
    said = {part: f"{100 * sum(e) / len(e):.1f} % on the average and {100 * max(e):.1f} % at most" for part, e in errors.items()}
    return (
        f"TFLOP/s predicted, recorded, and the error (recorded: {header['recorded']}; PTX of toolkit {header['toolkit']}). The error is "
        f"{said['ladder']}; of the stage sweeps of lessons 05 and 11, {said['stages']}.\n\n"
        f"Beside three more processes, in each of which all rungs take turns ({newest('turns').name}), it is {100 * sum(again) / len(again):.1f} % on the "
        f"average and {100 * max(again):.1f} % at most. These separate {len(apart)} of the {len(pairs)} pairs of rungs at one size: the medians of one are all "
        f"above those of the other. Of these {len(swapped)} {'is' if len(swapped) == 1 else 'are'} predicted in the wrong order"
        + (f" ({'; '.join(f'{a_of(a)} and {a_of(b)} at {size}' for size, a, b in [(p[0]['m'], p[0], p[1]) for p in swapped])}), "
           f"at most {100 * distance:.1f} % apart" if swapped else "") + ". "
        "In cycles, by the clock that the SMs' own counters show there, the predictions are off by "
        + ", ".join(f"{100 * sum(e) / len(e):+.1f} % ({100 * min(e):+.0f} to {100 * max(e):+.0f} %) at {size}" for size, e in of_cycles.items()) + ".\n\n"
    ) + table(["M = N = K"] + [str(s) for s in sizes],
              [[lesson] + [f"{at[lesson, s]['predicted']:.0f}, {at[lesson, s]['recorded']:.0f}: {100 * at[lesson, s]['error']:+.1f} %"
                           if (lesson, s) in at else "" for s in sizes] for lesson in lessons(own)])


def others():
    """Others' kernels, predicted before they were timed."""
    header, recorded = load(newest("others"))
    rows = beside(load(ROOT / "plots" / "data" / "emulator-foreign.csv", ("toolkit", "sources"))[1], recorded)
    counted = [r for r in rows if r["counted"]]
    sizes, names = sorted({r["m"] for r in rows}), list(dict.fromkeys((r["source"], r["kernel"], r["tile"]) for r in rows))
    at = {(r["source"], r["kernel"], r["tile"], r["m"]): r for r in rows}
    errors, counted_errors = [abs(r["error"]) for r in rows], [abs(r["cycles"] / r["counted"] - 1) for r in counted]
    second = {(r["source"], r["kernel"], r["tile"], r["m"]): r["tflops"] for r in load(newest("shuffled"))[1]}
    moved = [abs(second[key] / r["recorded"] - 1) for key, r in at.items()]
    again = [abs(r["predicted"] / second[key] - 1) for key, r in at.items()]
    within = sum(e <= 0.2 for e in errors)
    said = lambda r: f"{r['predicted']:.0f}, {r['recorded']:.0f}: {100 * r['error']:+.0f} %"
    of_cycles = lambda r: f"{r['cycles']:,}, {r['counted']:,}: {100 * (r['cycles'] / r['counted'] - 1):+.0f} %" if r["counted"] else ""
    return (
        f"TFLOP/s predicted, recorded, and the error; for {counted[0]['m']} also the cycles ({machine(header)}; {header['sources']}). In TFLOP/s "
        f"the error is {100 * sum(errors) / len(errors):.0f} % on the average, {100 * median(errors):.0f} % in the median and {100 * max(errors):.0f} % at "
        f"most; {within} of {len(errors)} are within 20 %. In cycles it is {100 * sum(counted_errors) / len(counted_errors):.0f} % on the average, "
        f"{100 * median(counted_errors):.0f} % in the median and {100 * max(counted_errors):.0f} % at most. A second process, with turns in an order drawn anew for "
        f"each round ({newest('shuffled').name}), differs from the first by {100 * median(moved):.0f} % in the median and {100 * max(moved):.0f} % at most; beside it "
        f"the error is {100 * sum(again) / len(again):.0f} % on the average, and {sum(e <= 0.2 for e in again)} of {len(again)} are within 20 %.\n\n"
    ) + table(["kernel", "tile"] + [str(s) for s in sizes] + [f"cycles at {counted[0]['m']}"],
              [[f"{source} {kernel}", tile] + [said(at[source, kernel, tile, s]) if (source, kernel, tile, s) in at else "" for s in sizes]
               + [of_cycles(at[source, kernel, tile, counted[0]["m"]])] for source, kernel, tile in names])


def times():
    """The micro-benchmarks, recorded and under the timed schedule."""
    header, rows = load(ROOT / "plots" / "data" / "emulator-times.csv", ("toolkit", "recorded"))
    errors = [abs(r["error"]) for r in rows]
    number = lambda cycles: f"{cycles:,.0f}" if cycles >= 100 else f"{cycles:.1f}"
    return (f"Cycles of an SM (recorded: {header['recorded']}; PTX of toolkit {header['toolkit']}). Of {len(rows)} benchmarks "
            f"{sum(e <= 0.1 for e in errors)} are within 10 % and {sum(e <= 0.3 for e in errors)} within 30 %; the error is {100 * median(errors):.0f} % in "
            f"the median.\n\n<details><summary>All of them</summary>\n\n") + table(
        ["program", "what", "measured", "timed", "error"],
        [[r["name"], r["what"], number(r["recorded"]), number(r["timed"]), f"{100 * r['error']:+.0f} %"] for r in rows]) + "\n</details>\n"


BLOCKS = {f.__name__: f for f in (ladder, against_cublas, stages, spills, copy, counters, multicast, busy, predictions, others, times)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    write, code = parser.parse_args().write, 0
    for name in DOCUMENTS:
        path = ROOT / name
        text = path.read_text()
        blocks = BLOCK.findall(text)
        unknown = [block for block, _ in blocks if block not in BLOCKS]
        if not blocks or unknown:
            print(f"measured: {name} has {'no measured block' if not blocks else 'unknown blocks: ' + ', '.join(unknown)}\n"
                  f"  try    <!-- measured: NAME --> ... <!-- measured: end -->, NAME one of {', '.join(BLOCKS)}", file=sys.stderr)
            return 2
        wanted = BLOCK.sub(lambda m: f"<!-- measured: {m[1]} -->\n{BLOCKS[m[1]]()}<!-- measured: end -->", text)
        if write:
            path.write_text(wanted)
        elif wanted != text:
            print(f"{name}: a measured block differs from the data\n  try    python3 plots/measured.py --write", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
