"""What `make fuzz-isa` says of two devices that differ, with scripts in place of both."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from workbook import fuzz_isa
from workbook.base import OK, WRONG

# Three statements, two of which make result 1; a device whose BAD is set computes it wrongly unless statement 1 is left out.
SCRIPT = '''#!{python}
import os, signal, sys
bad, unsteady, crash = {bad}, {unsteady}, {crash}
options = sys.argv[1:]
value = lambda name, default: options[options.index(name) + 1] if name in options else default
without = value("--without", "").split(",")
first, count = int(value("--from", 0)), int(value("--count", 1))
if "--show" in options:
    print("// statement 0\\n  add.u32 %r0, %r1, %r2;\\n  st.global.b32 [%out+0], %r0;  // 0\\n// statement 1\\n  mov.b32 %r4, 7;\\n"
          "// statement 2\\n  ld.global.b32 %r5, [%in+8];\\n  mul.lo.u32 %r3, %r4, %r5;\\n  st.global.b32 [%out+1024], %r3;  // 1\\n  ret;\\n}}")
elif "--values" in options:
    print("0 1 1\\n1 5", "6" if bad and "1" not in without else "5")
elif first <= crash < first + count:
    os.kill(os.getpid(), signal.SIGKILL)
else:
    for number in range(first, first + count):
        print(number, "aaaa" + ("bbbb" if not bad or number % 2 else "cccc") + ("dddd" if not unsteady or value("--optimise", "3") == "3" else "eeee"))
'''


class FuzzIsa(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def device(self, name, bad=False, unsteady=False, crash=-1):
        path = self.folder / name
        path.write_text(SCRIPT.format(python=sys.executable, bad=bad, unsteady=unsteady, crash=crash))
        path.chmod(0o755)
        return path

    def compare(self, gpu, emulator, count=3):
        fuzz_isa.GPU, fuzz_isa.EMULATOR = gpu, emulator
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = fuzz_isa.compare(1, fuzz_isa.of_gpu(1, 0, count))
        return code, said.getvalue()

    def test_two_devices_that_agree(self):
        code, said = self.compare(self.device("gpu"), self.device("emulator"))
        self.assertEqual(code, OK)
        self.assertIn("0 programs differ", said)

    def test_a_mismatch_is_named_and_made_small(self):
        code, said = self.compare(self.device("gpu"), self.device("emulator", bad=True))
        self.assertEqual(code, WRONG)
        self.assertIn("mul.lo.u32: programs 0, 2", said)
        self.assertIn("result 1 differs in 1 threads; statements 1, 2 suffice", said)
        self.assertIn("thread 1: GPU 5, emulator 6", said)

    def test_what_the_gpu_leaves_open_is_held_against_nobody(self):
        code, said = self.compare(self.device("gpu", unsteady=True), self.device("emulator"))
        self.assertEqual(code, OK)
        self.assertIn("3 are left open", said)

    def test_a_program_that_the_compiler_cannot_do_is_left_out_alone(self):
        code, said = self.compare(self.device("gpu", crash=1), self.device("emulator"))
        self.assertEqual(code, OK)
        self.assertIn("left out: programs 1 of seed 1", said)
        self.assertIn("2 programs of seed 1", said)


if __name__ == "__main__":
    unittest.main()
