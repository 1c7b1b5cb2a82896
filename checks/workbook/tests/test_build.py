"""The build folder: one command at a time, and what an interruption has left is mended."""

import fcntl
import os
import signal
import unittest

from tree import Tree

# A CMake that configures and builds by leaving files, and does what `fails` says at its first build.
CMAKE = """
echo "$*" >>"{root}/calls"
case "$1" in --fresh)
  [ -e "{root}/interrupt" ] && rm "{root}/interrupt" && kill -INT $PPID && sleep 60
  touch "{root}/build/CMakeCache.txt" "{root}/build/build.ninja"; exit;;
esac
if [ -e "{root}/fails" ]; then cat "{root}/fails"; rm "{root}/fails"; exit 1; fi
"""


class Build(Tree):
    def setUp(self):
        super().setUp()
        self.stand_ins(cmake=CMAKE.format(root=self.root))

    def calls(self):
        file = self.root / "calls"
        return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []

    def build(self, code=0, **environment):
        got, said = self.tool("check", "01", **environment)
        self.assertNotIn("Traceback", said)
        return said

    def test_a_folder_that_is_whole_is_not_configured_again(self):
        self.build()
        self.assertEqual(self.calls(), ["--build"])
        self.assertIn("-j 3", (self.root / "calls").read_text() if self.build(JOBS="3") else "")

    def test_a_configuration_that_was_interrupted_is_made_again(self):
        for name in ("configured", "build.ninja", "CMakeCache.txt"):
            with self.subTest(name):
                self.setUp()
                (self.root / "build" / name).unlink()
                self.build()
                self.assertEqual(self.calls(), ["--fresh", "--build"])

    def test_interrupted_while_it_configures(self):
        (self.root / "build/configured").unlink()
        self.write("interrupt", "")
        process = self.start("check", "01")
        said = process.communicate(timeout=60)[0]
        self.assertEqual((process.returncode, said), (-signal.SIGINT, ""))
        self.assertFalse((self.root / "build/configured").exists())
        self.build()
        self.assertEqual(self.calls(), ["--fresh", "--fresh", "--build"])

    def test_a_damaged_folder_is_configured_again_once(self):
        self.write("fails", "ninja: error: build.ninja:7: expected '='\n")
        self.assertIn("configuring again", self.build())
        self.assertEqual(self.calls(), ["--build", "--fresh", "--build"])

    def test_an_error_of_the_project_is_not(self):
        self.write("fails", "FAILED: x.o\nninja: build stopped: subcommand failed.\n")
        self.assertIn("error: the project could not be built", self.build())
        self.assertEqual(self.calls(), ["--build"])

    def test_a_damaged_library_is_named(self):
        self.write("fails", "FAILED: x\nlab.a: file format not recognized\n")
        said = self.build()
        self.assertIn("a file of build is damaged", said)
        self.assertIn("make clean", said)

    def test_the_second_command_waits_and_says_for_whom(self):
        with open(self.root / "build/.lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write("`workbook run` (process 7)")
            file.flush()
            process = self.start("check", "01")
            self.assertEqual(process.stdout.readline(), "waiting: `workbook run` (process 7) is building in build\n")
            self.assertIsNone(process.poll())
        process.communicate(timeout=60)
        self.assertEqual(self.calls(), ["--build"])

    @unittest.skipIf(os.getuid() == 0, "root may write anywhere")
    def test_a_folder_that_cannot_be_written(self):
        (self.root / "build").chmod(0o500)
        self.assertIn("cannot write the build folder", self.build())

    def test_clean(self):
        self.assertEqual(self.tool("clean"), (0, "removed build\n"))
        self.assertFalse((self.root / "build").exists())
        self.assertEqual(self.tool("clean")[0], 0)
        (self.root / "mine").mkdir()
        self.write("mine/file", "")
        self.assertIn("error: mine is no build folder", self.tool("clean", BUILD_DIR="mine")[1])


if __name__ == "__main__":
    unittest.main()
