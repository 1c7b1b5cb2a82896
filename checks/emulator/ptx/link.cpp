// Modules of several objects put together: names that are shared, and names that are not.
#include "emulator/ptx/link.hpp"

#include "emulator/findings/report.hpp"
#include "support.hpp"

namespace {

emu::Module read(const std::string& body) {
  return emu::parse_ptx(".version 8.6\n.target sm_90a\n.address_size 64\n" + body);
}

emu::Module link(const std::string& a, const std::string& b) {
  std::vector<emu::Module> both;
  both.push_back(read(a));
  both.push_back(read(b));
  return emu::link_modules(std::move(both));
}

const emu::Variable* variable(const emu::Module& m, const std::string& name) {
  for (const emu::Variable& v : m.variables)
    if (v.name == name) return &v;
  return nullptr;
}

}  // namespace

TEST_CASE("link: a declaration finds its definition in an object before or behind it") {
  const std::string uses =
      ".extern .func f();\n.extern .global .u32 x;\n.visible .entry k() { .reg .b64 %rd<2>; mov.u64 %rd1, x; "
      "call f; ret; }";
  const std::string defines = ".visible .global .u32 x = 7;\n.visible .func f() { ret; }";
  for (const emu::Module& m : {link(uses, defines), link(defines, uses)}) {
    REQUIRE(m.find_function("f"));
    CHECK(m.find_function("f")->has_body);
    REQUIRE(variable(m, "x"));
    CHECK_FALSE(variable(m, "x")->external);
    CHECK(m.variables.size() == 1);
    CHECK(m.functions.size() == 2);
  }
}

TEST_CASE(
    "link: of weak definitions the first counts, a strong one beats them, two strong ones are refused") {
  const std::string weak = ".weak .global .u32 x = 1;\n.weak .func f() { ret; }";
  const std::string other = ".weak .global .u32 x = 2;\n.weak .func f() { ret; ret; }";
  const std::string strong = ".visible .global .u32 x = 3;\n.visible .func f() { ret; ret; ret; }";
  const auto told = [](const emu::Module& m) {
    return std::make_pair(variable(m, "x")->initial[0], m.find_function("f")->body.size());
  };
  CHECK(told(link(weak, other)) == std::make_pair(uint8_t{1}, size_t{1}));
  CHECK(told(link(weak, strong)) == std::make_pair(uint8_t{3}, size_t{3}));
  CHECK(told(link(strong, weak)) == std::make_pair(uint8_t{3}, size_t{3}));
  CHECK_THROWS_WITH_AS(link(strong, strong), doctest::Contains("x is defined in two of the objects"),
                       emu::Fault);
}

TEST_CASE("link: what is not visible keeps to its object, wherever it is named") {
  const std::string text =
      ".global .align 1 .b8 str[2] = {65, 0};\n.shared .b32 s;\n.func g() { .shared .b32 t; .reg .b64 %rd<3>;"
      " mov.u64 %rd1, str; mov.u64 %rd2, t; st.shared.u32 [s], 1; ret; }\n";
  const emu::Module m =
      link(text + ".visible .func a() { call g; ret; }\n.visible .global .u64 p = g;",
           text + ".visible .func b() { call g; ret; }\n.visible .global .u64 q[2] = {str, g};");
  CHECK(m.find_function("a")->body[0].operands[0].name == "g");
  const std::string other = m.find_function("b")->body[0].operands[0].name;
  CHECK(other != "g");
  REQUIRE(m.find_function(other));
  const emu::Function& g = *m.find_function(other);
  for (size_t i : {0, 1}) {
    const std::string named = g.body[i].operands[1].name;
    CHECK(named != m.find_function("g")->body[i].operands[1].name);
    CHECK((variable(m, named) != nullptr || g.variables[0].name == named));
  }
  CHECK(variable(m, "p")->relocations[0].symbol == "g");
  CHECK(variable(m, "q")->relocations[1].symbol == other);
  CHECK(variable(m, "q")->relocations[0].symbol == g.body[0].operands[1].name);
}

TEST_CASE("link: places and lines are those of each object's own text") {
  const std::string named = ".visible .entry k() {\n.loc 1 5 1\nret;\n}\n.file 1 \"", end = "\"\n";
  std::string second = named + "two.cu" + end;
  second.replace(second.find(" k("), 3, " l(");
  const emu::Module m = link(named + "one.cu" + end, second);
  const auto place = [&](const char* kernel) {
    const emu::Instruction& in = m.find_function(kernel)->body[0];
    return m.files.at(m.locs[static_cast<size_t>(in.loc)].file) + " " +
           m.lines[static_cast<size_t>(in.ptx_line)];
  };
  CHECK(place("k") == "one.cu ret;");
  CHECK(place("l") == "two.cu ret;");
}
