// PTX text -> tokens.
#include "emulator/ptx/lexer.hpp"

#include <doctest/doctest.h>

#include "emulator/findings/report.hpp"

namespace {

std::vector<emu::Token> tokens(const std::string& text) {
  return emu::tokenize(text, emu::split_lines(text));
}

std::string refusal(const std::string& text) {
  try {
    tokens(text);
  } catch (const emu::Fault& fault) {
    return fault.what();
  }
  return "";
}

}  // namespace

TEST_CASE("lexer: a word keeps its dots and colons, punctuation stands alone") {
  std::string all;
  for (const emu::Token& token : tokens("@!%p1 ld.shared::cta.v2.u32 {%r1, _}, [%rd1+8];"))
    all += token.text + " ";
  CHECK(all == "@ ! %p1 ld.shared::cta.v2.u32 { %r1 , _ } , [ %rd1 + 8 ] ;  ");
}

TEST_CASE("lexer: integers in four bases, reals by their bits") {
  const auto all = tokens("42 0x2A 052 0b101010 42U 0f3F800000 0d3FF0000000000000");
  for (int i = 0; i < 5; ++i) CHECK(all[i].bits == 42);
  CHECK(all[5].kind == emu::Token::Kind::real);
  CHECK(all[5].bits == 0x3F800000);
  CHECK(all[5].real_type == emu::Type::f32);
  CHECK(all[6].bits == 0x3FF0000000000000);
  CHECK(all[6].real_type == emu::Type::f64);
}

TEST_CASE("lexer: comments are dropped, lines and columns kept") {
  const auto all = tokens("// one\nret; /* two\nthree */ exit;");
  REQUIRE(all.size() == 5);
  CHECK(all[0].line == 2);
  CHECK(all[2].text == "exit");
  CHECK(all[2].line == 3);
  CHECK(all[2].column == 10);
  CHECK(all[4].kind == emu::Token::Kind::end);
}

TEST_CASE("lexer: what is no token is refused with its line and a caret") {
  const std::string text = refusal("ret;\nmov.u32 %r1, `;\n");
  CHECK(text.find("ptx-syntax") == 0);
  CHECK(text.find("mov.u32 %r1, `;\n") != std::string::npos);
  CHECK(text.find("^") != std::string::npos);
  CHECK(refusal("ret;\n /* never\nclosed").find("this comment never ends") != std::string::npos);
  CHECK(refusal("ret; // closed by the end of the text").empty());
}
