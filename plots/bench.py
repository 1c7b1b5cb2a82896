"""Measures this machine's Hopper GPU and writes plots/mine/<gpu>-<part>-<date>.csv, a file for each part; with --record into
plots/data, from which the recorded figures and the numbers of the documents come:

  ladder    every solution beside cuBLASLt, at ten sizes, under sustained load
  turns     the solutions in one process, in turns of an order that is drawn anew for each round: which of two is the faster
  cool      the last solution beside cuBLASLt on a cool chip: short samples, each after a pause
  stages    the solutions that take --stages, at each length of the ring
  spills    the program beside lesson 07, with the registers moved and with an equal share of them
  times     cycles of the parts of a pipeline: copies, products, barriers
  copy      bytes in flight against bandwidth, for copies by the copy engine alone
  counters  what the hardware counted of one launch of each solution at 8192 (needs ncu, and the right to use it)

A row of ladder, cool, stages or spills is one process: it verifies the kernel, times kernel and cuBLASLt in turns on random data, and
verifies again. The rival is the fastest of cuBLASLt's algorithms in the same turns. All samples are in the row as they were
taken, with the clock and the power during each. The first process at a size and seed compares with a
reference; a later one whose result has the same hash need not. Rows are written as they come: a run that is cut short leaves
what it had. A file that is there stays: the second of a day has -2 in its name. The programs are the GPU builds in
BUILD/solutions and BUILD/bench.

usage: bench.py [--record] [--build DIR] [--parts LIST] [--processes N] [--rounds N] [--seconds S] [--commit HASH] [--out DIR]
Exit: 0 written, 1 a kernel was wrong or did not end, or a part has no row, 2 bad input or no GPU.
"""

import argparse
import csv
import datetime
import re
import shutil
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "checks"))
from workbook import device
from workbook.base import OK, WRONG, Stop
from workbook.run import run

PARTS = ["ladder", "turns", "cool", "stages", "spills", "times", "copy", "counters"]
LADDER = ["lesson", "m", "n", "k", "process", "variant", "tile", "stages", "registers", "ctas_per_sm", "ms_median",
          "ms_min", "ms_max", "samples", "tflops", "cublas_tflops", "ratio_median", "ratio_min", "ratio_max",
          "compared_with", "verdict", "state", "cublas_algorithm", "cublas_algorithms", "ms_samples", "cublas_ms_samples",
          "mhz_samples", "cublas_mhz_samples", "watts_samples", "cublas_watts_samples"]
SQUARES = [512, 1024, 2048, 4096, 8192, 16384]
OBLONG = [(1000, 1032, 520), (4096, 1024, 8192), (8192, 28672, 4096), (4104, 3992, 2056)]
LARGE, LARGE_FROM = {(16384, 16384, 16384), (8192, 28672, 4096)}, "08"  # seconds each: the fast rungs only
TURNS = ["lesson", "m", "n", "k", "process", "variant", "tile", "ms_median", "ms_min", "ms_max", "samples", "tflops", "state", "ms_samples",
         "sm_mhz_samples", "mhz_samples", "watts_samples"]
TURNS_PROCESSES = 3
TURNS_NOTE = ("bell-shaped random bf16 in [-1, 1]; every process times all solutions in turns, in an order drawn anew for each round; sm_mhz: "
              "the mean clock of the SMs during a sample, from their cycle counters")
VARIANTS_AT, VARIANTS_PROCESSES = [(4096, 4096, 4096), (8192, 8192, 8192)], 3
COUNTERS_AT = (8192, 8192, 8192)
COUNTERS = {"time_ns": "gpu__time_duration.sum", "sm_cycles_active": "sm__cycles_active.sum",
            "tensor_cycles_active": "sm__pipe_tensor_cycles_active.sum", "l2_bytes": "lts__t_bytes.sum",
            "l2_to_sm_bytes": "l1tex__m_xbar2l1tex_read_bytes.sum", "dram_read_bytes": "dram__bytes_read.sum",
            "dram_write_bytes": "dram__bytes_write.sum", "warp_instructions": "smsp__inst_executed.sum",
            "thread_instructions": "smsp__thread_inst_executed.sum"}
TENSOR_CORES = 4  # of an SM; each adds its own busy cycles to the count


def query(field):
    """What nvidia-smi says of the GPU, for the head of a file; '' where there is no such tool."""
    try:
        done = run(["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"], 30)
    except Stop:
        return ""
    return done.output.strip().split("\n")[0] if done.code == OK else ""


def first(pattern, command):
    """The first match in what a tool prints, or 'unknown'."""
    try:
        found = re.search(pattern, run(command, 30).output)
    except Stop:
        found = None
    return found[1] if found else "unknown"


class Table:
    """A CSV file that grows row by row; there is none before the first."""

    def __init__(self, path, header, columns):
        self.path, self.header, self.columns, self.rows = path, header, columns, 0

    def open(self):
        stem, number = self.path.stem, 1
        while self.path.exists():
            number += 1
            self.path = self.path.with_name(f"{stem}-{number}.csv")
        self.file = open(self.path, "w", newline="")
        for key, value in self.header.items():
            self.file.write(f"# {key}: {value}\n")
        self.writer = csv.DictWriter(self.file, self.columns, extrasaction="ignore", lineterminator="\n")
        self.writer.writeheader()

    def add(self, row):
        if self.rows == 0:
            self.open()
        self.writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
        self.file.flush()
        self.rows += 1


class Bench:
    def __init__(self, args, name):
        self.build = Path(args.build)
        self.args, self.end, self.failed = args, time.time() + args.seconds, 0
        self.known = {}  # (size, seed): the hash of a result that was compared with the reference
        self.gpu = name.lower().replace(" ", "-")
        commit = args.commit or first(r"^([0-9a-f]+)$", ["git", "-C", ROOT, "rev-parse", "--short", "HEAD"])
        self.header = {"device": name, "driver": query("driver_version"), "toolkit": first(r"V(\d+\.\d+\.\d+)", ["nvcc", "--version"]),
                       "date": datetime.date.today().isoformat(), "commit": commit, "power limit": query("power.limit"),
                       "SM clock, maximum": query("clocks.max.sm"), "memory clock, maximum": query("clocks.max.memory")}

    def table(self, part, note, columns):
        folder = Path(self.args.out or ROOT / "plots" / ("data" if self.args.record else "mine"))
        folder.mkdir(parents=True, exist_ok=True)
        return Table(folder / f"{self.gpu}-{part}-{self.header['date']}.csv", dict(self.header, data=note), columns)

    def programs(self):
        found = sorted(p for p in (self.build / "solutions").glob("[0-9][0-9]_*") if p.suffix == "")
        if not found:
            raise Stop(f"no GPU builds in {self.build}/solutions", ("try", "make bench"))
        return found

    def fail(self, what, why):
        print(f"{what}: {why.strip()[-400:]}", file=sys.stderr)
        self.failed += 1

    def late(self):
        return time.time() > self.end

    def measure(self, program, size, process, extra=()):
        """One process; its row, or None when it failed."""
        seed = process + 1
        command = [program, "--m", size[0], "--n", size[1], "--k", size[2], "--cublas", "--seed", seed, "--repeat",
                   self.args.rounds, *extra]
        if (size, seed) in self.known:
            command += ["--known", self.known[size, seed]]
        done = run(command, 300, json_option=True)
        if done.verdict != "right" or not done.result:
            self.fail(f"{program.name} {size} {' '.join(extra)}", done.result.get("classification") or f"{done.output}; {done.ended()}")
            return None
        self.known.setdefault((size, seed), done.result["result_hash"])
        return dict(done.result, process=process)

    def ladder(self):
        table = self.table("ladder", "bell-shaped random bf16 in [-1, 1]; every row is one process, kernel and cuBLASLt timed in "
                                     "turns", LADDER)
        programs = self.programs()
        for process in range(self.args.processes):
            for size in [(s, s, s) for s in SQUARES] + OBLONG:
                for program in programs:
                    if self.late() or (size in LARGE and program.name[:2] < LARGE_FROM):
                        continue
                    row = self.measure(program, size, process)
                    if row:
                        table.add(row)
        return table

    def turns(self):
        table = self.table("turns", TURNS_NOTE, TURNS)
        for process in range(min(TURNS_PROCESSES, self.args.processes)):
            if self.late():
                break
            done = run([self.build / "bench" / "ladder_turns", "--seed", process + 1, "--rounds", self.args.rounds,
                        *sorted((self.build / "bench" / "turns").glob("*.so"))], 300, merge=False)
            if done.code != OK:
                self.fail("ladder_turns", done.ended())
            for row in csv.DictReader(done.output.splitlines()):
                table.add(row)
        return table

    def cool(self):
        table = self.table("cool", "as in the ladder, on a cool chip", LADDER)
        program = self.programs()[-1]
        for process in range(self.args.processes):
            for size in [(s, s, s) for s in SQUARES] + OBLONG:
                row = None if self.late() else self.measure(program, size, process, ["--state", "cool"])
                if row:
                    table.add(row)
        return table

    def stages(self):
        table = self.table("stages", "as in the ladder, with --stages", LADDER)
        lengths = {}
        for program in self.programs():
            lengths[program] = re.findall(r"--stages (\d+)", run([program, "--help"], 60).output)
        return self.variants(table, [(program, ["--stages", length]) for program in lengths for length in lengths[program]])

    def spills(self):
        table = self.table("spills", "as in the ladder, with and without setmaxnreg", LADDER)
        program = self.build / "solutions" / "07b_spills"
        return self.variants(table, [(program, []), (program, ["--registers", "equal"])])

    def variants(self, table, variants):
        for process in range(min(VARIANTS_PROCESSES, self.args.processes)):
            for size in VARIANTS_AT:
                for program, options in variants:
                    row = None if self.late() else self.measure(program, size, process, options)
                    if row:
                        table.add(row)
        return table

    def printed(self, part, note):
        """The table that a program of its own prints."""
        program = self.build / "bench" / {"copy": "copy_bandwidth", "times": "hopper_times"}[part]
        if not program.exists():
            raise Stop(f"there is no {program}", ("try", "make bench"))
        done = run([program], 300, merge=False)
        rows = list(csv.DictReader(done.output.splitlines()))
        table = self.table(part, note, list(rows[0]) if rows else ["kind"])
        for row in rows:
            table.add(row)
        if done.code != OK:
            self.fail(program.name, done.ended())
        return table

    def copy(self):
        return self.printed("copy", "2 GiB; every run is checked")

    def times(self):
        return self.printed("times", "cycles of one SM, median, least and most of the samples; launch_*: nanoseconds")

    def counters(self):
        if not shutil.which("ncu"):
            print("counters: skipped: there is no ncu on the search path")
            return None
        table = None
        for program in self.programs():
            if self.late():
                break
            m, n, k = COUNTERS_AT
            # The clocks stay as they are; cycles are what is compared.
            out = run(["ncu", "--clock-control", "none", "--metrics", ",".join(COUNTERS.values()), "-k", "regex:gemm",
                                  "-c", "1", "--csv", program, "--m", m, "--n", n, "--k", k, "--repeat", "1"], 300).output
            start = out.find('"ID"')
            found = {row["Metric Name"]: row["Metric Value"].replace(",", "")
                     for row in csv.DictReader(out[start:].splitlines())} if start >= 0 else {}
            if set(COUNTERS.values()) - set(found):
                print(f"counters: skipped: ncu reads no counters here: {out.strip()[-300:]}")
                break
            row = {key: int(float(found[metric])) for key, metric in COUNTERS.items()}
            row["tensor_busy"] = row["tensor_cycles_active"] / (TENSOR_CORES * row["sm_cycles_active"])
            table = table or self.table("counters", "one launch of each, under ncu", ["lesson", "m", "n", "k", "tensor_busy", *COUNTERS])
            table.add(dict(row, lesson=program.name, m=m, n=n, k=k))
        return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--parts", default=",".join(PARTS), help=f"what to measure (default {','.join(PARTS)})")
    parser.add_argument("--processes", type=int, default=5, help="how often each size is measured (default 5)")
    parser.add_argument("--rounds", type=int, default=20, help="samples of a process (default 20)")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop starting new measurements after this time")
    parser.add_argument("--commit", default="", help="recorded in the header (default: git's)")
    parser.add_argument("--record", action="store_true", help="write to plots/data: the recorded measurements")
    parser.add_argument("--out", default="", help="folder to write to (default: plots/mine)")
    args = parser.parse_args()
    parts = args.parts.split(",")
    for part in parts:
        if part not in PARTS:
            raise Stop(f"--parts knows no {part!r}", ("try", f"some of {','.join(PARTS)}"))

    gpu, why = device.usable()
    if gpu is None:
        raise Stop("bench needs a Hopper GPU", ("why", why), ("try", "make plots draws the recorded data anywhere"))
    bench = Bench(args, gpu.name)
    for part in [p for p in ("times", "copy", "counters", "turns", "stages", "spills", "cool", "ladder") if p in parts]:  # the longest last
        start = time.time()
        table = getattr(bench, part)()
        if table and table.rows:
            print(f"{part}: {table.rows} rows in {time.time() - start:.0f} s: {table.path}", flush=True)
        elif table:
            bench.fail(part, "nothing was measured" + (f": the {args.seconds:.0f} s were over" if bench.late() else ""))
    print(f"{bench.failed} failed")
    return WRONG if bench.failed else OK


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Stop as stop:
        print(stop, file=sys.stderr)
        sys.exit(stop.code)
