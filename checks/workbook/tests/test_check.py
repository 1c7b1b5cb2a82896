"""check, try, status and next on a student's file, with shell scripts for the compiler, the build and the lesson's check."""

import json
import unittest

from tree import Tree

EXERCISE = "lessons/01_first/01_first.cu"
RACE = {"id": "data-race", "severity": "error", "title": "two threads write", "file": "", "line": 8, "where": "", "try": "a barrier"}


class Check(Tree):
    def setUp(self):
        super().setUp()
        self.stand_ins()
        self.cases()

    def cases(self, **failing):
        """The lesson's check has the cases a, b and c; `failing` are those that fail, with what they write down."""
        script = 'case "$*" in *--list*) printf "[doctest] x\\n====\\na\\nb\\nc\\n"; exit;; esac\n'
        for name in "abc":
            said = dict({"case": name, "status": "failed" if name in failing else "passed", "message": "", "command": ["x", "--m", "8"],
                         "environment": {"EMU_SCHEDULE": "late"}, "json": None, "program": {"verdict": "right"}}, **failing.get(name, {}))
            self.write(f"cases/{name}", json.dumps(said) + "\n")
            script += (f'case "$*" in *--test-case={name}*) cp "{self.root}/cases/{name}" "$CHECK_REPORT"; '
                       f'echo "$CHECK_GROUP" >"{self.root}/group"; exit {int(name in failing)};; esac\n')
        self.write("build/checks/lesson/01_first", "#!/bin/sh\n" + script, True)

    def check(self, code, *parts, **environment):
        got, said = self.tool("check", "01", JOBS="1", **environment)
        self.assertEqual(got, code, said)
        for part in parts:
            self.assertIn(part, said)
        return said

    def test_right_is_remembered_for_the_file_as_it_is(self):
        self.write(EXERCISE, (self.root / "solutions/01_first.cu").read_text())
        self.check(0, "lessons/01_first/01_first.cu: right, 3 cases")
        self.assertEqual((self.root / "group").read_text(), "student\n")
        self.assertIn("every lesson is right", self.tool("next")[1])
        self.edit(EXERCISE, "multiply(c);", "multiply(c); ")
        self.assertIn("changed since the last check", self.tool("status")[1])
        self.assertIn("type  make check-01", self.tool("next")[1])

    def test_the_first_failing_case_ends_the_wait_unless_all_are_wanted(self):
        finding = dict(RACE, file=str(self.root / EXERCISE))
        self.write(EXERCISE, (self.root / "solutions/01_first.cu").read_text())
        self.cases(b={"json": {"findings": [finding]}, "program": {"verdict": "right"}})
        said = self.check(1, "data-race: two threads write", "  >    8 |   wait(c);", 'make try-01 ARGS="--m 8" SCHEDULE=late',
                          "passed   a", "failed   b", "not run  1 more", "build/student/01_first.txt")
        self.assertLessEqual(said.count("\n"), 25)
        self.assertNotIn(str(self.root), said)
        self.check(1, "1 of 3 failed", "passed   c", ALL="1")
        self.assertIn("wrong", self.tool("status")[1])
        self.assertIn("data-race", self.tool("next")[1])

    def test_right_numbers_that_miss_the_point(self):
        self.cases(a={"message": "right numbers at M=8, but no copy runs ahead"})
        self.check(1, "right, but", "but no copy runs ahead", "failed   a")

    def test_an_open_blank(self):
        self.cases(a={"program": {"verdict": "todo", "classification": "TODO 01.2 is still open: Multiply."}})
        self.check(1, "TODO 01.2 is still open: Multiply.", "make hint-01")

    def test_a_case_whose_process_dies_is_a_failure(self):
        self.edit("build/checks/lesson/01_first", "exit;; esac\n", "exit;; esac\nkill -9 $$\n")
        self.check(1, "ended by SIGKILL")

    def test_a_source_that_does_not_compile(self):
        self.stand_ins(nvcc=f'echo "{self.root / EXERCISE}(8): error: x is undefined"; exit 1')
        self.check(1, "does not compile", "x is undefined", "  >    8 |")

    def test_what_is_no_fault_of_the_source(self):
        self.stand_ins(nvcc='echo "y.cu(1): error: z: No space left on device"; exit 1')
        self.check(2, "error: the disk is full")
        self.stand_ins(nvcc="exit 127")
        self.check(2, "error: the compiler did not work on lessons/01_first/01_first.cu")
        self.stand_ins(cmake="echo 'c++: fatal error: No space left on device'; exit 1")
        self.check(2, "error: the disk is full")

    def test_a_file_elsewhere_is_checked_as_the_one_of_its_lesson(self):
        worked = (self.root / "solutions/01_first.cu").read_text()
        self.write("elsewhere/mine.cu", worked)
        self.cases(b={"json": {"findings": [dict(RACE, file=str(self.root / "elsewhere/mine.cu"))]}})
        code, said = self.tool("check", FILE="elsewhere/mine.cu", LESSON="01", JOBS="1")
        self.assertEqual(code, 1, said)
        for part in ("elsewhere/mine.cu: wrong", "  >    8 |   wait(c);", 'make try FILE=elsewhere/mine.cu ARGS="--m 8" SCHEDULE=late'):
            self.assertIn(part, said)
        self.assertIn("open: 01.1", self.tool("status")[1])
        self.assertIn("of which lesson is elsewhere/mine.cu?", self.tool("check", FILE="elsewhere/mine.cu")[1])
        self.assertIn("FILE=nowhere.cu does not exist", self.tool("check", FILE="nowhere.cu", LESSON="01")[1])
        self.write("elsewhere/01_first.cu", worked)
        self.cases()
        self.assertIn("01_first.cu: right, 3 cases", self.tool("check", FILE="elsewhere/01_first.cu", JOBS="1")[1])

    def test_try_runs_the_file_and_shows_what_it_printed(self):
        self.write("build/solutions/01_first.emu", '#!/bin/sh\n# .entry gemm\necho "$EMU_SCHEDULE $1"; echo hello; cat "$EMU_PTX"\n', True)
        code, said = self.tool("try", "01", ARGS="--m 8", SCHEDULE="late")
        self.assertIn("hello\n", said)
        self.assertIn("0 findings", said)
        self.assertEqual(code, 0)


if __name__ == "__main__":
    unittest.main()
