"""Names and arguments are refused before anything is fetched or compiled; the sources suit the Python that is promised."""

import ast
import unittest

from tree import TOOL, Tree


class Arguments(Tree):
    def refused(self, words, part, code=2, **environment):
        got, said = self.tool(*words, **environment)
        self.assertEqual(got, code, said)
        self.assertIn(part, said)
        self.assertFalse((self.root / "build").exists(), "something was started")

    def test_names(self):
        for command in ("run", "check", "try", "trace", "watch", "hint", "diff", "reset"):
            self.refused([command, "99"], "there is no lesson '99'")
        self.refused(["break", "99"], "there is no lesson or program '99' with bugs")
        self.refused(["break", "01"], "has no bug 'nope'", BUG="nope")
        self.refused(["nonsense"], "invalid choice")

    def test_values(self):
        self.refused(["check", "01"], "DEVICE=foo is no device", DEVICE="foo")
        self.refused(["check", "01"], "JOBS=abc is no number of jobs", JOBS="abc")
        self.refused(["run"], "JOBS=0 is no number of jobs", JOBS="0")
        self.refused(["run", "01"], "ARGS='", ARGS="'")
        self.refused(["try", "01"], "SCHEDULE=soon is no schedule", SCHEDULE="soon")
        self.refused(["try"], "FILE=none.cu does not exist", FILE="none.cu")
        self.refused(["trace"], "FILE=none.cu does not exist", FILE="none.cu")
        self.refused(["trace"], "whose run?")
        self.refused(["try"], "make try FILE=my_kernel.cu")
        self.refused(["test"], "TESTS=[ is no regular expression", TESTS="[")

    def test_what_needs_a_gpu(self):
        for command in ("bench", "record"):
            self.refused([command], "no GPU here can run these programs", CUDA_VISIBLE_DEVICES="-1")

    def test_the_student_s_way_through_the_lesson_needs_nothing_built(self):
        self.assertIn("TODO 01.1: Wait for the tile.", self.tool("next")[1])
        self.assertIn("open: 01.1 01.2 01.3", self.tool("status")[1])
        self.assertIn("TODO 01.1  lessons/01_first/01_first.cu:8", self.tool("hint", "1")[1])
        self.edit("lessons/01_first/01_first.cu", 'TODO_OPEN("01.1", "Wait for the tile.");', "wait(c);")
        self.assertIn("CONFIRM=yes", self.tool("reset", "01")[1])
        code, said = self.tool("reset", "01", CONFIRM="yes")
        self.assertEqual(code, 0)
        self.assertIn("01_first.mine-1.cu", said)
        self.assertEqual([path.name for path in (self.root / "build").iterdir()], ["hints"])


class Sources(unittest.TestCase):
    def test_python_3_8_reads_all_files_and_an_older_one_says_so(self):
        for path in TOOL.rglob("*.py"):
            ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 8))
        start = (TOOL / "__main__.py").read_text(encoding="utf-8")
        ast.parse(start, feature_version=(3, 4))
        self.assertNotIn("f\"", start)


if __name__ == "__main__":
    unittest.main()
