"""Runs a right program on the emulator under every schedule, each in a process of its own.

  run_pipeline.py PROGRAM.emu

It must be right and give no finding, neither error nor advice. Exit: 0 so it is, 1 a deviation, 2 bad input.
"""

import sys
from pathlib import Path

from run_bugs_emulate import SCHEDULES, execute, judge
from run_common import BAD_INPUT, OK, WRONG, die


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return BAD_INPUT
    program = Path(arguments[0])
    if not program.exists():
        die(f"{program} does not exist", "try   build it: make build")
    found = judge(program, None, [""])
    for _, schedule, said in found:
        print(f"{schedule}: {said}")
    if found:
        print(execute(program, "", found[0][1]).output)
        return WRONG
    print(f"{program.name}: right, with no finding, under {len(SCHEDULES)} schedules")
    return OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
