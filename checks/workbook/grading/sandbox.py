"""Runs one command on what a hand-in holds: bubblewrap, no network, a read-only system, private folders, and limits.

Nothing of the machine can be written but a folder that the caller names, and little of it can be read: the system's programs,
the compiler, and what the caller names. A watch ends the whole process tree when one of the limits is passed. None of those that
decide something is wall time: a busy machine makes nobody late.
"""

import contextlib
import os
import queue
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from workbook import base
from workbook.base import Stop
from workbook.run import clean_environment

INSIDE = "/workbook"  # the checkout, as far as it can be seen in there
POLL_S = 0.1
LONGEST_LOOK_S = 1.0  # so much at most counts as idle between two looks: the machine may have been stopped as a whole
# The superuser's sandboxes run as users who own nothing, one for each that runs at a time: the system limits a user's processes,
# and nobody is to use up those of another. Each run of this tool has some of its own.
USERS, RUNS, USERS_OF_RUN = 61000, 280, 16
SPARE_TASKS = 1000  # that others of this account may start while a sandbox runs, before that is in its way
TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Limits:
    """What a command may use; what it and all it has started use together, where that can be."""
    cpu_s: float = 30
    idle_s: float = 20          # during which nothing of it ran, nor waited for a processor or a disk
    wall_s: float = 3600        # the last resort, which decides nothing: Unjudged
    memory: int = 3 << 30       # resident
    processes: int = 40
    file: int = 64 << 20        # bytes of each file, and of the private folder /tmp
    output: int = 16 << 20      # bytes of standard output; as many of standard error


class Unjudged(Stop):
    """A command took so long without using its other limits up that the machine may be at fault: it is to be run again."""


@dataclass
class Outcome:
    """What came of a command. why: the limit that ended it, in words; '' where it ended by itself."""
    code: object
    output: bytes
    errors: bytes
    why: str = ""
    cpu_s: float = 0

    def ended(self):
        if self.why:
            return self.why
        return f"exit code {self.code}" if self.code >= 0 else f"ended by {signal.Signals(-self.code).name}"


class Sandbox:
    """How commands are run here. without: the instructor has said --no-sandbox."""

    def __init__(self, without=False, slots=1):
        self.without = without
        self.bwrap, self.users = (None, False) if without else find_bwrap()
        self.slots = queue.Queue()
        for slot in range(slots):
            self.slots.put(slot)
        self.first_user = USERS + os.getpid() % RUNS * USERS_OF_RUN
        self.stopping = False

    def __str__(self):
        return ("NO sandbox, as --no-sandbox says: hand-ins are compiled and run with this user's rights, with limits only" if self.without
                else "sandbox: bubblewrap; no network, a read-only system, private folders, limits")

    def tasks(self, count):
        """The RLIMIT_NPROC that leaves `count` processes: it counts all of the user who runs the sandboxes."""
        return count if self.users else count + tasks_of_user()

    def run(self, words, limits, see=(), write=None, environment=None, watch=None):
        """Runs `words`. see: (path, the name it has in there) of what can be read; write: a folder that can be written, likewise.
        watch: called now and then; what it returns, if anything, ends the run as `why`. Paths of the checkout in `words` are
        those that it has in there: inside(path). Raises Unjudged."""
        slot = self.slots.get()
        try:
            with tempfile.TemporaryDirectory(prefix="workbook.") as private:
                return self.run_in(words, limits, see, write, environment or {}, watch, slot, private)
        finally:
            self.slots.put(slot)

    def run_in(self, words, limits, see, write, environment, watch, slot, private):
        full = dict({"PATH": "/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8"}, **environment)
        # The watch ends what has used its time up, and can say so; the system does where the watch is late.
        caps = ["prlimit", f"--cpu={2 * int(limits.cpu_s) + 1}", f"--fsize={limits.file}", "--core=0", f"--nofile={256}"]
        if self.without:
            place = lambda text: replace_places(text, [*see, *([write] if write else [])])
            command = [*caps, *(place(str(w)) for w in words)]
            full = dict({key: place(str(value)) for key, value in full.items()}, TMPDIR=private, HOME=private)
            return watched(command, limits, full, watch, private, self)
        user = []
        if self.users:
            own = self.first_user + slot
            user = ["setpriv", f"--reuid={own}", f"--regid={own}", "--clear-groups"]
            if write:
                os.chown(write[0], own, own)
        caps.append(f"--nproc={self.tasks(limits.processes + SPARE_TASKS)}")
        command = [*user, *caps, self.bwrap, *self.options(limits, see, write, full), "--", *map(str, words)]
        done = watched(command, limits, clean_environment(), watch, None, self)
        if done.code == 1 and not done.output and done.errors.startswith(b"bwrap: "):  # nothing of the hand-in has run
            raise Unjudged("the sandbox did not start", ("why", done.errors[:300].decode("utf-8", "replace").strip()))
        return done

    @staticmethod
    def options(limits, see, write, environment):
        words = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox",
                 "--ro-bind", "/usr", "/usr"]
        for name in ("lib", "lib32", "lib64", "bin", "sbin"):
            if os.path.islink(f"/{name}"):
                words += ["--symlink", os.readlink(f"/{name}"), f"/{name}"]
            elif os.path.isdir(f"/{name}"):
                words += ["--ro-bind", f"/{name}", f"/{name}"]
        for name in ("/etc/alternatives", "/etc/ld.so.cache"):
            words += ["--ro-bind-try", name, name]
        words += ["--proc", "/proc", "--dev-bind", "/dev/null", "/dev/null", "--size", str(limits.file), "--tmpfs", "/tmp"]
        for path, name in see:
            words += ["--ro-bind", str(path), str(name)]
        if write:
            words += ["--bind", str(write[0]), str(write[1])]
        words += ["--remount-ro", "/", "--chdir", "/tmp", "--clearenv"]
        for key, value in environment.items():
            words += ["--setenv", key, str(value)]
        return words


def find_bwrap():
    """The path of bubblewrap, tried on something small, and whether its sandboxes have users of their own: the superuser's, where
    others can reach the build. Stop where it is missing or not allowed."""
    anyway = ("try", "grade on a machine that has it; or add ARGS=--no-sandbox, if you trust every hand-in with your account")
    path = shutil.which("bwrap")
    if not path:
        raise Stop("hand-ins are not run without a sandbox, and bubblewrap is not installed", ("try", "sudo apt-get install bubblewrap"),
                   anyway)
    see = [(base.ROOT / "common", "/common"), (base.BUILD, "/build")]
    words = [path, *Sandbox.options(Limits(), see, None, {}), "--", "/usr/bin/test", "-r", "/common", "-a", "-r", "/build"]
    users = ["setpriv", f"--reuid={USERS}", f"--regid={USERS}", "--clear-groups"]
    base.BUILD.mkdir(parents=True, exist_ok=True)
    said = ""
    for user in ([users] if os.getuid() == 0 else []) + [[]]:
        try:
            done = subprocess.run([*user, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as problem:
            said = str(problem)
            continue
        if done.returncode == 0:
            return path, bool(user)
        said = done.stdout.decode("utf-8", "replace").strip()
    raise Stop("hand-ins are not run without a sandbox, and this system allows none",
               ("why", f"{said}; unprivileged user namespaces may be switched off"), anyway)


def inside(path):
    """A path of the checkout as it is called in a sandbox."""
    return re.sub(re.escape(str(base.ROOT)) + r"(?=/|$)", INSIDE, str(path))


def replace_places(text, places):
    """Without a sandbox: the names that files would have in it become their paths."""
    for path, name in sorted(places, key=lambda p: -len(str(p[1]))):
        text = re.sub(re.escape(str(name)) + r"(?=[/'\"\s]|$)", lambda _: str(path), text)
    return text


def tasks_of_user():
    """How many threads this user has now: RLIMIT_NPROC counts them, too."""
    count = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == os.getuid():
                    count += len(os.listdir(f"/proc/{entry.name}/task"))
            except OSError:
                pass  # it has ended
    return count


@dataclass
class Usage:
    processes: int = 0
    cpu_s: float = 0
    idle_s: float = 0
    memory: int = 0


class Account:
    """What a process and all below it use, as far as looking at them again and again tells."""

    def __init__(self, root):
        self.root, self.cpu, self.active, self.idle_s, self.looked = root, {}, {}, 0.0, time.monotonic()

    def look(self):
        """The Usage now: CPU time with that of processes that have ended, whoever waited for them, and all idle time so far."""
        now, waiting, waited_for, wanting = Usage(), [self.root], 0.0, False
        before = sum(self.active.values())
        while waiting:
            pid = waiting.pop()
            try:
                fields = stat_of(f"/proc/{pid}/stat")
                now.memory += int(fields[21]) * PAGE
                now.processes += 1
                self.cpu[pid] = sum(map(int, fields[11:13])) / TICKS
                waited_for += sum(map(int, fields[11:15])) / TICKS
                for task in os.listdir(f"/proc/{pid}/task"):
                    place = f"/proc/{pid}/task/{task}"
                    children = Path(f"{place}/children").read_text().split()
                    waiting += map(int, children)
                    # A task in state D waits for a disk; one with children may wait for what a vfork() has made.
                    state = stat_of(f"{place}/stat")[0]
                    wanting = wanting or state == "R" or (state == "D" and not children)
                    ran_ns, queued_ns = Path(f"{place}/schedstat").read_text().split()[:2]
                    self.active[pid, task] = (int(ran_ns) + int(queued_ns)) / 1e9
            except (OSError, ValueError, IndexError):
                pass  # it has ended, or the kernel keeps no account of its queues
        span, self.looked = time.monotonic() - self.looked, time.monotonic()
        if not wanting and sum(self.active.values()) - before < span / 20:
            self.idle_s += min(span, LONGEST_LOOK_S)
        now.cpu_s, now.idle_s = max(waited_for, sum(self.cpu.values())), self.idle_s
        return now


def stat_of(path):
    """The fields of a stat file, from the state on."""
    return Path(path).read_text().rpartition(")")[2].split()


def passed(used, limits):
    """The limit that is passed, in words; '' where none is."""
    if used.cpu_s > limits.cpu_s:
        return f"stopped after {limits.cpu_s:g} s of CPU time"
    if used.memory > limits.memory:
        return f"stopped at {limits.memory >> 20} MiB of memory"
    if used.processes > limits.processes:
        return f"stopped at {limits.processes} processes"
    return f"stopped after {limits.idle_s:g} s of waiting for nothing" if used.idle_s > limits.idle_s else ""


def watched(command, limits, environment, watch, cwd, sandbox):
    """Runs a command to its end, or to the first limit that is passed. Raises Unjudged."""
    try:
        process = subprocess.Popen(command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
    except OSError as problem:
        raise Stop(f"cannot run {command[0]}", ("why", problem.strerror))
    began, why, most, account = time.monotonic(), "", Usage(), Account(process.pid)
    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    unread = set(kept)
    try:
        while not why:
            for pipe in select.select(list(unread), [], [], POLL_S)[0]:
                data = os.read(pipe.fileno(), 1 << 16)
                kept[pipe] += data
                unread -= set() if data else {pipe}
                if len(kept[pipe]) > limits.output:
                    why = f"stopped after {limits.output >> 20} MiB of output"
            if not unread:  # all who could write have closed their ends
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_S)
            if process.poll() is not None and not select.select(list(unread), [], [], 0)[0]:
                break
            used = account.look()
            most = max(most, used, key=lambda u: u.cpu_s)
            why = why or passed(used, limits) or (watch() if watch else "") or ("interrupted" if sandbox.stopping else "")
            if not why and time.monotonic() - began > limits.wall_s:
                raise Unjudged(f"stopped after {limits.wall_s:g} s, of which it had a processor for {used.cpu_s:.0f} s: is the machine busy?")
    finally:
        kill(process)
        process.stdout.close()
        process.stderr.close()
    output, errors = (bytes(kept[p][:limits.output]) for p in (process.stdout, process.stderr))
    return Outcome(process.returncode, output, errors, why, most.cpu_s)


def kill(process):
    """Ends a process and what it has started. Of a sandbox the first process takes all others along."""
    below, waiting = [], [process.pid]
    while waiting and process.poll() is None:
        pid = waiting.pop()
        below.append(pid)
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                waiting += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
        except OSError:
            pass
    for pid in [*below[1:], process.pid] if process.poll() is None else []:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()
