"""plots/bench.py on a machine that claims a Hopper GPU, with a program that claims to be a fast kernel: the files it leaves."""

import contextlib
import io
import sys
import unittest
from unittest import mock

from tree import TOOL, Tree

sys.path.insert(0, str(TOOL.parents[1] / "plots"))
import bench  # noqa: E402
from workbook import device  # noqa: E402


class Bench(Tree):
    def setUp(self):
        super().setUp()
        self.kernel("right")

    def kernel(self, verdict):
        """What the program says from now on. Its last argument names the file for its JSON."""
        said = f'{{"verdict": "{verdict}", "result_hash": "1", "m": \'$2\', "classification": "nan"}}'
        self.write("build/solutions/09_fast", f"#!/bin/sh\nfor last; do :; done\necho '{said}' >\"$last\"\n", True)

    def bench(self, seconds, parts="ladder", processes="1"):
        """(exit code, what it said)"""
        words = ["bench.py", "--build", str(self.root / "build"), "--out", str(self.root / "data"), "--parts", parts, "--processes",
                 processes, "--seconds", seconds, "--commit", "abc"]
        gpu, said = device.Gpu(0, "NVIDIA H000", (9, 0), 13000), io.StringIO()
        with mock.patch.object(device, "probe", lambda: (gpu, "")), mock.patch.object(sys, "argv", words):
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                return bench.main(), said.getvalue()

    def files(self):
        found = sorted((self.root / "data").glob("nvidia-h000-ladder-*.csv"), key=lambda p: (len(p.name), p.name))
        return [len(p.read_text().splitlines()) for p in found]

    def test_a_file_that_is_there_is_kept_and_the_next_of_the_day_is_numbered(self):
        for _ in range(3):
            self.assertEqual(self.bench("60")[0], 0)
        lines = self.files()
        self.assertEqual(lines, [lines[0]] * 3)
        self.assertGreater(lines[0], 10)  # a header, the names of the columns, ten sizes

    def test_the_turns_of_every_process_are_in_one_file(self):
        self.write("build/bench/ladder_turns", f"#!/bin/sh\nexpr \"$5\" : '.*/turns/09_fast.so$' >/dev/null || exit 1\n"
                                               f"echo {','.join(bench.TURNS)}\necho 09_fast,2048,2048,2048,$2\n", True)
        self.write("build/bench/turns/09_fast.so", "")
        self.assertEqual(self.bench("60", "turns", "9")[0], 0)
        rows = next((self.root / "data").glob("nvidia-h000-turns-*.csv")).read_text().splitlines()[-4:]
        self.assertEqual([row.split(",")[4] for row in rows], ["process", "1", "2", "3"])

    def test_no_file_without_rows(self):
        code, said = self.bench("0")
        self.assertEqual(code, 1)
        self.assertIn("ladder: nothing was measured: the 0 s were over", said)
        self.kernel("wrong")
        code, said = self.bench("60")
        self.assertEqual(code, 1)
        self.assertIn("09_fast (512, 512, 512) : nan", said)
        self.assertIn("ladder: nothing was measured\n", said)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
