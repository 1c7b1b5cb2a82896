"""Compares the project's C++ and CUDA files with the layout of .clang-format; --write applies it.

Exit: 0 if all files are laid out so, 1 if not, 2 if the tree cannot be read, 77 if there is no clang-format 14.
"""

import argparse
import re
import shutil
import subprocess
import sys

from run_common import OK, ROOT, SKIPPED, WRONG, die, tools

FOLDERS = ("common", "solutions", "checks")  # lessons: the student's own, and derived from solutions
ENDINGS = {".cpp", ".hpp", ".cu", ".cuh", ".h"}
VERSION = "14."  # another version lays the code out differently


def find_clang_format():
    for candidate in (tools()["VENV"] + "/bin/clang-format", "clang-format-14", "clang-format"):
        path = shutil.which(candidate)
        if path:
            text = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
            if re.search(r"version " + re.escape(VERSION), text):
                return path
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="lay the files out instead of comparing")
    options = parser.parse_args()
    clang_format = find_clang_format()
    if clang_format is None:
        print(f"SKIPPED: no clang-format {VERSION}x here; `make setup` brings one where it can reach the package index")
        return SKIPPED
    files = sorted(str(p.relative_to(ROOT)) for f in FOLDERS for p in (ROOT / f).rglob("*") if p.suffix in ENDINGS)
    if not files:
        die("no C++ or CUDA file found", f"where {ROOT}")
    if options.write:
        return subprocess.run([clang_format, "-i", *files], cwd=ROOT).returncode
    done = subprocess.run([clang_format, "--dry-run", "--Werror", *files], cwd=ROOT, capture_output=True, text=True)
    wrong = sorted(set(re.findall(r"^([^:\n]+):\d+:\d+: error: code should be clang-formatted", done.stderr, re.M)))
    for name in wrong:
        print(f"not laid out as .clang-format says: {name}")
    if wrong:
        print(f"{len(wrong)} of {len(files)} files; try: make format")
        return WRONG
    if done.returncode != 0:
        die("clang-format failed", *done.stderr.splitlines()[:5])
    print(f"{len(files)} files are laid out as .clang-format says")
    return OK


if __name__ == "__main__":
    sys.exit(main())
