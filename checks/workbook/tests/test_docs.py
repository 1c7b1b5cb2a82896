"""Documents: what they quote is what its source holds, and the commands they list are the Makefile's."""

import re
import unittest

from tree import TOOL, Tree

README = "lessons/01_first/README.md"


class Docs(Tree):
    def says(self, part, *command):
        code, said = self.tool(*(command or ("quotes",)))
        self.assertEqual(code, 1)
        self.assertIn(part, said)

    def test_a_quotation_that_its_source_no_longer_holds(self):
        self.assertEqual(self.tool("quotes")[0], 0)
        self.edit(README, "multiply(c);", "multiply_it(c);")
        self.says("-multiply_it(c);")
        self.assertEqual(self.tool("quotes", "--write")[0], 0)
        self.assertEqual(self.tool("quotes")[0], 0)

    def test_a_region_or_a_program_that_is_not_there(self):
        self.edit(README, "01_first.cu loop", "01_first.cu hoop")
        self.says("has no region hoop")
        self.edit(README, "quote solutions/01_first.cu hoop", "output solutions/none.emu")
        self.says("build/solutions/none.emu is not built")

    def test_a_whole_file(self):
        self.write(README, "<!-- quote solutions/01_first.cu -->\n```cpp\n```\n")
        self.says("+__global__ void gemm(float* c) {")
        self.tool("quotes", "--write")
        text = (self.root / README).read_text()
        self.assertIn("int main() {", text)
        self.assertNotIn("[region", text)

    def test_the_report_of_a_bug(self):
        source = "lessons/12_your_own_kernel/mine.cu"
        self.stand_ins()
        self.write(source, "__global__ void gemm() {}\n")
        self.write("build/standalone/mine.emu", "#!/bin/sh\n# .entry gemm\necho '{\"stats\": {\"launches\": 1}}' >\"$EMU_JSON\"\n", True)
        self.write(README, "<!-- report mine/right -->\n```text\n```\n")
        self.says("+0 findings")
        self.tool("quotes", "--write")
        self.assertEqual(self.tool("quotes")[0], 0)
        self.edit(README, "mine/right", "mine/other")
        self.says("mine has no bug 'other'")

    def test_a_comment_without_its_block(self):
        self.edit(README, "```cpp", "\n```cpp")
        self.says("is not followed by a fenced block")

    def test_the_table_of_commands_is_the_makefile_s(self):
        self.write("README.md", "<!-- commands -->\n| old |\n<!-- commands: end -->\n")
        self.says("the table of commands is not that of the Makefile")
        self.tool("quotes", "--write")
        self.assertIn("| `make break-NN BUG=name` |", (self.root / "README.md").read_text())

    def test_help_names_every_target_of_the_makefile(self):
        makefile = (TOOL.parents[1] / "Makefile").read_text()
        simple = re.search(r"^commands := (.*)$", makefile, re.M)[1].split() + re.findall(r"^([a-z-]+):$", makefile, re.M)
        patterns = [f"{c}-NN" for c in re.search(r"foreach c,([a-z ]+),", makefile)[1].split()]
        said = self.tool("help")[1]
        for name in set(simple + patterns) - {"help"}:
            self.assertRegex(said, rf"(?m)^make {name} ")


if __name__ == "__main__":
    unittest.main()
