"""What a right kernel takes, beside the worked program of the lesson before."""

import json
import unittest

from tree import Tree

from workbook import base, reclaimed
from workbook.lessons import Lesson

REPORT = "ptxas info    : Used {} registers, used 1 barriers\n    0 bytes stack frame, {} bytes spill stores, 0 bytes spill loads\n"


class Reclaimed(Tree):
    def setUp(self):
        super().setUp()
        self.write("solutions/02_second.cu", "")
        for name in ("ROOT", "BUILD"):
            self.addCleanup(setattr, base, name, getattr(base, name))
        self.addCleanup(setattr, reclaimed, "BUILD", reclaimed.BUILD)
        base.ROOT, base.BUILD = self.root, self.root / "build"
        reclaimed.BUILD = base.BUILD

    def program(self, path, **counts):
        """A program that says it has executed `counts` thread instructions of these kinds in one launch."""
        stats = {"launches": 1, **{f"thread_instructions.{kind}": counts.get(kind, 0) for kind, _ in reclaimed.KINDS}}
        said = json.dumps({"findings": [], "stats": stats})
        self.write(path, f"#!/bin/sh\ncat >\"$EMU_JSON\" <<'END'\n{said}\nEND\n", True)
        return self.root / path

    def test_both_columns(self):
        steps = 256 * 256 * 512 // (128 * 128 * 64)
        self.program("build/solutions/01_first.emu", memory=5000 * steps)
        self.write("build/solutions/CMakeFiles/solutions.01_first.object.dir/01_first.cu.o.ptxas", REPORT.format(90, 0))
        mine = self.program("build/student/02_second.emu", copy=2 * steps)
        header, rows = reclaimed.rows(Lesson("02_second"), mine, REPORT.format(168, 24))
        self.assertEqual(header[1:], ["01_first, worked", "02_second, yours"])
        found = {label: cells for label, *cells in rows}
        self.assertEqual(found["registers per thread"], [90, 168])
        self.assertEqual(found["bytes spilled per thread"], ["0", "24"])
        self.assertEqual(found["instructions that issue asynchronous copies"], ["0", "2"])
        self.assertEqual(found["instructions that load and store"], ["5,000", "0"])

    def test_the_first_lesson_stands_alone_and_what_is_unknown_is_said(self):
        mine = self.program("build/student/01_first.emu", copy=1)
        header, rows = reclaimed.rows(Lesson("01_first"), mine, "")
        self.assertEqual(len(header), 2)
        self.assertEqual(rows[0], ("registers per thread", "n/a"))


if __name__ == "__main__":
    unittest.main()
