"""Brings in the tools, configures, and builds; one command at a time in a build folder."""

import contextlib
import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

from workbook.base import BUILD, OK, ROOT, Stop, disk_full, load_text, save_text, shown

HERE = ROOT / "checks" / "workbook"
QUIET = re.compile(r"\[0/\d+\] Re-checking|ninja: no work|.*Built target|Consolidate compiler|-- |\[\d+/\d+\] Re-running CMake|"
                   r"ninja: build stopped: interrupted")
DISK_FULL = "No space left on device"
BROKEN = re.compile(r"ninja: (error: (?!build stopped)|fatal)|CMake Error|No rule to make target|file truncated|"
                    r"file format not recognized|file in wrong format|malformed archive|is not a (?:directory|regular file)")


def jobs():
    """What JOBS asks for, else the processors that this process may use."""
    asked = os.environ.get("JOBS", "")
    if not asked:
        return len(os.sched_getaffinity(0))
    if not asked.isdigit() or not 1 <= int(asked) <= 4096:
        raise Stop(f"JOBS={asked} is no number of jobs", ("try", "JOBS=2, or leave it out: one for each processor"))
    return int(asked)


def tools():
    """What setup.sh has found: CMAKE, CTEST, NVCC, PYTHON, ..."""
    path = BUILD / "tools.env"
    if not path.exists():
        raise Stop(f"{shown(path)} does not exist", ("why", "setup has not run for this build folder"), ("try", "make setup"))
    return settings(path)


def settings(path):
    """The lines NAME=value of a file."""
    return dict(line.split("=", 1) for line in load_text(path).splitlines() if "=" in line and not line.startswith("#"))


def toolkit():
    """The version of nvcc, as (12, 4, 131)."""
    said = subprocess.run([tools()["NVCC"], "--version"], stdout=subprocess.PIPE, universal_newlines=True).stdout
    return tuple(int(n) for n in re.search(r"V(\d+)\.(\d+)\.(\d+)", said).groups())


@contextlib.contextmanager
def locked():
    """Held by one command at a time in this build folder; the others wait, and say for whom."""
    path = BUILD / ".lock"
    while True:
        try:
            BUILD.mkdir(parents=True, exist_ok=True)
            file = open(path, "a+")
        except OSError as problem:
            raise Stop(f"cannot write the build folder {BUILD}", ("why", problem.strerror),
                       ("try", "a folder of yours: make run BUILD_DIR=/tmp/workbook"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            print(f"waiting: {file.read().strip() or 'another command'} is building in {shown(BUILD)}", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                break
        file.close()  # `make clean` has taken the folder away in the meantime
    with file:
        file.truncate(0)
        file.write(f"`{' '.join(['workbook', *sys.argv[1:]])}` (process {os.getpid()})")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def ready():
    """Whether what an earlier setup has found is still there, and is what the environment asks for."""
    if not (BUILD / "tools.env").exists():
        return False
    found = tools()
    asked = all(found.get(f"ASKED_{name}", "") == os.environ.get(name, "") for name in ("NVCC", "CXX", "VENV_DIR"))
    return asked and all(os.access(found.get(key, ""), os.X_OK) for key in ("CMAKE", "NVCC", "CXX_COMPILER", "CUDA_HOST", "PYTHON"))


def setup(again=True):
    """Finds the tools and brings in what is missing; not `again` where they are known."""
    if again or not ready():
        code = subprocess.run(["sh", str(HERE / "setup.sh"), str(BUILD)], cwd=ROOT).returncode
        if code != OK:
            sys.exit(code)  # it has said why
    return tools()


def setup_command():
    with locked():
        setup()
    return OK


def cmake_environment():
    """Without the make that called this: none of the build's business."""
    return {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")}


def configure():
    """Configures afresh: CMake keeps its compilers for good. The mark of a whole configuration is written last."""
    found, mark, log = tools(), BUILD / "configured", BUILD / "configure.log"
    with contextlib.suppress(FileNotFoundError):
        mark.unlink()
    command = [found["CMAKE"], "--fresh", "-S", ROOT, "-B", BUILD, "-G", found["GENERATOR"], "-DCMAKE_BUILD_TYPE=Release",
               f"-DCMAKE_CXX_COMPILER={found['CXX_COMPILER']}",
               f"-DCMAKE_CUDA_COMPILER={found['NVCC']}", f"-DCMAKE_CUDA_HOST_COMPILER={found['CUDA_HOST']}",
               f"-DPython3_EXECUTABLE={found['PYTHON']}", *shlex.split(os.environ.get("CMAKE_FLAGS", ""))]
    with open(log, "w") as sink:
        code = subprocess.run([str(c) for c in command], stdout=sink, stderr=sink, env=cmake_environment()).returncode
    said = load_text(log)
    if code != OK:
        if DISK_FULL in said:
            raise disk_full()
        sys.stderr.write(said)
        raise Stop("CMake could not configure", ("where", f"the message is above, and in {shown(log)}"))
    print("".join(line + "\n" for line in said.splitlines() if "doctest" in line), end="")
    save_text(mark, configuration())
    print(f"build: compiling; the first time takes a few minutes (nvcc {'.'.join(map(str, toolkit()))}, {jobs()} jobs)", flush=True)


def configuration():
    return load_text(BUILD / "tools.env") + "CMAKE_FLAGS=" + os.environ.get("CMAKE_FLAGS", "")


def is_configured():
    """Whether a configuration was finished, with these tools; one that was interrupted was not."""
    mark = BUILD / "configured"
    return (mark.exists() and load_text(mark) == configuration() and (BUILD / "CMakeCache.txt").exists()
            and any((BUILD / name).exists() for name in ("build.ninja", "Makefile")))


def call_build(targets):
    """(exit code, output) of one build; its output is shown as it comes, without what says that nothing was to do."""
    command = [tools()["CMAKE"], "--build", str(BUILD), "-j", str(jobs())] + (["--target", *targets] if targets else [])
    process = subprocess.Popen(command, env=cmake_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = []
    try:
        for line in process.stdout:
            lines.append(line.decode("utf-8", "replace").rstrip("\n"))
            if not QUIET.match(lines[-1]):
                print(lines[-1], flush=True)
    finally:
        with contextlib.suppress(KeyboardInterrupt):
            process.wait()
    if "interrupted by user" in "\n".join(lines[-3:]):
        raise KeyboardInterrupt
    return process.returncode, "\n".join(lines)


def build(*targets):
    """Builds the targets (all of them by default) in a folder that setup has prepared; call it with the lock held. A folder
    that an interrupted command has left half done is configured again."""
    jobs()
    if not is_configured():
        configure()
    code, said = call_build(targets)
    if code != OK and BROKEN.search(said) and "FAILED: " not in said and DISK_FULL not in said:
        print("build: the folder is not whole, as after an interruption: configuring again", flush=True)
        configure()
        code, said = call_build(targets)
    if code == OK:
        return
    if DISK_FULL in said:
        raise disk_full()
    broken = BROKEN.search(said)
    raise Stop("the project could not be built; the message is above", ("why", f"a file of {shown(BUILD)} is damaged" if broken else ""),
               ("try", "make clean, then again" if broken else ""))


def prepare(*targets, again=False):
    """setup and build under the lock."""
    jobs()
    with locked():
        setup(again)
        build(*targets)


def build_command():
    prepare(again=True)
    return OK


def clean(everything=False):
    """Removes the build folder, and with `everything` the local Python environment."""
    folders = [BUILD] + ([ROOT / ".venv", ROOT / "build-asan"] if everything else [])
    marks = ("tools.env", "setup.log", "CMakeCache.txt", ".lock")
    if BUILD.exists() and any(BUILD.iterdir()) and not any((BUILD / mark).exists() for mark in marks):
        raise Stop(f"{shown(BUILD)} is no build folder", ("why", "nothing in it is from a build"), ("try", "remove it yourself"))
    if BUILD.exists():
        with locked():
            gone = BUILD.with_name(f"{BUILD.name}.{int(time.time())}")
            BUILD.rename(gone)  # at once: nobody starts to build in half of it
        shutil.rmtree(gone)
    for folder in folders[1:]:
        shutil.rmtree(folder, ignore_errors=True)
    print("removed " + ", ".join(shown(f) for f in folders))
    return OK
