"""Random programs of PTX arithmetic and control flow (checks/fuzz/isa) on the emulator and on a Hopper GPU.

The record has a line for each program: its number, and four hexadecimal digits for each result, a hash of what all threads
have there. `----` is a result on which the GPU does not agree with itself, between code that is optimised and code that is
not: the manual leaves it open, and nobody is held to it. A program that the driver's compiler cannot do is left out.
"""

import argparse
import concurrent.futures
import datetime
import re
import subprocess

from workbook import build, device
from workbook.base import BUILD, OK, ROOT, WRONG, Stop, load_text, save_text, shown
from workbook.recorded import driver_version

FOLDER = ROOT / "checks" / "fuzz" / "isa"
RECORD = FOLDER / "record.txt"
EMULATOR, GPU = BUILD / "checks" / "fuzz_isa", BUILD / "checks" / "fuzz_isa.gpu"
SEED, PROGRAMS = 1, 2400  # of the record
OPEN = "----"
BROKEN = 3  # exit code
LEFT_OUT = "?"  # in place of results: the driver's compiler crashes, or does not come to an end
LIMIT_S = 30  # of a process; it takes seconds
ALONE_S = 10  # of one with a single program
MODULE = 16  # programs that are compiled together
PART = 3 * MODULE  # programs of a process
SHOWN = 10  # mismatches that are made small


class NotEnded(Stop):
    """A process that had to be ended, or crashed; text: what it had printed."""

    def __init__(self, text, title, *lines):
        super().__init__(title, *lines, code=WRONG)
        self.text = text


def call(program, *options, limit_s=LIMIT_S):
    """What it prints. With exit code 3 the last line is "NUMBER !": the program that failed or did not end."""
    process = subprocess.Popen([str(program), *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    try:
        text, said = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        raise NotEnded(process.communicate()[0], f"{shown(program)} did not end in {limit_s} s", ("where", " ".join(map(str, options))),
                       ("why", "a driver may take for ever to compile a module"), ("try", "another --seed, or programs --from elsewhere"))
    if process.returncode < 0:
        raise NotEnded(text, f"{shown(program)} was ended by signal {-process.returncode}", ("where", " ".join(map(str, options))))
    if process.returncode not in (OK, WRONG, BROKEN):
        raise Stop(f"{shown(program)} failed", ("why", said.strip()[-2000:]), ("where", " ".join(map(str, options))), code=WRONG)
    return text


def in_parts(work, items):
    with concurrent.futures.ThreadPoolExecutor(build.jobs()) as pool:
        return list(pool.map(work, items))


def hashes(program, seed, first, count, *options):
    """{number: hashes of its results, "!" where it failed or did not end, or LEFT_OUT} of `count` programs, by several processes:
    a GPU's driver must compile them. Of a module that it cannot compile, each program is tried alone."""
    def part(at):
        lines, end, alone = {}, min(at + PART, first + count), at  # before `alone`, one at a time
        while at < end:
            ended = True
            many, limit_s = (1, ALONE_S) if at < alone else (end - at, LIMIT_S)
            try:
                text = call(program, "--seed", seed, "--from", at, "--count", many, *options, limit_s=limit_s)
            except NotEnded as problem:
                ended, text = False, problem.text
            got = {int(words[0]): words[1] for words in map(str.split, text.splitlines())}
            if not ended and not got and at < alone:
                got = {at: LEFT_OUT}
            lines.update(got)
            at = max(got, default=at - 1) + 1
            if not ended and at >= alone:
                alone = at + MODULE
        return lines

    return {number: line for lines in in_parts(part, range(first, first + count, PART)) for number, line in lines.items()}


def slots(line):
    return [line[i:i + 4] for i in range(0, len(line), 4)]


def of_gpu(seed, first, count):
    """What the GPU computes, and OPEN where it depends on whether the code is optimised."""
    usual, plain = (hashes(GPU, seed, first, count, "--optimise", level) for level in (3, 0))
    broken = [number for number in usual if "!" in (usual[number], plain[number])]
    if broken:
        raise Stop(f"programs {', '.join(map(str, broken))} of seed {seed} fail or do not end on the GPU", code=WRONG)
    left_out = [number for number in usual if LEFT_OUT in (usual[number], plain[number])]
    if left_out:
        print(f"left out: programs {', '.join(map(str, left_out))} of seed {seed}, which the driver's compiler crashes on, or does not end with")
    return {number: "".join(a if a == b else OPEN for a, b in zip(slots(usual[number]), slots(plain[number])))
            for number in usual if number not in left_out}


def different(want, got):
    """The results that differ, of one program."""
    if len(want) != len(got):
        return [0]
    return [k for k, (a, b) in enumerate(zip(slots(want), slots(got))) if a not in (b, OPEN)]


# ---- a mismatch, made small; only where the GPU is

def values(program, seed, number, without):
    options = ["--without", ",".join(map(str, sorted(without)))] if without else []
    text = call(program, "--seed", seed, "--from", number, "--count", 1, "--values", *options)
    return {int(words[0]): words[1:] for words in map(str.split, text.splitlines())}


def statements(seed, number):
    """[(number, text)] of a program's statements."""
    text = call(EMULATOR, "--seed", seed, "--from", number, "--count", 1, "--show")
    return [(int(m[1]), m[2]) for m in re.finditer(r"^// statement (\d+)\n(.*?)(?=^// statement|^  ret;\n}\n\Z)", text, re.M | re.S)]


def smaller(seed, number, slot):
    """(the statements that must stay for a result to differ, their text, {thread: (GPU, emulator)}): others are left out."""
    parts = statements(seed, number)
    its = next(n for n, text in parts if re.search(rf"// {slot}$", text, re.M))

    def apart(kept):
        without = {n for n, _ in parts} - set(kept)
        gpu, emulator = (values(program, seed, number, without).get(slot, []) for program in (GPU, EMULATOR))
        return {t: pair for t, pair in enumerate(zip(gpu, emulator)) if pair[0] != pair[1]}

    kept = [n for n, _ in parts if n <= its]
    size = max(1, len(kept) - 1)
    while size:
        at = 0
        while at < len(kept):
            fewer = [n for i, n in enumerate(kept) if not at <= i < at + size or n == its]
            if len(fewer) < len(kept) and apart(fewer):
                kept = fewer
            else:
                at += size
        size //= 2
    texts = dict(parts)
    return kept, "".join(texts[n] for n in kept), apart(kept)


def tell(seed, number, slot):
    kept, text, threads = smaller(seed, number, slot)
    lines = [f"program {number} of seed {seed}: result {slot} differs in {len(threads)} threads; statements {', '.join(map(str, kept))} suffice", text.rstrip()]
    lines += [f"  thread {t}: GPU {gpu}, emulator {emulator}" for t, (gpu, emulator) in list(threads.items())[:8]]
    return "\n".join(lines)


def opcode(seed, number, slot):
    """The instruction whose result it is: many programs meet the same mistake."""
    text = next(text for _, text in statements(seed, number) if re.search(rf"// {slot}$", text, re.M))
    before = text[:re.search(rf"st\.global.*// {slot}$", text, re.M).start()]
    words = re.findall(r"^  (?:@!?%\w+ )?([a-z][\w.:]*) ", before, re.M)
    return ([w for w in words if not w.startswith(("st.", "ld.", "selp."))] or words or ["?"])[-1]


def compare(seed, want):
    """The emulator with what the GPU has computed, on a machine with both."""
    got = hashes(EMULATOR, seed, min(want), max(want) + 1 - min(want))
    wrong = {number: different(want[number], got[number]) for number in want}
    wrong = {number: found for number, found in wrong.items() if found}
    results = sum(len(line) // 4 for line in want.values())
    print(f"{len(want)} programs of seed {seed}, {results} results of 128 threads each; {sum(line.count(OPEN) for line in want.values())} are left open; "
          f"{len(wrong)} programs differ", flush=True)
    kinds = {}
    for (number, found), name in zip(wrong.items(), in_parts(lambda w: opcode(seed, w[0], w[1][0]), wrong.items())):
        kinds.setdefault(name, []).append((number, found[0]))
    for name, places in sorted(kinds.items()):
        print(f"  {name}: programs {', '.join(str(number) for number, _ in places[:12])}" + (" ..." if len(places) > 12 else ""))
    chosen = [place for places in kinds.values() for place in places[:2]][:SHOWN]
    for text in in_parts(lambda place: tell(seed, *place), chosen):
        print("\n" + text, flush=True)
    return WRONG if wrong else OK


# ---- the commands

def record():
    """The record anew, on a Hopper GPU whose programs are built."""
    lines = [f"{number} {line}" for number, line in sorted(of_gpu(SEED, 0, PROGRAMS).items())]
    before = load_text(RECORD).splitlines() if RECORD.exists() else []
    same = [line for line in before if not line.startswith("#")] == lines
    if not same:
        header = [f"# device: {device.choose('gpu').name}", f"# driver: {driver_version()}", "# toolkit: " + ".".join(map(str, build.toolkit())),
                  f"# date: {datetime.date.today().isoformat()}", f"# seed: {SEED}"]
        save_text(RECORD, "\n".join(header + lines) + "\n")
    print(f"fuzz-isa: {len(lines)} programs, " + ("as before" if same else f"written to {shown(RECORD)}"))
    return OK


def options(words):
    parser = argparse.ArgumentParser(prog="make fuzz-isa", description="Without options: the recorded programs. With: others, on both devices.")
    parser.add_argument("--seed", type=int, help="of other programs, which a Hopper GPU and the emulator run")
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="NUMBER", help="the first of them (0)")
    parser.add_argument("--count", type=int, default=400, help="how many (400)")
    return parser.parse_args(words)


def fuzz(words):
    asked = options(words)
    if words:
        build.prepare("check.fuzz_isa", "check.fuzz_isa.gpu", again=True)
        device.choose("gpu", build.toolkit()[0])
        seed = SEED if asked.seed is None else asked.seed
        return compare(seed, of_gpu(seed, asked.first, asked.count))
    if device.asked() == "gpu":
        build.prepare("check.fuzz_isa.gpu", again=True)
        device.choose("gpu", build.toolkit()[0])
        return record()
    build.prepare("check.fuzz_isa", again=True)
    return subprocess.run([str(EMULATOR), "--seed", str(SEED), "--against", str(RECORD), "--keep", str(BUILD / "checks")]).returncode
