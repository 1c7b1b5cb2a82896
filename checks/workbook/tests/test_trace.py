"""make trace and the timelines of documents, with programs that write a trace made by hand."""

import json
import unittest

import traces
from tree import Tree

MARK = "<!-- timeline stages.svg 01 One stage -->\n![One stage](stages.svg)\n"


class Traces(Tree):
    def setUp(self):
        super().setUp()
        self.stand_ins()
        self.edit("lessons/01_first/01_first.cu", 'TODO_OPEN("01.1", "Wait for the tile.");', "wait(c);")

    def program(self, made, code=0):
        """The worked program: it writes this trace, whatever is asked for."""
        text = json.dumps(made) if isinstance(made, dict) else made
        self.write("trace.json", text)
        copy = f'cp "{self.root}/trace.json" "$EMU_TRACE"; ' if text else ""
        self.write("build/solutions/01_first.emu",
                   f'#!/bin/sh\n# .entry gemm\n{copy}echo "$EMU_TRACE_CTAS" >> "{self.root}/asked"\nexit {code}\n', True)

    def test_the_page_the_figure_and_the_way_to_them(self):
        self.program(traces.trace())
        code, said = self.tool("trace", "1")
        self.assertEqual(code, 0, said)
        for part in ("page   build/trace/01.html", "build/trace/01.svg", "build/trace/01-yours.json (your lesson 01)"):
            self.assertIn(part, said)
        page = (self.root / "build/trace/01.html").read_text(encoding="utf-8")
        self.assertIn("your lesson 01", page)
        self.assertIn("worked lesson 01", page)

    def test_a_students_copy_shows_its_own_run_and_builds_no_more_than_that(self):
        self.program(traces.trace())
        self.write("checks/handout.txt", "")
        self.write("bin/cmake", f'#!/bin/sh\necho "$@" >> "{self.root}/built"\n', True)
        code, said = self.tool("trace", "1")
        self.assertEqual(code, 0, said)
        page = (self.root / "build/trace/01.html").read_text(encoding="utf-8")
        self.assertEqual(("your lesson 01" in page, "worked lesson 01" in page), (True, False))
        built = (self.root / "built").read_text().splitlines()
        self.assertTrue(built and all("--target" in line for line in built), built)

    def test_an_error_outside_the_window_is_recorded_again(self):
        made = traces.trace(waits=False)
        next(e for e in made["events"] if e["e"] == "finding")["cta"] = 3
        self.program(made)
        self.tool("trace", "1")
        self.assertIn("3", (self.root / "asked").read_text().split())
        self.program(traces.trace(waits=False))
        (self.root / "asked").unlink()
        self.tool("trace", "1")
        self.assertEqual((self.root / "asked").read_text().split(), [])

    def test_a_program_that_runs_no_kernel_or_writes_half_a_trace(self):
        self.program("", code=2)
        code, said = self.tool("trace", "1")
        self.assertEqual(code, 2)
        self.assertIn("nothing was recorded", said)
        self.program('{"format":')
        code, said = self.tool("trace", "1")
        self.assertEqual(code, 2)
        self.assertIn("a trace cannot be shown", said)

    def test_only_the_emulator_records(self):
        code, said = self.tool("trace", "1", DEVICE="gpu")
        self.assertEqual(code, 2)

    def test_the_timelines_of_a_document_are_drawn_and_compared(self):
        self.program(traces.trace())
        self.assertEqual(self.tool("timelines")[0], 0)
        self.edit("lessons/01_first/README.md", "# First\n", "# First\n" + MARK)
        code, said = self.tool("timelines")
        self.assertEqual(code, 1)
        self.assertIn("stages.svg is not what the program does now", said)
        self.assertEqual(self.tool("timelines", "--write")[0], 0)
        self.assertEqual(self.tool("timelines")[0], 0)
        self.program(traces.trace(steps=3))
        self.assertEqual(self.tool("timelines")[0], 1)


if __name__ == "__main__":
    unittest.main()
