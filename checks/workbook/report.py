"""What a person reads of one run: the cause at the line that is wrong, in one screen."""

import re

from workbook import base
from workbook.base import DIM, GREEN, RED, YELLOW, colour, load_text, paragraph, shown

CONTEXT = 1  # lines before and after the one that is marked
OTHERS = 3   # lines of others that took part
HEADS = ("  device", "  problem", "  kernel", "  result", "  time", "  cuBLASLt")  # lines of a lesson's program


CRASH = ("its host code ended it, not a kernel: those run under the checker, which tells what they do. Often the host reads or "
         "writes behind a pointer of cudaMalloc, which only kernels and cudaMemcpy may use")


def short(text):
    """Paths of the checkout as a reader of it writes them; a compiler may have written build/../lessons for lessons."""
    return re.sub(r"(?<=/)[^/\s]+/\.\./", "", text).replace(f"{base.ROOT}/", "")


def snippet(file, line, context=CONTEXT):
    """The source around a line, which has a marker; [] where it cannot be read."""
    try:
        text = load_text(file).splitlines()
    except OSError:
        return []
    around = range(max(line - context, 1), min(line + context, len(text)) + 1)
    return [colour(f"  > {n:4} | {text[n - 1]}", RED) if n == line else colour(f"    {n:4} | {text[n - 1]}", DIM)
            for n in around if line <= len(text)]


def place(finding, source):
    """(file, line) to mark: the innermost of the student's source, where what happened was inlined into it."""
    for frame in finding.get("chain", []):
        if frame["file"] == str(source):
            return frame["file"], frame["line"]
    return finding.get("file", ""), finding.get("line", 0)


def caller(chain, file, line):
    """The line of the same file that called the function in which (file, line) is; 0 where that is a kernel, or a lambda of one."""
    mine = [frame for frame in chain if frame["file"] == str(file)]
    at = next((i for i, frame in enumerate(mine) if frame["line"] == line), len(mine))
    function = mine[at].get("function", "") if at < len(mine) else ""
    if at + 1 >= len(mine) or "lambda" in function or "operator()" in function:
        return 0
    return mine[at + 1]["line"]


def brief(text, source):
    """Words of a report, with the student's source by its name alone."""
    return short(text).replace(short(str(source)), source.name) if source else short(text)


def finding_lines(finding, source):
    """One finding: its id and cause, the lines of those who took part, why, and what to try."""
    out = [colour(f"{finding['id']}: {brief(finding['title'], source)}", RED if finding["severity"] == "error" else YELLOW)]
    file, line = place(finding, source)
    called = caller(finding.get("chain", []), file, line)
    marked = snippet(file, line, 0 if called else CONTEXT) if file else []
    out += [f"  {shown(file)}:{line}", *marked] if marked else []
    out += ["  called from:", *snippet(file, called, 0)] if called else []
    drawn = {(file, line), (file, called)}
    other = {"what": "the other side", "file": finding.get("other_file", ""), "line": finding.get("other_line", 0),
             "chain": finding.get("other_chain", [])}
    for part in [other, *finding.get("related", [])][:OTHERS]:
        at = caller(part.get("chain", []), part["file"], part["line"]) or part["line"]
        seen = snippet(part["file"], at, 0) if part["file"] and (part["file"], at) not in drawn else []
        drawn.add((part["file"], at))
        if seen:
            out += [f"  {short(part['what'])}:" if part["file"] == file else f"  {short(part['what'])}, {shown(part['file'])}:", *seen]
    out.append("")
    where = finding.get("where", "").strip()
    where = re.sub(r"^[^ ].*?:\d+(  |$)", "", where).strip() if marked else where
    seen = "" if finding.get("count", 1) == 1 else f"{finding['count']:,} times" + (
        f", in {finding['seen_in']}" if finding.get("seen_in") else "")
    if where and seen:
        where, seen = f"{where}; {'at least ' if finding.get('at_least') else ''}{seen}", ""
    section = finding.get("section", "")
    rule = finding.get("rule", "") + (f" ({'PTX ' if section[:1].isdigit() else ''}{section})" if section else "")
    rows = [("where", where), ("state", finding.get("state")), ("why", finding.get("why") or rule), ("try", finding.get("try")),
            ("seen", ("at least " if finding.get("at_least") else "") + seen if seen else "")]
    return out + [paragraph(label, brief(text, source)) for label, text in rows if text]


def result_lines(output):
    """What a lesson's program says of the numbers: from the last 'result', which may be a later launch's, to what is no longer
    indented under it."""
    lines = output.splitlines()
    start = max((i for i, line in enumerate(lines) if line.startswith("  result")), default=None)
    if start is None:
        return []
    rest = [line for line in lines[start + 1:] if line.startswith("    ")]
    return [re.sub(r"^  result +(wrong: |error: )?", "", lines[start]), *[line[2:] for line in rest]]


def own_lines(output, findings):
    """What a program printed, without the heads of a lesson's program and without the emulator's words on its findings."""
    titles, out, inside = {f"{f['id']}: {f['title']}" for f in findings}, [], False
    for line in output.splitlines():
        inside = line in titles or (titles and line.startswith("cudaError")) or (inside and line.startswith("  "))
        if not inside and not line.startswith(HEADS):
            out.append(line)
    return out


REFUSED = re.compile(r"^[\w.-]+: ((?:[a-z]+-)+[a-z]+): (.+)$", re.M)
CALLS = {"tensor-map-invalid": "cuTensorMapEncodeTiled"}


def refused_lines(done, source):
    """What a host call refused, as the library that was asked says it, at the call; [] where it says nothing."""
    said = REFUSED.search(done.output)
    if not said:
        return []
    rest = [line for line in done.output[said.end():].splitlines() if line.startswith("  ") and not line.startswith(HEADS)]
    lines = load_text(source).splitlines() if source else []
    calls = [i for i, line in enumerate(lines, 1) if said[1] in CALLS and re.search(rf"\b{CALLS[said[1]]}\s*\(", line)]
    at = [f"  {shown(source)}:{calls[0]}", *snippet(source, calls[0])] if len(calls) == 1 else []
    return [colour(f"{said[1]}: {said[2]}", RED), *at, "", *(paragraph("why", line.strip()) for line in rest)]


def unstored(done):
    """What a kernel stored that left no element of C."""
    stores = done.stats.get("tensor.store.issued", 0) + done.stats.get("bulk.store.issued", 0)
    return paragraph("why", f"{stores:,} bulk and tensor stores were issued" if stores else
                     "no bulk or tensor store was issued: what is kept for later must leave before the last thread returns")


def todo_lines(done, source):
    """The blank that is open, and nothing else."""
    said = done.result.get("classification") or next(iter(result_lines(done.output)), "a TODO is still open")
    number = re.search(r"TODO (\d\d\.\d+)", said)
    line = next((i for i, text in enumerate(load_text(source).splitlines(), 1) if number and f'"{number[1]}"' in text), 0) if source else 0
    return [colour(said, YELLOW), ""] + ([f"  {shown(source)}:{line}", *snippet(source, line)] if line else [])


def body(done, source=None, printed=False):
    """What was found in a run, as lines; [] where it is right and there is nothing to say. printed: what the program said is
    shown already."""
    if done.verdict == "todo":
        return todo_lines(done, source)
    if done.errors:
        return finding_lines(done.errors[0], source)
    if done.verdict == "stopped":
        said = [] if printed else ["", *own_lines(done.output, done.findings)[-6:]]
        return [colour(f"no end within {done.limit_s:g} s", RED), *said]
    numbers = result_lines(done.output)
    if done.verdict == "wrong" and numbers:
        said = [colour(f"wrong numbers: {numbers[0]}", RED), *numbers[1:9]]
        unwritten = next((f for f in done.findings if f["id"] == "uninitialised-read"), None)
        if unwritten and "(nan)" in numbers[0]:
            return said[:2] + [""] + finding_lines(unwritten, source)
        return said + ([unstored(done)] if "(not-written)" in numbers[0] and done.stats else [])
    if done.verdict == "refused" and refused_lines(done, source):
        return refused_lines(done, source)
    if done.verdict != "right":
        said = [] if printed else [line for line in own_lines(done.output, done.findings) if line.strip()]
        lines = [*numbers[:3], *said[-8:]]
        crash = [paragraph("why", CRASH)] if (done.code or 0) < 0 and not done.emu else []
        return [colour(f"the program {done.ended()}", RED), *([""] + lines if lines else []), *crash]
    return [line for f in done.findings for line in finding_lines(f, source)]


def seen_lines(done, registers=None, spilled=0):
    """What a run on the emulator executed."""
    s = done.stats
    if not s.get("launches"):
        return ["  no kernel was launched"]
    n = lambda key: f"{s.get(key, 0):,.0f}"
    copies = [f"{n(key + '.issued')} {what} of {n(key + '.bytes')} bytes" for key, what in (
        ("cp_async", "cp.async"), ("bulk.load", "bulk loads"), ("tensor.load", "tensor loads"), ("bulk.store", "bulk stores"),
        ("tensor.store", "tensor stores")) if s.get(key + ".issued")]
    rows = [("copies", ", ".join(copies) + (f"; issued by {n('copy.issuing_threads')} threads per CTA" if copies else ""))]
    if s.get("mbarrier.init"):
        rows.append(("barriers", f"{n('mbarrier.init')} initialised, {n('mbarrier.phases_completed')} phases, {n('mbarrier.arrivals')} "
                                 f"arrivals, {n('mbarrier.expect_tx_bytes')} bytes announced, {n('mbarrier.complete_tx_bytes')} landed"))
    if s.get("wgmma.issued"):
        rows.append(("products", f"{n('wgmma.issued')} wgmma, {s['wgmma.flop'] / 1e6:,.1f} MFLOP"))
    rows.append(("executed", f"{n('thread_instructions')} thread instructions: " + ", ".join(
        f"{s.get('thread_instructions.' + kind, 0):,.0f} {kind}" for kind in ("copy", "memory", "address", "barrier", "math"))))
    timed = done.emu.get("timed")
    if timed:
        rows.append(("predicted", f"{timed['cycles']:,} cycles of an H200 on {timed['sms']} SMs, the last launch; the tensor cores of an SM are "
                                  f"busy {100 * timed['tensor_busy']:.0f} % of them"))
    if registers:
        rows.append(("registers", f"{registers} per thread, {spilled:,} bytes spilled"))
    return [f"  {label:<10} {text}" for label, text in rows if text]


def verdict_colour(verdict):
    return GREEN if verdict in ("right", "passed") else YELLOW if verdict in ("not run", "skipped", "right, but") else RED
