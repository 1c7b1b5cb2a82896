"""Makes a program of one source file, as the build makes its programs: the flags are CMake's.

A source whose device code alone differs from that of a built program is compiled to PTX and runs in that program's place
(EMU_PTX): no host code is compiled, nothing is linked, and only a third of the time is spent.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from workbook.base import BUILD, ROOT, Stop, disk_full, load_text, save_text, shown
from workbook.build import DISK_FULL, settings
from workbook.nvcc import safe

CODE = {"emu": "compute_90a", "gpu": "[compute_90a,sm_90a]"}
KERNEL = re.compile(rb"\.entry\s+([\w$]+)")
# What a C++ text is made of, as far as finding the braces of a function takes: comments and literals are one piece.
PIECE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|\w+|[^\w\s]', re.S)
DIAGNOSTIC = re.compile(r"^(?P<file>[^\n:(]+)[:(](?P<line>\d+)\)?(?::\d+)?: (?:catastrophic |fatal )?error[:\s]+(?P<text>.*)|"
                        r"^ptxas (?P<ptxas>.*)$", re.M)


class DoesNotCompile(Exception):
    """The compiler refuses the source; str() is all that it said."""

    def __init__(self, said):
        super().__init__(said)
        self.where = [(m["file"], int(m["line"]), m["text"]) for m in DIAGNOSTIC.finditer(said) if m["file"]]


@functools.lru_cache(maxsize=None)
def flags():
    """nvcc and its options, as CMake calls it for the worked programs, without the files and the architecture."""
    path = BUILD / "compile_commands.json"
    try:
        entries = json.loads(load_text(path))
        command = next(e["command"] for e in entries if Path(e["file"]).parent == ROOT / "solutions")
    except (OSError, ValueError, KeyError, StopIteration):
        raise Stop("the build does not say how it compiles", ("where", shown(path)), ("try", "make clean, then again"))
    # A shell takes it apart, as the build's does; Ninja doubles the dollar.
    script = "set -f; for word in " + command.replace("$$", "$") + '; do printf "%s\\0" "$word"; done'
    said = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, check=True).stdout
    words = said.decode("utf-8", "surrogateescape").split("\0")[:-1]
    kept = [w for w, before in zip(words, [""] + words) if before not in ("-c", "-o", "-x") and w not in ("-c", "-o", "-x")
            and not w.startswith("--generate-code")]
    return kept


@functools.lru_cache(maxsize=None)
def linking():
    """Compilers and libraries of the build, as CMake has written them down."""
    try:
        return settings(BUILD / "link.txt")
    except OSError:
        raise Stop("the build does not say what it links", ("where", shown(BUILD / "link.txt")), ("try", "make clean, then again"))


def link(made, out, device, source, more=()):
    """The program of an object, unless it is there and newer than all it is made of. more: options of the reader's own."""
    said = linking()
    libraries = [*more, said["LAB_HOST"], *([said["EMULATOR"]] if device == "emu" else [])]
    inputs = [made, *(Path(name) for name in libraries if not name.startswith("-"))]
    if not more and out.exists() and out.read_bytes()[:2] != b"#!" and all(i.stat().st_mtime < out.stat().st_mtime for i in inputs):
        return
    part = out.with_name(f"{out.name}.{os.getpid()}")
    linker = [said["CXX"]] if device == "emu" else [said["NVCC"], "-ccbin", said["CUDA_HOST"], "-arch=sm_90a", "-cudart", "static"]
    call(safe([*linker, str(made), "-o", str(part), *libraries, *filter(None, said["LIBRARIES"].split(";"))], BUILD), source)
    part.replace(out)


def host_text(text):
    """The pieces of the source without the bodies of functions that are device code alone."""
    text = re.sub(r"^\s*#\s*include\s*<[^>]*>.*$", "", text, flags=re.M)  # a standard header changes nothing by itself
    kept, at, pieces = [], 0, [m[0] for m in PIECE.finditer(text) if not m[0].startswith(("//", "/*"))]
    while at < len(pieces):
        end = signature_end(pieces, at)
        kept += pieces[at:end or at + 1]
        at = skip_braces(pieces, end) if end else at + 1
    return kept


def signature_end(pieces, at):
    """Where the body begins of a function that is declared device code at `at`; None where there is no such function."""
    if pieces[at] not in ("__global__", "__device__") or pieces[max(at - 1, 0)] == "__host__" or "__host__" in pieces[at:at + 2]:
        return None
    for end in range(at, len(pieces)):
        if pieces[end] in (";", "="):
            return None
        if pieces[end] == "{":
            return end if ")" in pieces[at:end] else None
    return None


def skip_braces(pieces, at):
    depth = 0
    for end in range(at, len(pieces)):
        depth += {"{": 1, "}": -1}.get(pieces[end], 0)
        if depth == 0:
            return end + 1
    return len(pieces)


@functools.lru_cache(maxsize=None)
def file_hash(path):
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return "gone"


def headers(depends):
    """The headers that a dependency file of the compiler names, but for those of the system and of the toolkit."""
    if not depends.exists():
        return []
    words = re.findall(r"(?:\\.|\$\$|[^\s\\])+", load_text(depends))
    colon = next((i for i, w in enumerate(words) if w.endswith(":")), len(words))
    names = [os.path.join(BUILD, re.sub(r"\\(.)", r"\1", w).replace("$$", "$")) for w in words[colon + 2:]]  # behind the source
    toolkit = str(Path(os.path.realpath(linking()["NVCC"])).parents[1]) if (BUILD / "link.txt").exists() else "/usr"
    return sorted({n for n in map(os.path.normpath, names) if not os.path.realpath(n).startswith(("/usr/", toolkit + "/"))})


def compile_file(source, target, device, text, more=()):
    """Compiles to PTX or to an object, as the name of `target` says, unless that is there already. more: further options."""
    kept = lambda word: not (word.startswith(("-std", "--std")) and any(m.startswith(("-std", "--std")) for m in more))
    words = [*filter(kept, flags()), *more]
    code = ["-ptx"] if target.suffix == ".ptx" else ["-c"]
    command = [*words, f"-gencode=arch=compute_90a,code={CODE[device]}", *code]
    depends, mark = target.with_suffix(".d"), target.with_suffix(target.suffix + ".key")

    def key():
        parts = [text, str(source), *command, *(h + file_hash(h) for h in headers(depends))]
        return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()

    if target.exists() and mark.exists() and load_text(mark) == key():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink() if target.exists() else None
    part = target.with_name(f"{target.stem}.{os.getpid()}{target.suffix}")
    call(safe([*command, "-MD", "-MF", str(depends), str(source), "-o", str(part)], BUILD), source)
    part.replace(target)
    save_text(mark, key())
    return target


def call(command, source):
    """Runs the compiler or linker. Its refusal of the source is told from what is no fault of the source."""
    try:
        done = subprocess.run(command, cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except OSError as problem:
        raise Stop(f"cannot run {command[0]}", ("why", problem.strerror), ("try", "make doctor"))
    said = done.stdout.decode("utf-8", "replace")
    if done.returncode == 0:
        return
    if DISK_FULL in said:
        raise disk_full()
    if DIAGNOSTIC.search(said) or "undefined reference" in said:
        raise DoesNotCompile(said)
    raise Stop(f"the compiler did not work on {shown(source)}", ("where", " ".join(shlex.quote(w) for w in command)),
               ("why", said.strip()[-600:] or f"exit code {done.returncode}"), ("try", "make doctor; then make clean"))


def ptx_of(made):
    """The PTX text in an object."""
    data = made.read_bytes()
    start = data.find(b"\n.version ")
    return data[start:data.find(b"\0", start)].decode("utf-8", "replace") if start >= 0 else ""


def kernels(path):
    return set(KERNEL.findall(Path(path).read_bytes()))


def without_device_code(text, source):
    """The source as its host code sees it: the bodies of functions that are device code alone are empty, in as many lines."""
    kept, last, places = [], 0, [m for m in PIECE.finditer(text) if not m[0].startswith(("//", "/*"))]
    pieces, at = [m[0] for m in places], 0
    while at < len(pieces):
        end = signature_end(pieces, at)
        if end:
            at = skip_braces(pieces, end)
            body = text[places[end].start():places[at - 1].end()]
            kept += [text[last:places[end].start()], "{" + "\n" * body.count("\n") + "}"]
            last = places[at - 1].end()
        else:
            at += 1
    return f'#line 1 "{source}"\n' + "".join(kept) + text[last:]


def device_part(text):
    """The text to the end of its last function that is device code: PTX follows from it, and from which kernels the rest names.
    All of the text where that cannot be told."""
    places = [m for m in PIECE.finditer(text) if not m[0].startswith(("//", "/*"))]
    pieces, last = [m[0] for m in places], None
    for at, piece in enumerate(pieces):
        if piece in ("__global__", "__device__"):
            last = at
    end = signature_end(pieces, last) if last is not None else None
    if not end:
        return text
    cut = places[skip_braces(pieces, end) - 1].end()
    return text if re.search(r"template\s*<\s*>|^\s*#", text[cut:], re.M) else text[:cut]


def host_part(host_source):
    """What the host object follows from: its source, without the empty lines that stand for device code, unless it may ask for a
    line's number."""
    return host_source if re.search(r"__LINE__|\bassert\b|TODO_OPEN", host_source) else re.sub(r"\{\n+\}", "{}", host_source)


def make_halves(source, out, text, more, libraries):
    """Compiles device code and host code at the same time, each without the other, and writes the program at `out`. False: the
    host code cannot be compiled so; then nothing is there."""
    half = out.with_suffix(".host.cu")
    host_source = without_device_code(text, source)
    if not half.exists() or load_text(half) != host_source:
        save_text(half, host_source)
    with ThreadPoolExecutor(2) as pool:
        device = pool.submit(compile_file, source, out.with_suffix(".ptx"), "emu", device_part(text), more)
        host = pool.submit(compile_file, half, half.with_suffix(".o"), "emu", host_part(host_source), more)
        ptx = device.result()  # its compiler has seen all of the source, unless only host code has changed
        try:
            made = host.result()
        except DoesNotCompile:
            return False
    if not kernels(made) <= kernels(ptx):  # the host code has come to name another one
        ptx.unlink()
        compile_file(source, ptx, "emu", device_part(text), more)
    program = out.with_suffix(".host")
    link(made, program, "emu", source, libraries)
    save_text(out, f"#!/bin/sh\nEMU_PTX={shlex.quote(str(ptx))} exec {shlex.quote(str(program))} \"$@\"\n")
    out.chmod(0o755)
    return True


def make(source, out, device="emu", right=None, text=None, more=(), libraries=()):
    """The runnable program of `source`, at `out`. right: (source, program) of a built one with whose host code it may run.
    more, libraries: further options of the compiler and the linker. Raises DoesNotCompile."""
    text = load_text(source) if text is None else text
    out.parent.mkdir(parents=True, exist_ok=True)
    if device == "emu" and right and host_text(text) == host_text(load_text(right[0])):
        ptx = compile_file(source, out.with_suffix(".ptx"), device, device_part(text))
        if kernels(ptx) >= kernels_of_program(right[1]):
            save_text(out, f"#!/bin/sh\nEMU_PTX={shlex.quote(str(ptx))} exec {shlex.quote(str(right[1]))} \"$@\"\n")
            out.chmod(0o755)
            return out
    if device == "emu" and right and make_halves(source, out, text, more, libraries):
        return out
    made = compile_file(source, out.with_suffix(f".{device}.o"), device, text, more)
    if device == "emu":
        save_text(out.with_suffix(".ptx"), ptx_of(made))
        save_text(out.with_suffix(".ptx.key"), "")  # not what compile_file makes
    link(made, out, device, source, libraries)
    return out


@functools.lru_cache(maxsize=None)
def kernels_of_program(path):
    """The kernels of a program's own module: those named in the PTX beside the host code, not of the library's modules."""
    return kernels(path) - kernels(linking()["LAB_HOST"])


class Assembling:
    """What ptxas says of a PTX file, found out beside what else is done; whoever leaves early does not wait for it."""

    def __init__(self, ptx):
        self.process = None
        if ptx:
            words = [linking()["NVCC"], "-arch=sm_90a", "-cubin", str(ptx), "-Xptxas", "-v", "-o", os.devnull]
            with contextlib.suppress(OSError):
                self.process = subprocess.Popen(safe(words, BUILD), cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                                start_new_session=True)

    def __enter__(self):
        return self

    def said(self):
        """Its resource report and remarks; '' where there is nothing to say."""
        return self.process.communicate()[0].decode("utf-8", "replace") if self.process else ""

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()


def assemble(ptx):
    """What ptxas says of a PTX file: its resource report and remarks."""
    with Assembling(ptx) as assembling:
        return assembling.said()
