"""Compiles a program of the corpus, right or patched, once, and links it with the emulator or for the GPU.

Everything lies in BUILD/bugs/PROGRAM/: NAME.cu, NAME.emu.o with a hash of all that went into it, and NAME.emu; for the
GPU NAME.gpu.o and NAME. The right programs of the lessons are those that the build has made in BUILD/solutions.
The emulator needs only the PTX, so its objects hold no machine code, which takes most of the compiler's time. Of what is
left most goes into the host code, so a bug that changes none of it borrows that of the right program: only the device
code is compiled, and takes the place of the other in a copy of the right program's object.
"""

import fcntl
import hashlib
import re
import shutil
import subprocess
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from run_bugs_corpus import apply
from run_common import BUILD, ROOT, die, tools

FLAGS = ["--no-compress", "-lineinfo", "-std=c++17", "-O3", "-Xcompiler=-O0", "-DNDEBUG", f"-I{ROOT / 'common'}"]
CODE = {"emu": "compute_90a", "gpu": "[compute_90a,sm_90a]"}


class BuildError(Exception):
    """The compiler or linker refused; str() is its output."""


@lru_cache(maxsize=None)
def file_hash(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "gone"


def key(text, depends):
    """A hash of the source, the compiler, its flags, and the project's headers that the compiler named in `depends`."""
    parts = [text, tools()["NVCC"], *FLAGS]
    listed = depends.read_text() if depends.exists() else ""
    headers = sorted(set(re.findall(re.escape(str(ROOT / "common")) + r"/\S+", listed)))
    parts += [h + file_hash(Path(h)) for h in headers]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def built(path):
    """A file that the build has made."""
    if not path.exists():
        die(f"{path} does not exist", f"try   make build, or cmake --build {BUILD} --target ladder")
    return path


def library(name):
    return built(BUILD / "common" / f"lib{name}.a")


def call(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(str(c) for c in command)}\n{done.stdout}{done.stderr}")


def host_text(text):
    """The source without the bodies of its kernels and device functions, which start and end at the left margin."""
    kept, state = [], "host"
    for line in text.splitlines():
        if state == "host" and re.match(r"\S.*__(global|device)__|__(global|device)__", line):
            state = "signature"
        if state != "body" or line in ("}", "};"):
            kept.append(line)
            state = "host" if state == "body" else state
        if state == "signature" and line.endswith(("{", ";", "}")):
            state = "body" if line.endswith("{") else "host"
    return kept


KERNEL = re.compile(rb"\.entry\s+([\w$]+)")


def module_name(text):
    """What nvcc puts into the names of a file's own variables and functions, after its length: a hash and the file's
    name, such as b'34_INTERNAL_2c98b73d_8_right_cu_main'. b'' where there are none."""
    found = re.search(rb"(\d+)_INTERNAL_", text)
    return text[found.start():found.end(1) + int(found[1])] if found else b""


@contextmanager
def locked(path):
    """Held by one process at a time: tests that run side by side need the same right program."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def borrow_host_code(bug, text, source, object_file, depends, command):
    """Makes `object_file` of the right program's host code and the device code in `source`, which holds `text`.
    False where the bug changes host code too, or there is no objcopy."""
    objcopy = shutil.which("objcopy")
    if not objcopy or host_text(text) != host_text(bug.program.source.read_text()):
        return False
    right = right_object(bug.program)
    ptx, device_code = source.with_suffix(".ptx"), source.with_suffix(".fatbin")
    call([*command, "-MD", "-MF", depends, "-ptx", source, "-o", ptx])
    old, new = right.read_bytes(), ptx.read_bytes()
    if set(KERNEL.findall(old)) != set(KERNEL.findall(new)):  # the host code asks for them by name
        return False
    if module_name(new):
        ptx.write_bytes(new.replace(module_name(new), module_name(old)))
    call([*command, "-fatbin", ptx, "-o", device_code])
    call([objcopy, "--update-section", f".nv_fatbin={device_code}", right, object_file])
    return True


def is_lesson(program):
    return program.source.parent == ROOT / "solutions"


def right_object(program):
    """The object of the right program for the emulator."""
    if is_lesson(program):
        name = program.name
        return built(BUILD / "solutions" / "CMakeFiles" / f"solutions.{name}.object.dir" / f"{name}.cu.o")
    with locked(BUILD / "bugs" / program.name / "right.lock"):
        return build_object(program, None, "emu")


def build_object(program, bug, device):
    """Compiles what has changed since the last time. Returns the path of the object."""
    folder = BUILD / "bugs" / program.name
    name = bug.name if bug else "right"
    source = folder / f"{name}.cu"
    object_file, depends, key_file = (folder / f"{name}.{device}.{kind}" for kind in ("o", "d", "key"))
    text = apply(bug) if bug else program.source.read_text()
    if object_file.exists() and key_file.exists() and key_file.read_text() == key(text, depends):
        return object_file
    source.write_text(text)
    object_file.unlink(missing_ok=True)
    command = [tools()["NVCC"], "-ccbin", tools()["CUDA_HOST"], f"-gencode=arch=compute_90a,code={CODE[device]}", *FLAGS]
    if device != "emu" or not bug or not borrow_host_code(bug, text, source, object_file, depends, command):
        call([*command, "-MD", "-MF", depends, "-c", source, "-o", object_file])
    key_file.write_text(key(text, depends))
    return object_file


def build(program, bug=None, device="emu"):
    """Returns the path of the executable of `program`, with `bug` in it if one is given. Raises BuildError."""
    if device == "emu" and not bug and is_lesson(program):
        return built(BUILD / "solutions" / f"{program.name}.emu")
    folder = BUILD / "bugs" / program.name
    folder.mkdir(parents=True, exist_ok=True)
    name = bug.name if bug else "right"
    executable = folder / (f"{name}.emu" if device == "emu" else name)
    object_file = right_object(program) if device == "emu" and not bug else build_object(program, bug, device)
    libraries = [library("lab_host")] + ([library("emulator")] if device == "emu" else [])
    inputs = [object_file, *libraries]
    if executable.exists() and all(executable.stat().st_mtime > i.stat().st_mtime for i in inputs):
        return executable
    if device == "emu":
        call([tools()["CXX_COMPILER"], object_file, "-o", executable, *libraries, "-ldl", "-lpthread"])
    else:
        call([tools()["NVCC"], "-ccbin", tools()["CUDA_HOST"], "-gencode=arch=compute_90a,code=sm_90a",
              "-cudart", "static", object_file, "-o", executable, *libraries, "-ldl", "-lpthread"])
    return executable
