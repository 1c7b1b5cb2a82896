"""Compiles a program of the corpus, right or patched, once, and links it with the emulator or for the GPU.

Everything lies in BUILD/bugs/PROGRAM/: NAME.cu, NAME.emu.o with a hash of all that went into it, and NAME.emu; for the
GPU NAME.gpu.o and NAME.
The emulator needs only the PTX, so its objects hold no machine code, which takes most of the compiler's time.
"""

import hashlib
import re
import subprocess
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


def library(name):
    path = BUILD / "common" / f"lib{name}.a"
    if not path.exists():
        die(f"{path} does not exist", f"try   make build, or cmake --build {BUILD} --target emulator lab_host")
    return path


def call(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(str(c) for c in command)}\n{done.stdout}{done.stderr}")


def build(program, bug=None, device="emu"):
    """Returns the path of the executable of `program`, with `bug` in it if one is given. Raises BuildError."""
    folder = BUILD / "bugs" / program.name
    folder.mkdir(parents=True, exist_ok=True)
    name = bug.name if bug else "right"
    source = folder / f"{name}.cu"
    object_file, depends, key_file = (folder / f"{name}.{device}.{kind}" for kind in ("o", "d", "key"))
    text = apply(bug) if bug else program.source.read_text()
    environment = tools()
    executable = folder / (f"{name}.emu" if device == "emu" else name)
    if not (object_file.exists() and key_file.exists() and key_file.read_text() == key(text, depends)):
        executable.unlink(missing_ok=True)
        source.write_text(text)
        call([environment["NVCC"], "-ccbin", environment["CUDA_HOST"], f"-gencode=arch=compute_90a,code={CODE[device]}",
              *FLAGS, "-MD", "-MF", depends, "-c", source, "-o", object_file])
        key_file.write_text(key(text, depends))
    libraries = [library("lab_host")] + ([library("emulator")] if device == "emu" else [])
    if executable.exists() and all(executable.stat().st_mtime > l.stat().st_mtime for l in libraries):
        return executable
    if device == "emu":
        call([environment["CXX_COMPILER"], object_file, "-o", executable, *libraries, "-ldl", "-lpthread"])
    else:
        call([environment["NVCC"], "-ccbin", environment["CUDA_HOST"], "-gencode=arch=compute_90a,code=sm_90a",
              "-cudart", "static", object_file, "-o", executable, *libraries, "-ldl", "-lpthread"])
    return executable
