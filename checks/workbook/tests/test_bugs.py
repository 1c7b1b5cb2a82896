"""The corpus: what is wrong with a patch is named, and a run is held to what its patch promises."""

import unittest

from tree import Tree

from workbook import bugs
from workbook.run import Run

PATCH = """bug:       no_wait
title:     nobody waits
h200:      correct (5 of 5 runs)
sanitizer: all silent
expect:    data-race at "multiply"
why:       The tile is read
           too soon.

--- a/solutions/01_first.cu
+++ b/solutions/01_first.cu
@@ -7,4 +7,3 @@
   // [todo 01.1] Wait for the tile.
-  wait(c);
   // [end]
"""


class Patches(Tree):
    def setUp(self):
        super().setUp()
        self.write("checks/bugs/01_first/no_wait.patch", PATCH)
        self.write("checks/bugs/README.md", "<!-- the table: written by workbook bugs readme -->\n<!-- end of the table -->\n")

    def refused(self, old, new, part, *words):
        self.edit("checks/bugs/01_first/no_wait.patch", old, new)
        code, said = self.tool(*(words or ("bugs", "readme")))
        self.assertNotEqual(code, 0)
        self.assertIn(part, said)
        self.write("checks/bugs/01_first/no_wait.patch", PATCH)

    def test_headers(self):
        self.assertIn("nobody waits", self.tool("break", "1")[1])
        self.refused("title:", "titel:", "header 'titel' is unknown")
        self.refused("h200:", "title:", "header 'title' is unknown or there twice")
        self.refused("title:     nobody waits\n", "", "no title")
        self.refused("bug:       no_wait", "bug:       other", "calls itself other")
        self.refused("data-race at", "data-race near", "the 'expect:' of")
        self.refused("--- a/", "--- b/", "holds no diff")

    def test_the_table(self):
        self.assertEqual(self.tool("bugs", "readme", "--check")[0], 1)
        self.assertEqual(self.tool("bugs", "readme")[0], 0)
        self.assertEqual(self.tool("bugs", "readme", "--check")[0], 0)

    def test_a_patch_that_does_not_apply(self):
        self.stand_ins()
        for old, new, part in (("-  wait(c);", "-  wait_for(c);", "its lines occur 0 times"), ("+++ b/solutions/01", "+++ b/solutions/02",
                               "against another file"), ("-  wait(c);", "*  wait(c);", "starts with neither")):
            self.refused(old, new, part, "bugs", "test", "01", "no_wait")


class Promises(unittest.TestCase):
    def deviates(self, written, code=1, ids=(), output="", result=None):
        findings = [{"id": i.split()[-1], "severity": "advice" if " " in i else "error", "file": __file__, "line": 1} for i in ids]
        expect = bugs.parse_expectation(__file__, written) if written else None
        return bugs.deviation(expect, Run([], {}, code, output, 0, {"findings": findings}, result or {}))

    def test_what_is_promised(self):
        wrong = {"verdict": "wrong", "classification": "zeros"}
        for written, outcome in (('data-race at "The corpus"', {"ids": ["data-race"]}), ('a | data-race at "corpus"', {"ids": ["data-race"]}),
                                 ('advice hint at "corpus"', {"ids": ["advice hint"], "code": 0}), ("numbers zeros", {"result": wrong}),
                                 ("numbers wrong", {"output": "x: wrong, 3"}), ('refused "no map"', {"output": "no map", "code": 2}),
                                 (None, {"code": 0})):
            self.assertEqual(self.deviates(written, **outcome), "", written)

    def test_what_is_not(self):
        for written, outcome in (('data-race at "The corpus"', {"ids": ["deadlock"]}), ('data-race at "another"', {"ids": ["data-race"]}),
                                 ('data-race at "The corpus"', {"ids": ["data-race", "deadlock"]}), ('data-race at "corpus"', {"code": 0}),
                                 ("numbers zeros", {"output": ": wrong, 3"}), (None, {"code": 0, "ids": ["advice hint"]}),
                                 (None, {"code": None})):
            self.assertNotEqual(self.deviates(written, **outcome), "", written)


if __name__ == "__main__":
    unittest.main()
