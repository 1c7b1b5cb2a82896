"""make test: which tests TESTS means, and what has to be built for them."""

import re
import unittest

import tree  # noqa: F401, makes the package known

from workbook import ctest

KNOWN = ["lesson.05_ring.right for whole tiles", "lesson.05_ring.ragged", "emulator.mbarrier.not built", "emulator.fence.a, b",
         "pipeline.chain", "recorded.swizzle", "script.format", "emulator.fuzz"]


class Tests(unittest.TestCase):
    def targets(self, pattern):
        return ctest.targets(ctest.chosen(re.compile(pattern), KNOWN), KNOWN)

    def test_what_is_built(self):
        self.assertEqual(self.targets(r"lesson\.05.*ragged"), sorted(n.format("05_ring") for n in ctest.LESSON))
        self.assertEqual(self.targets("^emulator.fence"), ["check.emulator.fence"])
        self.assertEqual(self.targets("emulator.mbarrier.a parity"), ["check.emulator.mbarrier"])
        self.assertEqual(self.targets("chain|swizzle"), ["check.emulator.mbarrier", "pipelines.chain.emu", "recorded.swizzle.emu"])
        self.assertEqual(self.targets("format$"), ["check.emulator.mbarrier", "ladder"])

    def test_all_is_built_where_all_is_wanted_or_a_name_says_nothing(self):
        self.assertEqual(self.targets(""), [])
        self.assertEqual(self.targets("fuzz"), [])

    def test_a_typo_is_found_before_anything_is_built(self):
        self.assertEqual(ctest.chosen(re.compile("emulatr.mbarrier"), KNOWN), [])
        with self.assertRaises(ctest.Stop) as refused:
            ctest.refuse(re.compile("pipeline.chian"), KNOWN)
        self.assertIn("pipeline.chain", str(refused.exception))


if __name__ == "__main__":
    unittest.main()
