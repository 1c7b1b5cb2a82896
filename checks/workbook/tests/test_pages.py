"""The lessons' pages: their blocks are what the sources hold, answers stay below, and hints come one at a time."""

import contextlib
import io
import unittest
from unittest import mock

from tree import Tree
from workbook import base, pages, student

README, HINTS, SOLUTION = "lessons/01_first/README.md", "lessons/01_first/hints.md", "solutions/01_first.cu"
PATCH = "checks/bugs/01_first/no_wait.patch"
ANSWER = "  // [todo 01.1] Wait for the tile.\n  acquire(c);\n  wait(c);\n  check(c);\n  // [end]\n"
PAGE = """# First

> **Question.** Who waits?
> **Predict.** Write it down.

<!-- listing loop -->
```cpp
```

## Run it

## Break it

<!-- bug 01/no_wait -->
<!-- bug: end -->

## Why

**The prediction.** The last one.

## Next

<!-- links -->
<!-- links: end -->
"""
BUG = """bug:       no_wait
title:     nobody waits
h200:      wrong numbers (5 of 5 runs)
sanitizer: all silent
expect:    read-before-landed at "multiply(c);"
why:       Nothing says that the tile is there. So it may not be.

--- a/solutions/01_first.cu
+++ b/solutions/01_first.cu
@@ -1,1 +1,0 @@
-  wait(c);
"""


class Pages(Tree):
    """The pages of a tree are compared in this process: what the tests are about is what is said of them."""

    def setUp(self):
        super().setUp()
        for name, path in (("ROOT", self.root), ("BUILD", self.root / "build")):
            change = mock.patch.object(base, name, path)
            change.start()
            self.addCleanup(change.stop)
        text = (self.root / SOLUTION).read_text()
        begin, end = text.index("  // [todo 01.1]"), text.index("  // [todo 01.2]")
        text = text[:begin] + ANSWER + text[end:]
        for k, line in (("01.2", "  multiply(c);\n"), ("01.3", "  store(c);\n")):
            text = text.replace(line, f"  before(c, {k[-1]});\n{line}  after(c, {k[-1]});\n")
        self.write(SOLUTION, text)
        self.write("lessons/01_first/01_first.cu", "TODO_OPEN(\"01.1\", \"Wait for the tile.\");\n")
        self.write(README, PAGE)
        self.write(PATCH, BUG)
        self.write(HINTS, "# Hints\n" + "".join(
            f"\n## 01.{k}\n\n1. Think of {k}.\n2. Think more.\n3. It is `{line}` in the middle.\n"
            for k, line in ((1, "wait(c);"), (2, "multiply(c);"), (3, "store(c);"))))
        self.assertEqual(self.pages(write=True), (0, f"renewed {README}\n1 pages are up to date and keep the rules of a lesson\n"))

    def said(self, what, *words):
        """(exit code, what it printed)."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = what(*words)
        return code, out.getvalue()

    def pages(self, write=False):
        return self.said(pages.pages, write)

    def refuses(self, part):
        code, said = self.pages()
        self.assertEqual(code, 1)
        self.assertIn(part, said)

    def test_a_page_takes_its_blocks_from_their_sources(self):
        page = (self.root / README).read_text()
        self.assertIn("// TODO 01.1: Wait for the tile.\n", page)
        self.assertNotIn("acquire(c);", page)
        self.assertIn("The emulator reports `read-before-landed`. An H200 shows: wrong numbers (5 of 5 runs).", page)
        self.assertIn("Nothing says that the tile is there.", page)
        self.assertEqual(self.pages()[0], 0)

    def test_an_answer_about_hardware_cannot_differ_from_the_record(self):
        self.edit(README, "wrong numbers (5 of 5 runs)", "perhaps never")
        self.refuses("a block is out of date")

    def test_what_was_not_measured_is_not_said(self):
        self.edit(PATCH, "wrong numbers (5 of 5 runs)", "not measured")
        self.pages(write=True)
        self.assertNotIn("H200", (self.root / README).read_text())

    def test_an_answer_above_why_is_named_and_one_below_is_not(self):
        self.edit(README, "## Next", "```cpp\nacquire(c);\nwait(c);  // for it\ncheck(c);\n```\n\n## Next")
        self.assertEqual(self.pages()[0], 0)
        self.edit(README, "## Run it", "```cpp\nacquire(c);\nwait(c);  // for it\ncheck(c);\n```\n\n## Run it")
        self.refuses("it shows the whole answer of TODO 01.1 above '## Why'")

    def test_rules_of_a_page_and_its_hints(self):
        for path, old, new, said in ((README, "## Break it", "## Brake it", "'## Break it' must occur once"),
                                     (README, "01/no_wait", "01/no_wit", "01 has no bug 'no_wit'"),
                                     (README, "listing loop", "listing hoop", "has no region hoop"),
                                     (SOLUTION, "  before(c, 3);\n", "", "the answer of TODO 01.3 has 2 lines; a blank has 3 to 10"),
                                     (HINTS, "2. Think more.\n3. It is `wait", "2. It is `wait", "TODO 01.1 needs three hints"),
                                     (HINTS, "Think of 2", "Think of `multiply(c);`", "TODO 01.2 needs three hints"),
                                     (HINTS, "## 01.3", "## 01.4", "the blanks are '01.1 01.2 01.3'")):
            with self.subTest(said):
                self.setUp()
                self.edit(path, old, new)
                self.refuses(said)

    def test_hints_come_one_at_a_time_and_then_the_place_of_the_answer(self):
        first, second, third = (self.said(student.hint, "01")[1] for _ in range(3))
        code, fourth = self.tool("hint", "01")
        self.assertEqual((code, self.tool("pages")[0]), (0, 0))
        self.assertIn("Think of 1.", first)
        self.assertNotIn("Think more.", first)
        self.assertIn("Think more.", second)
        self.assertNotIn("wait(c);", second)
        self.assertIn("It is `wait(c);` in the middle.", third)
        self.assertIn("the answer: solutions/01_first.cu, at [todo 01.1]", third)
        self.assertEqual(third, fourth)


if __name__ == "__main__":
    unittest.main()
