"""Running a program: limits hold, the environment is the runner's, and what came of it is told apart."""

import os
import time
import unittest

from tree import Tree

from workbook.base import Stop
from workbook.run import Run, run


class Running(Tree):
    def script(self, text):
        return self.write("program", f"#!/bin/sh\n{text}\n", True)

    def test_what_a_program_writes(self):
        done = run([self.script('echo said "$1"; echo \'{"findings": []}\' >"$EMU_JSON"; echo \'{"verdict": "right"}\' >"$3"'), "it's"], 10,
                   json_option=True)
        self.assertEqual((done.code, done.output, done.emu, done.verdict), (0, "said it's\n", {"findings": []}, "right"))

    def test_a_limit_ends_all_that_was_started(self):
        mark = self.root / "mark"
        start = time.time()
        done = run([self.script(f'(sleep 2; touch "{mark}") & echo begun; sleep 60')], 0.5)
        self.assertEqual((done.code, done.output, done.verdict), (None, "begun\n", "stopped"))
        self.assertLess(time.time() - start, 30)
        time.sleep(2.5)
        self.assertFalse(mark.exists())

    def test_the_environment_decides_nothing(self):
        os.environ.update(EMU_CHECK="off", EMU_SCHEDULE="sideways", CHECK_GROUP="x", TODO_ONLY="1")
        try:
            done = run([self.script("env | grep -E '^(EMU_|CHECK_|TODO_)' | grep -v EMU_JSON")], 10, EMU_SCHEDULE="late")
        finally:
            for name in ("EMU_CHECK", "EMU_SCHEDULE", "CHECK_GROUP", "TODO_ONLY"):
                del os.environ[name]
        self.assertEqual(done.output, "EMU_SCHEDULE=late\n")

    def test_endless_output_is_cut_off(self):
        done = run([self.script("yes")], 60)
        self.assertNotEqual(done.code, 0)
        self.assertLessEqual(len(done.output), 64 << 20)

    def test_a_program_that_is_not_there_or_writes_no_json(self):
        with self.assertRaises(Stop):
            run([self.root / "none"], 10)
        self.assertEqual(run([self.script('echo "{" >"$EMU_JSON"')], 10).emu, {})

    def test_verdicts(self):
        for code, said, verdict in ((0, {}, "right"), (0, {"verdict": "right"}, "right"), (1, {"verdict": "right"}, "error"),
                                    (0, {"verdict": "wrong"}, "wrong"), (1, {"verdict": "wrong"}, "wrong"), (2, {}, "refused"), (3, {"verdict": "todo"}, "todo"),
                                    (77, {}, "skipped"), (-11, {}, "error"), (None, {"verdict": "right"}, "stopped")):
            self.assertEqual(Run([], {}, code, "", 0, {}, said).verdict, verdict)


if __name__ == "__main__":
    unittest.main()
