"""Data files that follow from the programs, their compiler and the emulator alone: written, or compared with what they would be."""

import argparse
import csv
import io
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "checks"))
from workbook.base import BUILD, OK, SKIPPED, WRONG, Stop


def programs():
    """The worked programs for the emulator."""
    found = sorted((BUILD / "solutions").glob("[0-9][0-9]_*.emu"))
    if not found:
        raise Stop(f"no emulator builds in {BUILD}/solutions", ("try", "make build"))
    return found


def toolkit():
    """The release of the compiler, as it says in the PTX it made."""
    found = re.search(rb"Cuda compilation tools, release [\d.]+, V(\d+\.\d+\.\d+)", programs()[0].read_bytes())
    return found.group(1).decode() if found else "unknown"


def table(rows, data, recorded=""):
    """The text of a data file: its head, where `data` says what the columns are and `recorded` what they are compared with."""
    out = io.StringIO()
    out.write(f"# device: TMA workbook emulator\n# toolkit: {toolkit()}\n" + (f"# recorded: {recorded}\n" if recorded else "") +
              f"# data: {data}\n")
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def keep(path, text):
    """--write or --check of a data file that text() makes."""
    if arguments().write:
        path.write_text(text())
        print(f"plots/data/{path.name}")
        return OK
    recorded = re.search(r"^# toolkit: (.*)$", path.read_text(), re.MULTILINE).group(1)
    if recorded != toolkit():
        print(f"skipped: {path.name} was made with toolkit {recorded}, here is {toolkit()}")
        return SKIPPED
    if path.read_text() != text():
        raise Stop(f"plots/data/{path.name} is not what the programs do now", ("try", f"python3 plots/{Path(sys.argv[0]).name} --write"),
                   code=WRONG)
    return OK


def arguments():
    parser = argparse.ArgumentParser(description="--write makes the data file anew, --check compares it")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    return parser.parse_args()


def run_script(path, text):
    """What a script of such a file is: keep(), and a problem in one form."""
    try:
        sys.exit(keep(path, text))
    except Stop as stop:
        print(stop, file=sys.stderr)
        sys.exit(stop.code)
