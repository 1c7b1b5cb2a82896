"""How nvcc is called, and what its assembler says. As a script it is CMake's launcher for nvcc: nvcc.py nvcc ARGS...

The launcher asks ptxas for its resource report, keeps it as <object>.ptxas (registers for `make run`), and shows every other
line. Three remarks of ptxas end a build of the project, because the program would be right and slow.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
REMARKS = {"C7508": "setmaxnreg is ignored", "C7510": "wgmma instructions wait for each other",
           "C7515": "wgmma instructions wait for each other"}
REMARK = re.compile(r"\((C75(?:08|10|15))\) *(.*)")
RESOURCES = re.compile(r"ptxas info +: (Compiling entry function|Function properties|Used \d+ registers|\d+ bytes gmem|"
                       r"Compile time)| +\d+ bytes stack frame|$")
EXPANDED = set("$`\"\\")  # nvcc hands its command lines to a shell, in which these mean something


def safe(words, cwd):
    """The words of a command with the checkout named from `cwd`, where its path has characters that nvcc cannot take."""
    if not EXPANDED & set(ROOT):
        return list(words)
    here = os.path.relpath(ROOT, cwd)
    return [re.sub(re.escape(ROOT) + r"(?=/|$)", lambda _: here, word) for word in words]


def registers(report):
    """Most registers of a thread, and most bytes spilled, of the kernels in a resource report; (None, 0) without one."""
    counts = [int(n) for n in re.findall(r"Used (\d+) registers", report)]
    return max(counts, default=None), max((int(n) for n in re.findall(r"(\d+) bytes spill stores", report)), default=0)


def allotted(report):
    """(kernel, registers of a thread) for each kernel of a resource report."""
    return [(name, int(count)) for name, count in
            re.findall(r"Compiling entry function '([^']+)'.*?Used (\d+) registers", report, re.S)]


def launch(words):
    words = safe(words, os.getcwd())
    target = words[words.index("-o") + 1] if "-o" in words[:-1] else ""
    if not target.endswith(".o"):
        return subprocess.run(words).returncode
    done = subprocess.run([*words, "-Xptxas", "-v"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    report = done.stdout.decode("utf-8", "replace")
    Path(target + ".ptxas").write_text(report, encoding="utf-8")
    sys.stderr.write("".join(line + "\n" for line in report.splitlines() if not RESOURCES.match(line)))
    found = sorted(set(m[0] for m in REMARK.findall(report)))
    if done.returncode or not found:
        return done.returncode
    os.unlink(target)
    sys.stderr.write(f"error: right results, lost speed\n  where  {target}\n" +
                     "".join(f"  why    {code}: {REMARKS[code]}\n" for code in found) +
                     "  try    keep accumulators untouched between wgmma_fence and wgmma_wait_group, call nothing that is not "
                     "inlined, and match setmaxnreg to the launch bounds\n")
    return 1


if __name__ == "__main__":
    sys.exit(launch(sys.argv[1:]))
