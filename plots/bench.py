"""Times every solution on this machine's Hopper GPU beside cuBLASLt and writes plots/data/<gpu>-<date>.csv.

Each row is one process: it verifies the kernel against a reference, warms up, times kernel and cuBLASLt in turns on
random data, and verifies again. The programs are the GPU builds in BUILD/solutions.

usage: bench.py [--build DIR] [--processes N] [--seconds S] [--commit HASH] [--out FILE]
Exit: 0 written, 1 a kernel was wrong or did not end, 2 bad input or no GPU.
"""

import argparse
import csv
import datetime
import json
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = ["lesson", "m", "n", "k", "process", "tile", "stages", "registers", "ms_median", "ms_min", "ms_max", "samples",
           "tflops", "cublas_tflops", "ratio_median", "ratio_min", "ratio_max", "verdict"]
SQUARES = [512, 1024, 2048, 4096, 8192, 16384]
OBLONG = [(1000, 1032, 520), (4096, 1024, 8192), (8192, 28672, 4096), (4104, 3992, 2056)]
LARGE_FROM = "07"  # 16384 takes long; only the fast rungs are timed there


def die(message, hint):
    print(f"bench: {message}\n  try    {hint}", file=sys.stderr)
    sys.exit(2)


def query(field):
    try:
        done = subprocess.run(["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"], capture_output=True,
                              text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""


def one(program, size, seed):
    m, n, k = size
    command = [str(program), "--m", str(m), "--n", str(n), "--k", str(k), "--cublas", "--seed", str(seed), "--json", "-"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return None, "did not end within 300 s"
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return None, (done.stderr or done.stdout)[-400:]
    return json.loads(lines[-1]), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--processes", type=int, default=5, help="how often each size is measured (default 5)")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop starting new measurements after this time")
    parser.add_argument("--commit", default="", help="recorded in the header (default: git's)")
    parser.add_argument("--out", default="", help="file to write (default: plots/data/<gpu>-<date>.csv)")
    args = parser.parse_args()

    name = query("name")
    if not name or not query("compute_cap").startswith("9.0"):
        die(f"needs a Hopper GPU (compute capability 9.0); found {name or 'no GPU'}",
            "the recorded data under plots/data can be drawn anywhere:   make plots")
    programs = sorted(p for p in (Path(args.build) / "solutions").glob("[0-9][0-9]_*") if p.suffix == "")
    if not programs:
        die(f"no GPU builds in {args.build}/solutions", "make build DEVICE=gpu")
    commit = args.commit or subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True,
                                           text=True).stdout.strip()
    toolkit = subprocess.run(["nvcc", "--version"], capture_output=True, text=True).stdout
    header = {"device": name, "driver": query("driver_version"),
              "toolkit": (re.findall(r"V(\d+\.\d+\.\d+)", toolkit) or ["unknown"])[0],
              "date": datetime.date.today().isoformat(), "commit": commit, "power limit": query("power.limit"),
              "SM clock, maximum": query("clocks.max.sm"),
              "data": "bell-shaped random bf16 in [-1, 1]; every row is one process, kernel and cuBLASLt timed in turns"}

    rows, failed, end = [], 0, time.time() + args.seconds
    for process in range(args.processes):
        for size in [(s, s, s) for s in SQUARES] + OBLONG:
            for program in programs:
                if time.time() > end or (size[0] == SQUARES[-1] and program.name[:2] < LARGE_FROM):
                    continue
                row, problem = one(program, size, process + 1)
                if row is None or row.get("verdict") != "right":
                    print(f"{program.name} {size}: {problem or row.get('verdict')}", file=sys.stderr)
                    failed += 1
                    continue
                row["process"] = process
                rows.append(row)
    out = Path(args.out) if args.out else ROOT / "plots" / "data" / f"{name.lower().replace(' ', '-')}-{header['date']}.csv"
    with open(out, "w", newline="") as file:
        for key, value in header.items():
            file.write(f"# {key}: {value}\n")
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    print(f"{len(rows)} measurements, {failed} failed: {out}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
