"""make test: which tests TESTS means, and what has to be built for them."""

import re
import unittest
from unittest import mock

import tree  # noqa: F401, makes the package known

from workbook import base, build, ctest

B = base.BUILD
KNOWN = {"lesson.05_ring.right for whole tiles": [f"{B}/checks/lesson/05_ring", "-tc=right"],
         "lesson.05_ring.ragged": [f"{B}/checks/lesson/05_ring", "-tc=ragged"], "emulator.mbarrier.not built": [f"{B}/checks/mbarrier"],
         "emulator.fence.a, b": [f"{B}/checks/fence"], "pipeline.chain": ["python3", "pipeline", f"{B}/pipelines/chain.emu"],
         "script.format": ["python3", "format"], "emulator.fuzz": [f"{B}/checks/fuzz"]}


class Tests(unittest.TestCase):
    def targets(self, pattern, generator="Ninja"):
        with mock.patch.object(build, "tools", lambda: {"GENERATOR": generator}):
            return ctest.targets(ctest.chosen(re.compile(pattern), KNOWN), KNOWN)

    def test_what_is_built(self):
        self.assertEqual(self.targets(r"lesson\.05.*ragged"), ["checks/lesson/05_ring"] + sorted(n.format("05_ring") for n in ctest.LESSON))
        self.assertEqual(self.targets("^emulator.fence"), ["checks/fence"])
        self.assertEqual(self.targets("emulator.mbarrier.a parity"), ["checks/mbarrier"])
        self.assertEqual(self.targets("^pipeline.chain"), ["pipelines/chain.emu"])
        self.assertEqual(self.targets("format$"), ["checks/mbarrier", "ladder"])

    def test_all_is_built_where_all_is_wanted_or_parts_cannot_be(self):
        self.assertEqual(self.targets(""), [])
        self.assertEqual(self.targets("^emulator.fence", "Unix Makefiles"), [])

    def test_a_typo_is_found_before_anything_is_built(self):
        self.assertEqual(ctest.chosen(re.compile("emulatr.mbarrier"), KNOWN), [])
        with self.assertRaises(ctest.Stop) as refused:
            ctest.refuse(re.compile("pipeline.chian"), KNOWN)
        self.assertIn("pipeline.chain", str(refused.exception))


if __name__ == "__main__":
    unittest.main()
