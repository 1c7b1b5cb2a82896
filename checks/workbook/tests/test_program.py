"""Whose host code may stand for whose: a difference inside device functions alone."""

import tempfile
import unittest
from pathlib import Path

import tree  # noqa: F401, makes the package known

from workbook.program import DoesNotCompile, device_part, headers, host_part, host_text, without_device_code

SOURCE = """#include <vector>
template <int N>
__global__ void __launch_bounds__(256) gemm(float* c) {
  if (c) { c[0] = '}'; }  // }
  const char* text = "{ \\" {";
}
__device__ int table[2] = {1, 2};
struct Op {
  __device__ float operator()(float x) const { return 2 * x; }
  int size;
};
__host__ __device__ inline int both(int a) { return a + 1; }
__device__ void declared(int);
int main() {
  gemm<3><<<1, 256>>>(nullptr);
}
"""


class HostText(unittest.TestCase):
    def same(self, old, new):
        self.assertIn(old, SOURCE)
        return host_text(SOURCE) == host_text(SOURCE.replace(old, new))

    def test_device_code_is_no_host_code(self):
        for old, new in (("c[0] = '}';", "c[1] = '{'; {}"), ("return 2 * x;", "return 3 * x;"), ("  if (c)", "      if  (c)\n"),
                         ("  const char* text", "  // a comment with a }\n  const char* text"), ("#include <vector>", "#include <cstdio>")):
            self.assertTrue(self.same(old, new), new)

    def test_all_else_is(self):
        for old, new in (("{1, 2}", "{1, 3}"), ("return a + 1;", "return a + 2;"), ("int size;", "int size, more;"), ("gemm<3>", "gemm<4>"),
                         ("float* c)", "float* c, int n)"), ("(256) gemm", "(128) gemm"), ("void declared(int)", "void declared(long)")):
            self.assertFalse(self.same(old, new), new)

    def test_a_body_that_never_closes_takes_the_rest_with_it(self):
        self.assertFalse(self.same('"{ \\" {";\n}', '"{ \\" {";\n'))


    def test_host_code_without_device_code_has_the_same_lines(self):
        said = without_device_code(SOURCE, "x.cu")
        self.assertTrue(said.startswith('#line 1 "x.cu"\n'))
        self.assertEqual(said.count("\n"), SOURCE.count("\n") + 1)
        for gone in ("c[0]", "2 * x"):
            self.assertNotIn(gone, said)
        for kept in ("gemm(float* c) {", "int table[2] = {1, 2};", "return a + 1;", "gemm<3><<<1, 256>>>(nullptr);", "#include <vector>"):
            self.assertIn(kept, said)
        self.assertEqual(host_text(said.split("\n", 1)[1])[:20], host_text(SOURCE)[:20])


class Parts(unittest.TestCase):
    KERNEL = "__global__ void work(int* c) {\n  *c = 1;\n}"
    TAIL = "\nint plan(int n) { return n + 1; }\nint main() { work<<<1, 1>>>(nullptr); }\n"

    def test_device_code_ends_before_the_host_code_behind_it(self):
        self.assertEqual(device_part(self.KERNEL + self.TAIL), self.KERNEL)
        for all_of_it in (SOURCE, self.KERNEL + "\ntemplate <> struct Traits<int> {};" + self.TAIL, "int main() {}\n",
                          self.KERNEL + "\n#define N 3" + self.TAIL, self.KERNEL + "\n__host__ __device__ int f() { return 1; }"):
            self.assertEqual(device_part(all_of_it), all_of_it)

    def test_the_host_object_does_not_depend_on_the_length_of_device_code(self):
        short, long = (without_device_code(kernel + self.TAIL, "x.cu") for kernel in (self.KERNEL, self.KERNEL.replace("1;", "1;\n\n")))
        self.assertNotEqual(short, long)
        self.assertEqual(host_part(short), host_part(long))
        self.assertNotEqual(host_part(short + "assert(true);"), host_part(long + "assert(true);"))


class Compiler(unittest.TestCase):
    def test_where_it_complains(self):
        said = 'a b.cu(12): error: x\nc.cu:3:7: error: y\nd.cu(4): warning: z\ne.cuh(5): catastrophic error: no file\n'
        self.assertEqual([w[:2] for w in DoesNotCompile(said).where], [("a b.cu", 12), ("c.cu", 3), ("e.cuh", 5)])

    def test_headers_of_a_dependency_file(self):
        with tempfile.TemporaryDirectory() as folder:
            depends = Path(folder, "x.d")
            depends.write_text(f"x.ptx : x.cu \\\n  {tree.TOOL.parents[1]}/common/a\\ b.cuh \\\n /usr/include/stdio.h\n")
            self.assertEqual(headers(depends), [str(tree.TOOL.parents[1] / "common/a b.cuh")])


if __name__ == "__main__":
    unittest.main()
