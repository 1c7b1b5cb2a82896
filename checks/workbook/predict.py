"""What a GEMM program would take on an H200: a window of it runs under the timed schedule, and is carried on to a large problem.

The window is a small problem that gives a few SMs (those of one cluster) a few tiles each, while the other SMs are taken to do
the same. Three of them are run. With W tiles on an SM and S steps of K in each, the cycles are c + W * (a + b * S); what a
large problem adds is more of the same steps, tiles and SMs. Then come the launch, and the clock, which is an assumption.
"""

import contextlib
import json
import math
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass
from statistics import median

from workbook import base, build
from workbook.base import OK, load_text, save_text, table
from workbook.lessons import lessons
from workbook.run import run

SMS = 132
LIMIT_S = 60
OWN_LIMIT_S = 300  # a program of a reader's own
SHORT, LONG = 16, 32  # steps of K
SIZES = (2048, 4096, 8192)
SHOWN = 4096
# The clocks of the SMs at which windows run, in MHz; between them the cycles are interpolated: L2 and DRAM keep their own clock.
MHZ = (1320, 1830)
# From the end of one grid to the next in the same stream, in microseconds: row launch_132 of plots/data/nvidia-h200-times-*.csv;
# where the next grid may begin before the end (programmatic dependent launch), a fit. Then what the first tiles of a grid wait for
# and a window does not show; a fit.
LAUNCH_US, OVERLAPPED_US, FIRST_TILES_US = 1.5, 0.4, 2.7
# The clock under load, in MHz, by the duration of a launch in microseconds: at its power limit the chip lowers it. A fit to the
# recorded processes, which are up to 8 % apart.
# sustained: the newest ladders; warm: the stage sweeps and the ladder before, between whose samples the chip rested for longer.
LEVELS = {"sustained": [(30, 1830), (200, 1400), (1500, 1310)], "warm": [(30, 1830), (200, 1545), (1500, 1355)]}


def clock(microseconds, state):
    """MHz during a launch of that duration."""
    levels = LEVELS[state]
    for (left, high), (right, low) in zip(levels, levels[1:]):
        if left < microseconds <= right:
            return high + (low - high) * math.log(microseconds / left) / math.log(right / left)
    return levels[0][1] if microseconds <= levels[0][0] else levels[-1][1]


@dataclass
class Prediction:
    m: int
    n: int
    k: int
    cycles: float
    mhz: float
    ms: float

    @property
    def tflops(self):
        return 2e-9 * self.m * self.n * self.k / self.ms


@dataclass
class Costs:
    """What a window has shown at one clock of the SMs, in cycles of an SM."""
    start: float     # once
    per_tile: float  # for each tile
    per_step: float  # for each step of a tile
    waits: float     # share of a step in which the tensor cores wait for copies


@dataclass
class Window:
    """What the windows of a program have shown."""
    tile: tuple
    stages: int
    cluster: int
    ctas_per_sm: int
    split: bool      # the last tiles are split along K
    overlaps: bool   # the next launch may begin before the end
    busy: float      # of a step, the cycles in which the tensor cores work
    slow: Costs      # at the two clocks
    fast: Costs
    sms: int = SMS   # that have work

    def tiles(self, m, n):
        """That the busiest SM computes."""
        bm, bn, _ = self.tile
        all_tiles, groups = math.ceil(m / (bm * self.cluster)) * math.ceil(n / bn), self.sms // self.cluster
        return all_tiles / groups if self.split and all_tiles > groups else math.ceil(all_tiles / groups)

    def costs(self, mhz):
        share = (mhz - MHZ[0]) / (MHZ[1] - MHZ[0])
        return Costs(*(a + share * (b - a) for a, b in zip(astuple(self.slow), astuple(self.fast))))

    def at(self, m, n, k, state="sustained"):
        tiles, steps = self.tiles(m, n), math.ceil(k / self.tile[2])
        launch = (OVERLAPPED_US if self.overlaps else LAUNCH_US) + FIRST_TILES_US
        mhz = LEVELS[state][0][1]
        for _ in range(8):  # the clock depends on how long it takes
            costs = self.costs(mhz)
            cycles = costs.start + tiles * (costs.per_tile + steps * costs.per_step)
            microseconds = cycles / mhz + launch
            mhz = clock(microseconds, state)
        return Prediction(m, n, k, cycles, mhz, microseconds / 1000)


class NoPrediction(Exception):
    """There is none; str() says why."""


def timed(command, sms, m, n, k, mhz=MHZ[0]):
    """(what the timed schedule has seen, what the program said); None for a program that refuses its options."""
    done = run([*command, "--m", m, "--n", n, "--k", k], LIMIT_S, json_option=True, EMU_SCHEDULE=f"timed:{sms}", EMU_MHZ=mhz, EMU_CHECK="off")
    if done.verdict == "refused":
        return None
    if done.verdict != "right" or "timed" not in done.emu:
        raise NoPrediction(f"its window of {m} x {n} x {k} {done.ended()}, {done.verdict}")
    return done.emu["timed"], done.result


def window(command, tile):
    """Runs the windows of a program; command: the program and its options, sizes apart. tile: BM, BN, BK."""
    bm, bn, bk = tile
    persistent = timed([*command, "--sms", 2], 2, bm, bn, bk)
    seen, said = persistent or timed(command, 1, bm, bn, bk)
    cluster, per_sm, split = seen["cluster"], seen["ctas_per_sm"], "stream-k" in said.get("variant", "")
    sms = 2 * cluster if split else max(2, cluster) if persistent else cluster
    words = [*command, "--sms", sms] if persistent else command
    # Tiles of a cluster, on so many clusters; split: one more than makes whole rounds.
    counts = [sms // cluster * per_sm * rounds + split for rounds in (1, 3)]

    def one(count, steps, mhz):
        return timed(words, sms, bm * cluster * count, bn, bk * steps, mhz)[0]

    return fitted(tile, one, counts, [count * cluster / sms for count in counts], said.get("stages", 0), split)


def fitted(tile, one, counts, rounds, stages=0, split=False):
    """The window of runs in which each SM has few tiles of many steps, many tiles of few, and many tiles of many, at two clocks.
    one(count, steps, mhz): what a run with the first or second of `counts` has shown; rounds: the tiles of an SM then."""
    w0, w1 = rounds
    asked = [(count, steps, mhz) for mhz in MHZ for count, steps in ((counts[0], LONG), (counts[1], SHORT), (counts[1], LONG))]
    with ThreadPoolExecutor(build.jobs()) as pool:
        runs = list(pool.map(lambda a: one(*a), asked))
    busy = runs[2]["cycles"] * runs[2]["tensor_busy"] / (w1 * LONG)

    def costs(few, short, long):
        more = long["cycles"] - short["cycles"]
        per_step = max(busy, more / (w1 * (LONG - SHORT)))  # the tensor cores are the limit
        per_tile = (long["cycles"] - few["cycles"]) / (w1 - w0) - LONG * per_step
        waited = long["cycles"] * long["waits_for_copies"] - short["cycles"] * short["waits_for_copies"]
        return Costs(long["cycles"] - w1 * (per_tile + LONG * per_step), per_tile, per_step, waited / more)

    long = runs[2]
    return Window(tile, stages, long["cluster"], long["ctas_per_sm"], split, long["overlaps"], busy, costs(*runs[:3]), costs(*runs[3:]))


def own_window(timed_at, tile, unit=None):
    """The window of a program that nothing is known of but its tile. timed_at(sms, m, n, k, first, mhz): what the timed schedule
    sees of it; first: of its grid, the CTAs that fit on those SMs and no others run. unit: the least M and N it takes, where that
    is more than a tile.

    Its grid may have a CTA for every tile, or follow the number of multiprocessors, which a window tells it; or always be the
    same: then the window runs its first CTAs."""
    bm, bn, bk = tile
    first = timed_at(SMS, *(unit or (bm, bn)), bk)  # on all: a cluster may need more than one
    cluster, per_sm = first["cluster"], first["ctas_per_sm"]
    um, un = unit or (bm * cluster, bn * cluster)
    of_unit = math.ceil(um / bm) * math.ceil(un / bn)
    many = math.ceil(3 * SMS / of_unit)
    grid = timed_at(cluster, um * many, un, bk, True)["ctas"]
    fixed = cluster * per_sm < grid < of_unit * many
    places = grid if fixed else cluster * per_sm
    times = math.lcm(places, of_unit) // of_unit  # so many units fill the places

    def one(rounds, steps, mhz):
        return timed_at(cluster, um * times * rounds, un, bk * steps, fixed, mhz)

    seen = fitted(tile, one, (1, 3), [rounds * times * of_unit * per_sm / places for rounds in (1, 3)])
    seen.sms = min(SMS, math.ceil(grid / per_sm)) if fixed else SMS
    return seen


def tile_of(result):
    found = tuple(int(x) for x in re.findall(r"\d+", str(result.get("tile", ""))))
    if len(found) != 3 or not all(found):
        raise NoPrediction("the program does not say its tile")
    return found


# ---- the lessons, beside what is recorded

@dataclass
class Recorded:
    """A point of the recorded ladder: the options it ran with, its tile, and the median of its processes."""
    options: str
    tile: str
    tflops: float


def recorded_ladder():
    """{(lesson, size): Recorded} of the newest recorded ladder; empty where a copy of the workbook has no measurements."""
    if not (base.ROOT / "plots" / "data.py").exists():
        return {}
    sys.path.insert(0, str(base.ROOT / "plots"))
    from data import load, newest
    rows = {}
    for row in load(newest("ladder"))[1]:
        if row["m"] == row["n"] == row["k"]:
            rows.setdefault((row["lesson"], row["m"]), []).append(row)
    return {at: Recorded(found[0]["variant"], found[0]["tile"], median(r["tflops"] for r in found)) for at, found in rows.items()}


def worked_window(program, options, tile):
    """The window of a worked program, kept beside the build as long as the program stays the same."""
    words = options.split()
    path = base.BUILD / "predicted" / f"{'_'.join([program.stem, *words]).replace('/', '_')}.json"
    key = [program.stat().st_mtime_ns, program.stat().st_size]
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(load_text(path))
        if kept["key"] == key:
            costs = {clock: Costs(**kept["window"].pop(clock)) for clock in ("slow", "fast")}
            return Window(**kept["window"], **costs)
    made = window([program, *words], tile)
    save_text(path, json.dumps({"key": key, "window": asdict(made)}))
    return made


def rung(program, name, sizes, ladder):
    """(Window, Prediction, Recorded) of a lesson's worked program for each size that is recorded."""
    out = {}
    for size in sizes:
        known = ladder.get((name, size))
        if known:
            seen = worked_window(program, known.options, tile_of({"tile": known.tile}))
            out[size] = seen, seen.at(size, size, size), known
    return out


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


def sentence_lines(program, lesson):
    """What a student's right program would take, beside the worked one, for a person: lines to print, or none."""
    known = recorded_ladder().get((lesson.name, SHOWN))
    if not known:
        return []
    tile = tile_of({"tile": known.tile})
    try:
        own = window([program, *known.options.split()], tile)
        theirs = worked_window(lesson.program("emu"), known.options, tile)
    except NoPrediction as why:
        return ["", f"no prediction for an H200: {why}"]
    mine, worked = (seen.at(SHOWN, SHOWN, SHOWN) for seen in (own, theirs))
    stages = f"{NUMBERS[own.stages]} stage{'s' if own.stages > 1 else ''}: " if 0 < own.stages < len(NUMBERS) else ""
    return ["", f"predicted on an H200 at {SHOWN}: {mine.tflops:.0f} TFLOP/s; the worked program {worked.tflops:.0f}; {stages}"
                f"the tensor core waits {100 * max(0.0, own.costs(mine.mhz).waits):.0f} % of the time for copies"]


def cells(found, sizes):
    """Predicted and recorded TFLOP/s for each size, as text."""
    return [text for size in sizes for text in ((f"{found[size][1].tflops:.0f}", f"{found[size][2].tflops:.0f}") if size in found else ("-", "-"))]


def show(wanted):
    chosen, ladder = lessons(wanted), recorded_ladder()
    build.prepare(*[f"solutions.{lesson.name}.emu" for lesson in chosen], again=True)
    rows = [[lesson.name, *cells(rung(lesson.program("emu"), lesson.name, SIZES, ladder), SIZES)] for lesson in chosen]
    table(["lesson", *[head for size in SIZES for head in (f"{size}", "recorded")]], rows)
    print("\n  TFLOP/s on an H200 at M = N = K, predicted by the emulator's timed schedule and recorded under sustained load")
    return OK


def show_own(seen):
    """The prediction of a reader's own program, for a person."""
    rows = []
    for size in SIZES:
        said = seen.at(size, size, size)
        rows.append([f"{size}", f"{said.cycles:,.0f}", f"{said.mhz:.0f}", f"{1000 * said.ms:.1f}", f"{said.tflops:.0f}"])
    table(["M = N = K", "cycles", "MHz", "us", "TFLOP/s"], rows)
    costs = seen.costs(said.mhz)
    bound = "the tensor cores" if costs.per_step <= 1.02 * seen.busy else f"other than the tensor cores, which need {seen.busy:.0f}"
    print(f"""
  a step of K   {costs.per_step:.0f} cycles on an SM, bound by {bound}; {100 * max(0.0, costs.waits):.0f} % of it they wait for copies
  a tile        {costs.per_tile:.0f} cycles more; a launch {max(0.0, costs.start):.0f}
  CTAs          {seen.ctas_per_sm} on an SM, clusters of {seen.cluster}{f", on {seen.sms} SMs" if seen.sms != SMS else ""}

  Carried on from small problems of the same program; the clock is an assumption (common/emulator/timed/README.md)""")
