"""The compiler's launcher: what it does with the remarks of ptxas, and with paths. A shell stands in for nvcc."""

import subprocess
import sys
import unittest

from tree import Tree


class Launcher(Tree):
    NAME = "a $x tree"

    def compile(self, said, *words):
        """(exit code, what was shown) of a compilation that says `said` and writes its object."""
        script = 'echo "$0"; for w in "$@"; do last=$w; done; echo object >x.o'
        done = subprocess.run([sys.executable, "-B", str(self.root / "checks/workbook/nvcc.py"), "/bin/sh", "-c", script, said, *words,
                               "-o", "x.o"], cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        return done.returncode, done.stdout

    def test_lost_speed_ends_the_build_and_leaves_no_object(self):
        for code in ("C7508", "C7510", "C7515"):
            got, said = self.compile(f"ptxas info    : ({code}) Potential Performance Loss: some reason")
            self.assertEqual(got, 1)
            self.assertIn(f"({code}) Potential Performance Loss: some reason", said)
            self.assertIn("error: right results, lost speed", said)
            self.assertFalse((self.root / "x.o").exists())

    def test_the_resource_report_is_kept_and_not_shown_other_lines_are(self):
        self.assertEqual(self.compile("ptxas info    : Used 168 registers, used 1 barriers"), (0, ""))
        self.assertIn("Used 168", (self.root / "x.o.ptxas").read_text())
        self.assertEqual(self.compile("warning: something else"), (0, "warning: something else\n"))

    def test_nvcc_gets_no_path_that_it_would_take_apart(self):
        got, said = self.compile(f"{self.root}/common/a.cuh")
        self.assertEqual(said, "./common/a.cuh\n")


if __name__ == "__main__":
    unittest.main()
