"""The one way to run a program: in a process group of its own, with limits, and with what it writes as JSON."""

import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from workbook.base import BAD_INPUT, OK, SKIPPED, TODO_OPEN, WRONG, Stop, disk_full

OUTPUT_LIMIT = 64 << 20  # bytes of output, and of any file that a program writes
ROOM = 256 << 10  # bytes that are free where temporary files go, or a failure may be due to that
SCHEDULES = ["in-order", "late"] + [f"random:{seed}" for seed in range(1, 11)]
USUAL = 4  # so many of them are tried unless ALL=1
# What decides how a program behaves; only the one who runs it sets these.
OURS = ("EMU_", "CHECK_", "TODO_ONLY")


@dataclass
class Run:
    """What came of a process: its exit code (None: stopped at the limit) and what it has written."""
    command: list
    environment: dict
    code: object
    output: str
    limit_s: float = 0
    emu: dict = field(default_factory=dict)     # the emulator's report (EMU_JSON)
    result: dict = field(default_factory=dict)  # the program's own (--json)

    @property
    def findings(self):
        return self.emu.get("findings", [])

    @property
    def errors(self):
        return [f for f in self.findings if f["severity"] == "error"]

    @property
    def stats(self):
        return self.emu.get("stats", {})

    @property
    def verdict(self):
        """right, wrong, error, todo, refused, skipped or stopped, as the program says or as it ended."""
        if self.code is None:
            return "stopped"
        said = self.result.get("verdict")
        if said:
            return "error" if said == "right" and self.code != OK else said
        return {OK: "right", WRONG: "wrong", BAD_INPUT: "refused", TODO_OPEN: "todo", SKIPPED: "skipped"}.get(self.code, "error")

    def ended(self):
        """How it ended, for a message."""
        if self.code is None:
            return f"stopped after {self.limit_s:g} s"
        return f"ended with exit code {self.code}" if self.code >= 0 else f"ended by {signal.Signals(-self.code).name}"


def schedules():
    """Those under which a test tries a program."""
    return SCHEDULES if os.environ.get("ALL") else SCHEDULES[:USUAL]


def read_json(path):
    """What a program has written to `path`; {} where that is nothing, or cut short."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8", errors="replace"))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def clean_environment(**more):
    """This process's environment without what only the runner of a program decides, and with `more`."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
    return dict(kept, **{key: str(value) for key, value in more.items()})


def run(command, limit_s, json_option=False, cwd=None, merge=True, **environment):
    """Runs `command` for at most `limit_s` seconds; past that its whole group is killed. EMU_SCHEDULE and the like are
    those in `environment` and no others. json_option: the program knows --json. merge: stderr goes into the output."""
    with tempfile.TemporaryDirectory(prefix="workbook.") as folder:
        emu, result, out = Path(folder, "emu.json"), Path(folder, "result.json"), Path(folder, "output")
        words = [str(word) for word in command] + (["--json", str(result)] if json_option else [])
        full = clean_environment(EMU_JSON=emu, **environment)
        limits = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_LIMIT, OUTPUT_LIMIT))
        with open(out, "wb") as sink:
            try:
                process = subprocess.Popen(words, env=full, cwd=cwd, stdin=subprocess.DEVNULL, stdout=sink,
                                           stderr=sink if merge else None, start_new_session=True, preexec_fn=limits)
            except OSError as problem:
                raise Stop(f"cannot run {words[0]}", ("why", problem.strerror))
            try:
                code = process.wait(timeout=limit_s)
            except subprocess.TimeoutExpired:
                code = None
            finally:  # also of what it has started, and when this command is interrupted
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
        if code != OK and shutil.disk_usage(folder).free < ROOM:
            raise disk_full()
        output = out.read_bytes().decode("utf-8", "replace")
        return Run([str(word) for word in command], environment, code, output, limit_s, read_json(emu), read_json(result))
