"""Installs the emulator into a folder of its own, and builds and runs the example project from there, as its CI file does."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / (os.environ.get("BUILD_DIR") or "build")


def settings():
    """What the build was made with: CXX, NVCC, CMAKE."""
    said = dict(line.split("=", 1) for line in (BUILD / "link.txt").read_text().splitlines() if "=" in line)
    cache = (BUILD / "CMakeCache.txt").read_text()
    said["CMAKE"] = next(line.split("=", 1)[1] for line in cache.splitlines() if line.startswith("CMAKE_COMMAND:"))
    return said


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="an emulator."))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.prefix, cls.project = cls.folder / "prefix", cls.folder / "project"
        shutil.copytree(HERE / "example", cls.project)
        cls.tools = settings()
        path = os.pathsep.join([str(cls.prefix / "bin"), *dict.fromkeys(str(Path(cls.tools[t]).parent) for t in ("CMAKE", "NVCC")),
                                os.environ["PATH"]])
        cls.environment = dict(os.environ, PATH=path, NVCC=cls.tools["NVCC"], CUDACXX=cls.tools["NVCC"], CXX=cls.tools["CXX"],
                               CUDAHOSTCXX=cls.tools["CUDA_HOST"], EMULATOR=str(cls.prefix))
        done = cls.call([cls.tools["CMAKE"], "--install", BUILD, "--prefix", cls.prefix, "--component", "emulator"])
        if done.returncode:
            raise AssertionError(done.stdout)

    @classmethod
    def call(cls, words, **more):
        return subprocess.run([str(w) for w in words], cwd=cls.project, env=dict(cls.environment, **more), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True, timeout=280)

    def ends(self, code, words, *parts, **more):
        done = self.call(words, **more)
        self.assertEqual(done.returncode, code, done.stdout[-3000:])
        for part in parts:
            self.assertIn(part, done.stdout)
        return done.stdout

    def test_the_example_builds_and_passes_through_cmake(self):
        self.ends(0, ["./ci.sh"], "1/1 Test #1: scale", "100% tests passed")

    def test_the_wrapper_links_device_code_and_the_checker_names_a_mistake(self):
        self.ends(0, ["nvcc-emu", "-std=c++17", "-rdc=true", "-DNO_WAIT", "-arch=sm_80", "test_scale.cu", "scale.cu", "factor.cu", "-o",
                      "no_wait", "-lcudart"])
        line = next(i for i, text in enumerate((self.project / "scale.cu").read_text().splitlines(), 1) if "scaled(smem" in text)
        self.ends(1, ["./no_wait"], "no error, 0 of 4096 wrong", "read-before-landed", f"scale.cu:{line}", "full_bar")

    def test_the_wrapper_shows_its_commands_and_says_what_is_missing(self):
        said = self.ends(0, ["nvcc-emu", "-###", "-gencode", "arch=compute_80,code=sm_80", "-O2", "x.cu"], "-cudart none",
                         "code=compute_90a", "-o a.out", "-lcuda_emulator")
        self.assertNotIn("compute_80", said)
        self.assertNotIn("-cudart", self.ends(0, ["nvcc-emu", "-###", "-c", "x.cu", "-o", "x.o"], "-c x.cu -o x.o"))
        self.ends(2, ["nvcc-emu", "-O2"], "no file is named")
        self.ends(2, ["nvcc-emu", "x.cu"], "there is no nvcc: /no/nvcc", NVCC="/no/nvcc")


if __name__ == "__main__":
    if not (BUILD / "common/libemulator.a").exists():
        print("SKIPPED: the emulator is not built; try: make build")
        sys.exit(77)
    unittest.main()
