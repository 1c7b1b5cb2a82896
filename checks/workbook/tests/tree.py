"""A small checkout for the tests of the tool: one lesson, and shell scripts that stand in for the compiler and the build."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOOL.parent))

from workbook import base, lessons  # noqa: E402

SOLUTION = """#include "kernel.cuh"

constexpr int kThreads = 256;

__global__ void gemm(float* c) {
  // [region loop]
  // [todo 01.1] Wait for the tile.
  wait(c);
  // [end]
  // [todo 01.2] Multiply.
  multiply(c);
  // [end]
  // [end region]
  // [todo 01.3] Store the result.
  store(c);
  // [end]
}

int main() { gemm<<<1, kThreads>>>(nullptr); }
"""
# What a person may have set, or a make around these tests: none of it is a test's business.
ASKED = {*re.search(r"^export ([A-Z _]+)$", (TOOL.parents[1] / "Makefile").read_text(), re.M)[1].split(),
         "CALLED_FROM", "MAKEFLAGS", "VENV_DIR", "NVCC", "CXX", "CMAKE_FLAGS"}
README = "# First\n\n<!-- quote solutions/01_first.cu loop -->\n```cpp\nwait(c);\nmultiply(c);\n```\n"


class Tree(unittest.TestCase):
    """Each test has a tree of its own, in a folder whose name a shell and a careless script would trip over."""
    NAME = "it's a tree ü"

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="workbook.")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve() / self.NAME
        shutil.copytree(TOOL, self.root / "checks/workbook", ignore=shutil.ignore_patterns("tests", "__pycache__"))
        self.write("solutions/01_first.cu", SOLUTION)
        self.write("lessons/01_first/README.md", README)
        self.write("README.md", "# The workbook\n")
        self.write("lessons/01_first/hints.md", "## 01.1\n\n1. Who arrives?\n2. Which phase?\n3. It is `wait(c);`.\n")
        shutil.copy(TOOL.parents[1] / "Makefile", self.root / "Makefile")
        base.ROOT, root = self.root, base.ROOT
        self.write("lessons/01_first/01_first.cu", lessons.exercise_text(lessons.Lesson("01_first")))
        base.ROOT = root

    def write(self, path, text, runs=False):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        if runs:
            file.chmod(0o755)
        return file

    def edit(self, path, old, new):
        text = (self.root / path).read_text(encoding="utf-8")
        self.assertIn(old, text)
        self.write(path, text.replace(old, new, 1))

    def start(self, *words, **environment):
        clean = {k: v for k, v in os.environ.items() if k not in ASKED}
        return subprocess.Popen([sys.executable, "-B", str(self.root / "checks/workbook"), *words], cwd=self.root,
                                env=dict(clean, **environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                                encoding="utf-8")

    def tool(self, *words, **environment):
        """(exit code, what it said) of one command."""
        process = self.start(*words, **environment)
        said = process.communicate(timeout=100)[0]
        return process.returncode, said

    def stand_ins(self, cmake="exit 0", nvcc='cp "$(dirname "$0")/ptx" "$out"'):
        """A build folder that is ready, with scripts for its tools. In nvcc's, $out is the file asked for."""
        out = 'out=; for w in "$@"; do [ "$last" = -o ] && out=$w; last=$w; done\n'
        names = {"CMAKE": self.write("bin/cmake", f"#!/bin/sh\n{cmake}\n", True),
                 "NVCC": self.write("bin/nvcc", "#!/bin/sh\n[ \"$1\" = --version ] && echo V13.0.88 && exit\n" + out + nvcc + "\n", True),
                 "CXX_COMPILER": "/bin/true", "CUDA_HOST": "/bin/true", "PYTHON": sys.executable, "GENERATOR": "Ninja"}
        self.write("bin/ptx", ".visible .entry gemm(\n")
        tools = "".join(f"{key}={value}\n" for key, value in names.items())
        self.write("build/tools.env", tools)
        self.write("build/configured", tools + "CMAKE_FLAGS=")
        self.write("build/CMakeCache.txt", "")
        self.write("build/build.ninja", "")
        command = f'{names["NVCC"]} -I"{self.root}/common" -O3 --generate-code=arch=compute_90a -x cu -c x.cu -o x.o'.replace("'", "\\'")
        self.write("build/compile_commands.json", json.dumps([{"file": str(self.root / "solutions/01_first.cu"), "command": command.replace(
            str(names["NVCC"]).replace("'", "\\'"), '"' + str(names["NVCC"]) + '"')}]))
        self.write("build/link.txt", f"CXX=/bin/true\nNVCC={names['NVCC']}\nLAB_HOST={self.root}/build/lab.a\nLIBRARIES=-ldl;\n")
        self.write("build/lab.a", "")
        self.write("build/solutions/01_first.emu", "#!/bin/sh\n# .entry gemm\n", True)
