#!/usr/bin/env python3
"""Compares what the documents quote with where it comes from.

In a README, a comment before a fenced block says what the block holds:

    <!-- quote solutions/04_tma_single_stage.cu loop -->
        the region "loop" of that file: // [region loop] ... // [end region], without the exercise's markers,
        moved to the left margin
    <!-- output solutions/04_tma_single_stage.emu --m 256 --n 256 --k 256 -->
        what that program of the build folder prints, with "..." for the time it took

  quotes.py --check   compare; exit status 1 and the difference when a block is out of date. Programs are looked
                      for in the folder that the environment variable BUILD_DIR names (default: build).
  quotes.py --write   bring all blocks up to date
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("BUILD_DIR", "build")
BLOCK = re.compile(r"<!-- (quote|output) (.+?) -->\n```(\w*)\n(.*?)```\n", re.DOTALL)
MARKER = re.compile(r"^ *// \[(todo .*|end)\]")
TIME_LIMIT_S = 60


class Unavailable(Exception):
    """The source of a block cannot be had; the message says why."""


def region(path, name):
    """The lines of a named region, without exercise markers, dedented."""
    text = (ROOT / path).read_text()
    found = re.search(rf"^ *// \[region {re.escape(name)}\]\n(.*?)^ *// \[end region\]$", text, re.M | re.S)
    if found is None:
        raise Unavailable(f"{path} has no region {name}")
    lines = [line for line in found[1].splitlines() if not MARKER.match(line)]
    return textwrap.dedent("\n".join(lines)) + "\n"


def output(words):
    """What a program of the build folder prints."""
    program = BUILD / words[0]
    if not program.exists():
        raise Unavailable(f"{program} is not built")
    done = subprocess.run([program, *words[1:]], capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)
    return re.sub(r"^  time .*$", "  time     ...", done.stdout + done.stderr, flags=re.M)


def current(kind, words):
    return region(*words) if kind == "quote" else output(words)


def main():
    parser = argparse.ArgumentParser(description="Compares what the documents quote with where it comes from.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", action="store_true")
    action.add_argument("--write", action="store_true")
    options = parser.parse_args()

    failures, blocks = [], 0
    for path in [ROOT / "README.md", *sorted((ROOT / "lessons").glob("*/README.md"))]:
        if not path.exists():
            continue
        text, name = path.read_text(), path.relative_to(ROOT)

        def bring(found):
            nonlocal blocks
            blocks += 1
            kind, words, language, old = found[1], found[2].split(), found[3], found[4]
            line = text[:found.start()].count("\n") + 1
            try:
                new = current(kind, words)
            except (Unavailable, OSError, TypeError, subprocess.TimeoutExpired) as error:
                failures.append(f"{name}:{line}: {error}")
                return found[0]
            if old == new:
                return found[0]
            if options.check:
                diff = difflib.unified_diff(old.splitlines(), new.splitlines(), "document", "source", lineterm="")
                failures.append(f"{name}:{line}: out of date; run quotes.py --write\n" + "\n".join(diff))
            return f"<!-- {kind} {found[2]} -->\n```{language}\n{new}```\n"

        renewed = BLOCK.sub(bring, text)
        if text.count("<!-- quote ") + text.count("<!-- output ") != len(BLOCK.findall(text)):
            failures.append(f"{name}: a quote or output comment is not followed by a fenced block")
        if options.write and renewed != text:
            path.write_text(renewed)
            print(f"renewed {name}")
    for failure in failures:
        print("quotes.py: " + failure)
    if not failures:
        print(f"{blocks} quoted blocks are up to date")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
