"""The short report: the student's line, the cause, what to try; in one screen, with no path of the machine."""

import unittest

from tree import Tree

from workbook import base, compile_report, report
from workbook.program import DoesNotCompile
from workbook.run import Run


class Report(Tree):
    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, base, "ROOT", base.ROOT)
        base.ROOT = self.root
        self.source = self.write("lessons/01_first/01_first.cu", "".join(f"line {n};\n" for n in range(1, 21)))
        self.finding = {"id": "data-race", "severity": "error", "title": "two threads write", "file": str(self.source), "line": 7,
                        "other_file": str(self.source), "other_line": 12, "where": f"{self.source}:7  CTA (0,0,0) warp 1",
                        "state": f"touched before at {self.source}:12", "why": "nothing orders them", "try": "a barrier", "count": 1200,
                        "seen_in": "4 CTAs", "also": []}

    def text(self, result=None, findings=(), output="", code=1):
        done = Run(["x"], {}, code, output, 60, {"findings": list(findings)}, result or {})
        return "\n".join(report.body(done, self.source))

    def test_a_finding(self):
        said = self.text({"verdict": "wrong"}, [self.finding])
        for part in ("data-race: two threads write\n", "\n  lessons/01_first/01_first.cu:7\n", "  >    7 | line 7;", "  >   12 | line 12;",
                     "where  CTA (0,0,0) warp 1; 1,200 times, in 4 CTAs\n", "state  touched before at 01_first.cu:12", "why    nothing",
                     "try    a barrier"):
            self.assertIn(part, said)
        self.assertNotIn(str(self.root), said)
        self.assertLessEqual(said.count("\n"), 20)

    def test_a_path_is_told_as_it_is_however_the_compiler_came_to_it(self):
        roundabout = f"{self.root}/build/../lessons/01_first/01_first.cu"
        (self.root / "build").mkdir()
        self.finding.update(file=roundabout, where=f"{roundabout}:7  CTA", state=f"before at {roundabout}:12")
        said = self.text({}, [self.finding])
        self.assertIn("\n  lessons/01_first/01_first.cu:7\n", said)
        self.assertIn("before at 01_first.cu:12", said)

    def test_the_students_line_comes_first_where_a_helper_was_inlined(self):
        helper = self.write("common/helper.cuh", "one\ntwo\n")
        self.finding.update(file=str(helper), line=2, chain=[{"file": str(f), "line": n} for f, n in ((helper, 2), (self.source, 9))])
        self.assertIn("  >    9 | line 9;", self.text({}, [self.finding]))

    def test_a_function_of_the_students_shows_who_called_it(self):
        frames = lambda *lines: [{"file": str(self.source), "line": n, "function": f} for n, f in lines]
        self.finding.update(chain=frames((7, "wait(int)"), (15, "gemm(int)")), related=[
            {"what": "arrives", "file": str(self.source), "line": 4, "chain": frames((4, "copy(int)"), (17, "gemm(int)"))},
            {"what": "in a lambda", "file": str(self.source), "line": 5, "chain": frames((5, "gemm(int)::{lambda(int)#1}::operator()"), (18, "gemm"))}])
        said = self.text({}, [self.finding])
        for part in ("  >    7 | line 7;\n  called from:\n  >   15 | line 15;", "  arrives:\n  >   17 | line 17;", "  in a lambda:\n  >    5 | line 5;"):
            self.assertIn(part, said)

    def test_a_refusal_is_told_at_the_call(self):
        self.source.write_text("one\n  cuTensorMapEncodeTiled(&map);\n")
        said = self.text({}, output="head: of it\nx: tensor-map-invalid: it would refuse this\n  boxDim[0] = 64\n", code=2)
        self.assertTrue(said.startswith("tensor-map-invalid: it would refuse this\n"), said)
        self.assertIn("  >    2 |   cuTensorMapEncodeTiled(&map);", said)
        self.assertIn("why    boxDim[0] = 64", said)

    def test_others_that_took_part_and_the_rule_where_there_is_no_why(self):
        self.finding.update(related=[{"what": "initialised for 8", "file": str(self.source), "line": 3}], why="", rule="one by one",
                            section="9.7.13")
        said = self.text({}, [self.finding])
        self.assertIn("  initialised for 8:\n  >    3 | line 3;", said)
        self.assertIn("why    one by one (PTX 9.7.13)", said)

    def test_an_open_blank_is_all_that_is_said(self):
        self.write("lessons/01_first/01_first.cu", 'one\nTODO_OPEN("01.2", "Multiply.");\n')
        said = self.text({"verdict": "todo", "classification": "TODO 01.2 is still open: Multiply."}, [self.finding], code=3)
        self.assertTrue(said.startswith("TODO 01.2 is still open: Multiply.\n"))
        self.assertIn('  >    2 | TODO_OPEN("01.2"', said)
        self.assertNotIn("data-race", said)

    def test_numbers(self):
        output = "head\n  result   wrong: 3 of 9 elements (zeros)\n    Nothing was stored.\n  (0, 0) no\n    (0, 0)  want 1  got 0\n"
        said = self.text({"verdict": "wrong"}, output=output)
        self.assertIn("wrong numbers: 3 of 9 elements (zeros)\n  Nothing was stored.", said)

    def test_numbers_of_a_later_launch(self):
        said = "  result   right: 4 elements\n  time     1 ms\n  result   wrong: a later launch gave another result than the first (unstable)\n"
        self.assertEqual(report.result_lines(said), ["a later launch gave another result than the first (unstable)"])

    def test_numbers_that_come_of_what_nobody_wrote(self):
        unwritten = dict(self.finding, id="uninitialised-read", severity="advice", title="a copy reads what nobody wrote")
        said = self.text({"verdict": "wrong"}, [unwritten], "  result   wrong: 3 of 9 elements (nan)\n    3 elements are NaN.\n    more\n")
        self.assertIn("3 elements are NaN.\n\nuninitialised-read: a copy reads", said)
        done = Run(["x"], {}, 1, "  result   wrong: 9 of 9 elements (not-written)\n", 60, {"stats": {"tensor.store.issued": 0, "launches": 1}}, {"verdict": "wrong"})
        self.assertIn("no bulk or tensor store was issued", "\n".join(report.body(done, self.source)))

    def test_how_a_program_ends(self):
        self.assertIn("no end within 60 s", self.text(code=None))
        self.assertIn("the program ended by SIGSEGV", self.text(code=-11))
        self.assertIn("no memory", self.text(output="no memory\n", code=2))
        self.assertEqual(self.text({"verdict": "right"}, code=0), "")

    def test_what_the_compiler_refuses(self):
        error = DoesNotCompile(f'{self.source}(3): error: identifier "x" is undefined\n  more\n{self.source}(9): error: then this\n')
        said = "\n".join(compile_report.refusal(error, self.source))
        self.assertIn('identifier "x" is undefined', said)
        self.assertIn("  >    3 | line 3;", said)
        self.assertIn("and 1 more errors", said)

    def test_remarks_of_the_assembler(self):
        remark = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to a call\n"
        self.assertEqual(compile_report.remarks("ptxas info    : Used 90 registers", self.source), [])
        self.assertIn("accumulators untouched", "\n".join(compile_report.remarks(remark, self.source)))
        self.source.write_text('one\n  printf("%d", 1);\n')
        said = "\n".join(compile_report.remarks(remark, self.source))
        self.assertIn("right, but wgmma instructions wait for each other (ptxas C7510)", said)
        self.assertIn('  >    2 |   printf("%d", 1);', said)


if __name__ == "__main__":
    unittest.main()
