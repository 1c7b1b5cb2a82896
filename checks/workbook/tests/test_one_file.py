"""make try FILE=: which file is meant, with whose options it is compiled, and what is said where there is no program."""

import json
import tempfile
import unittest
from pathlib import Path

from tree import Tree

# The compiler writes down its words and makes an "object" of the source; the "linker" makes a program of that.
COMPILER = r"""
for word; do [ "$before" = -o ] && out=$word; case $word in *.cu) source=$word;; esac; before=$word; done
printf '%s\n' "$@" >"$LOG"
cp "$source" "$out"; chmod +x "$out"
"""
PROGRAM = "#!/bin/sh\necho \"hello $1\"; pwd; cp \"$REPORT\" \"$EMU_JSON\"; exit $CODE\n"


class OneFile(Tree):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="workbook.")
        self.addCleanup(folder.cleanup)
        self.here = Path(folder.name).resolve()
        (self.here / "my kernel.cu").write_text(PROGRAM)
        self.stand_ins(nvcc=COMPILER)
        linker = self.write("ld", "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$LOG.link\"\n"
                                  "for word; do [ \"$before\" = -o ] && out=$word; before=$word; done\ncp \"$1\" \"$out\"\n", True)
        self.edit("build/link.txt", "CXX=/bin/true", f"CXX={linker}\nEMULATOR={self.root}/build/lab.a")
        self.report(launches=1, thread_instructions=64)

    def report(self, findings=(), **stats):
        (self.here / "report").write_text(json.dumps({"findings": list(findings), "stats": stats}))

    def go(self, code, file="my kernel.cu", program=0, **environment):
        got, said = self.tool("try", FILE=file, CALLED_FROM=str(self.here), LOG=str(self.here / "log"), CODE=str(program),
                              REPORT=str(self.here / "report"), **environment)
        self.assertEqual(got, code, said)
        return said

    def words(self, of="log"):
        return (self.here / of).read_text().splitlines()

    def test_a_name_is_seen_from_where_make_was_called_and_the_program_runs_there(self):
        said = self.go(0, ARGS="you")
        self.assertIn("| hello you\n", said)
        self.assertIn(f"| {self.here}\n", said)
        self.assertIn("0 findings", said)
        self.assertIn("64 thread instructions", said)
        self.write("other.cu", PROGRAM)
        self.assertIn("hello", self.go(0, "other.cu"))
        self.assertIn(str(self.here / "none.cu"), self.go(2, "none.cu"))
        self.assertIn("is no source of a program", self.go(2, str(self.here)))
        self.assertIn("is no source of a program", self.go(2, "report"))

    def test_a_file_of_ptx_is_listed_or_launched(self):
        (self.here / "k.ptx").write_text("one\ntwo\nthree\n")
        self.write("build/checks/ptx_file", PROGRAM.replace("$1", "$*"), True)
        said = self.go(0, "k.ptx")
        self.assertIn(f"| hello {self.here}/k.ptx\n", said)
        self.assertIn('ARGS="--block 128 f32:1024 7"', said)
        self.assertNotIn("0 findings", said)
        self.report([{"id": "data-race", "severity": "error", "title": "two threads write", "ptx_line": 2}], launches=1)
        said = self.go(1, "k.ptx", ARGS="--block 32 u32:8")
        self.assertIn("k.ptx --block 32 u32:8", said)
        self.assertIn(">    2 | two", said)
        self.report(launches=1, thread_instructions=64)
        self.assertIn("0 findings", self.go(0, "k.ptx", ARGS="--block 32"))
        self.assertNotIn("findings", self.go(1, "k.ptx", program=2, ARGS="--blok"))

    def test_options_of_ones_own(self):
        self.go(0, FLAGS="-DN=8 -Iinclude -I more -std=c++20 -lz mine.o")
        for word in ("-DN=8", f"-I{self.here}/include", f"{self.here}/more", "-std=c++20"):
            self.assertIn(word, self.words())
        self.assertIn("-lz", self.words("log.link"))
        self.assertIn(f"{self.here}/mine.o", self.words("log.link"))
        self.assertNotIn("-lz", self.words())
        self.assertIn("-UNDEBUG", self.words())
        (self.here / "log").unlink()
        self.go(0, FLAGS="-DN=9 -DNDEBUG")
        self.assertIn("-DN=9", self.words())
        self.assertNotIn("-UNDEBUG", self.words())
        self.assertIn("cannot be taken apart", self.go(2, FLAGS="'"))
        self.assertIn("one file has nobody to be linked with", self.go(2, FLAGS="-rdc=true"))

    def test_a_finding_is_told_at_its_line_wherever_the_program_ran(self):
        self.report([{"id": "data-race", "severity": "error", "title": "two threads write", "file": "my kernel.cu", "line": 2,
                      "chain": [{"file": "my kernel.cu", "line": 2}], "where": "", "rule": "r", "section": "PTX ISA 5.1"}], launches=1)
        said = self.go(1)
        self.assertIn(">    2 | echo", said)
        self.assertIn("r (PTX ISA 5.1)", said)

    def test_a_program_that_fails_without_a_finding(self):
        said = self.go(1, program=3)
        self.assertIn("0 findings, and still:", said)
        self.assertEqual(said.count("hello"), 1)
        (self.here / "my kernel.cu").write_text("#!/bin/sh\nkill -11 $$\n")
        said = self.go(1)
        self.assertIn("its host code ended it", said)
        self.assertNotIn("no kernel was launched", said)

    def test_what_the_linker_misses_is_named(self):
        for name, told in (("main", "has no main()"), ("cublasCreate_v2", "the linker does not find cublasCreate_v2"),
                           ("cudaGraphLaunch", "the emulator does not have cudaGraphLaunch")):
            self.write("ld", f"#!/bin/sh\necho \"undefined reference to \\`{name}'\"; exit 1\n", True)
            self.assertIn(told, self.go(1))

    def test_a_compiler_that_does_not_work_with_the_options(self):
        self.stand_ins(nvcc="echo nvcc fatal: unknown option; exit 1")
        self.assertIn("try    look at FLAGS", self.go(2, FLAGS="--nonsense"))

    # ---- make predict FILE=

    MODEL = """#!/usr/bin/env python3
import json, os, sys
if CODE: sys.exit(CODE)
m, n, k = map(int, sys.argv[1].split(","))
tiles, steps = m // 128 * (n // 256), k // 64
cycles = 1000 + tiles * (400 + 600 * steps)
json.dump({"findings": [], "timed": {"cluster": 1, "ctas_per_sm": 1, "sms": 1, "ctas": tiles, "cycles": cycles, "overlaps": False,
           "tensor_busy": BUSY * tiles * steps * 512 / cycles, "waits_for_copies": 0}}, open(os.environ["EMU_JSON"], "w"))
"""

    def predicted(self, code, busy=1, ends=0, **environment):
        (self.here / "my kernel.cu").write_text(self.MODEL.replace("CODE", str(ends)).replace("BUSY", str(busy)))
        got, said = self.tool("predict", **dict({"FILE": "my kernel.cu", "CALLED_FROM": str(self.here), "LOG": str(self.here / "log"),
                                                 "TILE": "128x256x64", "ARGS": "{m},{n},{k}"}, **environment))
        self.assertEqual(got, code, said)
        return said

    def test_a_prediction_of_a_program_of_ones_own(self):
        said = self.predicted(0)
        self.assertRegex(said, rf"4096 +{1000 + 4 * (400 + 64 * 600):,} ")
        self.assertIn("a step of K   600 cycles on an SM, bound by other than the tensor cores, which need 512", said)

    def test_why_there_is_no_prediction(self):
        self.assertIn("TILE=128x256x64", self.predicted(2, TILE=""))
        self.assertIn("TILE=128x256 are no 3 sizes", self.predicted(2, TILE="128x256"))
        self.assertIn("ARGS does not say how the program is told M, N and K", self.predicted(2, ARGS="{m} {n}"))
        self.assertIn("128,256,64 ended with exit code 3", self.predicted(2, ends=3))
        self.assertIn("has no product of the tensor cores", self.predicted(2, busy=0))
        self.assertIn("leave DEVICE out", self.predicted(2, DEVICE="gpu"))


if __name__ == "__main__":
    unittest.main()
