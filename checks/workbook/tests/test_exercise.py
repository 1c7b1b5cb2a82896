"""Exercises: equal to their solutions outside the blanks, or the first difference is named."""

import unittest

from tree import Tree

SOLUTION, EXERCISE = "solutions/01_first.cu", "lessons/01_first/01_first.cu"


class Exercise(Tree):
    def refuses(self, *parts):
        code, said = self.tool("exercise", "check")
        self.assertEqual(code, 1)
        for part in parts:
            self.assertIn(part, said)

    def test_the_tree_is_right_and_so_is_a_filled_blank(self):
        self.assertEqual(self.tool("exercise", "check")[0], 0)
        self.edit(EXERCISE, 'TODO_OPEN("01.1", "Wait for the tile.");', "my_answer();")
        self.assertEqual(self.tool("exercise", "check")[0], 0)

    def test_the_first_line_outside_the_blanks_that_differs_is_named(self):
        self.edit(EXERCISE, "kThreads = 256;", "kThreads = 128;")
        self.refuses("01_first.cu differs from the solution outside the regions", "kThreads = 128;")

    def test_regions_that_cannot_be_read_are_named(self):
        for old, new, said in (("  // [end]\n", "", "opens inside another"), ("[todo 01.3]", "[todo 01.7]", "number them 01.1"),
                               ("Multiply.", "Multiply. Then add.", "one sentence"), ("  store(c);\n", "", "no answer in its region"),
                               ("// [end]\n}", "}", "is never closed"), ("[todo 01.2]", "[todo first]", "write a region as")):
            with self.subTest(said):
                self.setUp()
                self.edit(SOLUTION, old, new)
                self.refuses(said)

    def test_a_program_with_each_blank_beside_its_answer(self):
        said = self.tool("exercise", "one-at-a-time", "01")[1]
        self.assertIn("if (lab::todo_is_open(2)) {", said)
        self.assertIn("multiply(c);", said)
        self.assertTrue(said.startswith("#define TODO_ONE_AT_A_TIME\n"))


if __name__ == "__main__":
    unittest.main()
