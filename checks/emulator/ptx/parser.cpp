// PTX text -> syntax tree.
#include <doctest/doctest.h>

#include "emulator/findings/report.hpp"
#include "emulator/ptx/syntax.hpp"

namespace {

constexpr char kHead[] = ".version 8.6\n.target sm_90a\n.address_size 64\n";

std::string refusal(const std::string& text) {
  try {
    emu::parse_ptx(kHead + text);
  } catch (const emu::Fault& fault) {
    return fault.what();
  }
  return "";
}

}  // namespace

TEST_CASE("parser: variables with their space, size, alignment and initial bytes") {
  const emu::Module module = emu::parse_ptx(
      kHead + std::string(".visible .global .align 16 .b8 bytes[6] = {1, 2, 255};\n"
                          ".const .u32 word = 0x01020304;\n.extern .shared .align 1024 .b8 tile[];\n"));
  REQUIRE(module.variables.size() == 3);
  CHECK(module.variables[0].name == "bytes");
  CHECK(module.variables[0].bytes == 6);
  CHECK(module.variables[0].align == 16);
  CHECK(module.variables[0].initial[2] == 255);
  CHECK(module.variables[1].space == emu::Space::constant);
  CHECK(module.variables[1].initial[0] == 4);
  CHECK(module.variables[2].space == emu::Space::shared);
  CHECK(module.variables[2].align == 1024);
}

TEST_CASE("parser: a name inside braces hides the one outside") {
  const emu::Module module =
      emu::parse_ptx(kHead + std::string(".visible .entry kernel() {\n.reg .b32 %a;\nmov.u32 %a, 1;\n"
                                         "{\n.reg .b64 %a;\nmov.u64 %a, 2;\n}\nmov.u32 %a, 3;\nret;\n}\n"));
  const emu::Function& kernel = *module.find_function("kernel");
  REQUIRE(kernel.body.size() == 4);
  const auto name = [&](int at) { return kernel.body[at].operands[0].name; };
  CHECK(name(0) == name(2));
  CHECK(name(0) != name(1));
}

TEST_CASE("parser: what the grammar does not have is refused with its line and a caret") {
  const std::string text = refusal(".visible .entry kernel() {\n.reg .b32 %a\nret;\n}\n");
  CHECK(text.find("ptx-syntax") == 0);
  CHECK(text.find("PTX line ") != std::string::npos);
  CHECK(text.find("^") != std::string::npos);
  CHECK(refusal(".visible .entry kernel() {\nret;\n").find("ptx-syntax") == 0);
  CHECK(refusal(".visible .entry kernel() {\nret;\n}\n").empty());
}
