// Control flow, calls, divergence, ends of kernels.
#include "support.hpp"

using namespace emu_test;

TEST_CASE("bra: diverged lanes take both sides and meet again") {
  Runner r;
  Options o;
  o.threads = 40;
  o.out_words = 1;
  auto out = r.run(
      "and.b32 %r1, %t, 1;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 bra ODD;\nmov.u32 %r2, 100;\nbra END;\nODD: "
      "mov.u32 %r2, 200;\n"
      "END: add.u32 %r2, %r2, %t;\nst.global.u32 [%out], %r2;",
      {}, o);
  for (unsigned t = 0; t < 40; ++t) CHECK(out[t] == (t & 1 ? 200 : 100) + t);
}

TEST_CASE("bra: a loop with a different trip count in each lane") {
  Runner r;
  Options o;
  o.threads = 32;
  o.out_words = 1;
  auto out = r.run(
      "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nLOOP: setp.ge.u32 %p1, %r1, %t;\n@%p1 bra END;\nadd.u32 %r2, %r2, "
      "%r1;\n"
      "add.u32 %r1, %r1, 1;\nbra LOOP;\nEND: st.global.u32 [%out], %r2;",
      {}, o);
  for (unsigned t = 0; t < 32; ++t) CHECK(out[t] == t * (t ? t - 1 : 0) / 2);
}

TEST_CASE("brx.idx: each lane to its own target") {
  Runner r;
  Options o;
  o.threads = 32;
  o.out_words = 1;
  auto out = r.run(
      "and.b32 %r1, %t, 3;\nTARGETS: .branchtargets A, B, C, D;\nbrx.idx %r1, TARGETS;\nA: mov.u32 %r2, "
      "10;\nbra E;\n"
      "B: mov.u32 %r2, 20;\nbra E;\nC: mov.u32 %r2, 30;\nbra E;\nD: mov.u32 %r2, 40;\nE: st.global.u32 "
      "[%out], %r2;",
      {}, o);
  for (unsigned t = 0; t < 32; ++t) CHECK(out[t] == 10 * (t % 4 + 1));
}

TEST_CASE("bra: a lane that spins lets the lane it waits for run (forward progress)") {
  Runner r;
  Options o;
  o.threads = 32;
  o.out_words = 1;
  o.declarations = ".shared .align 4 .u32 flag;\n";
  // Lane 0 spins first in program order; lane 31 sets the flag further down.
  auto out = r.run(
      "setp.ne.u32 %p1, %t, 31;\nst.shared.u32 [flag], 0;\nbar.warp.sync 0xffffffff;\n@!%p1 bra SET;\n"
      "SPIN: ld.volatile.shared.u32 %r1, [flag];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra SPIN;\nbra END;\n"
      "SET: st.volatile.shared.u32 [flag], 7;\nmov.u32 %r1, 7;\nEND: st.global.u32 [%out], %r1;",
      {}, o);
  for (uint32_t v : out) CHECK(v == 7);
}

TEST_CASE("call: recursion, per-lane depth") {
  Runner r;
  Options o;
  o.threads = 8;
  o.out_words = 1;
  o.declarations =
      ".func (.param .b32 result) fact (.param .b32 n) {\n.reg .b32 %r<8>;\n.reg .pred %p<2>;\nld.param.u32 "
      "%r1, [n];\n"
      "setp.le.u32 %p1, %r1, 1;\nmov.u32 %r2, 1;\n@%p1 bra DONE;\nsub.u32 %r3, %r1, 1;\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call.uni (b), fact, (a); ld.param.b32 %r4, "
      "[b]; }\n"
      "mul.lo.u32 %r2, %r1, %r4;\nDONE: st.param.b32 [result], %r2;\nret;\n}\n";
  auto out = r.run(
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %t; call (b), fact, (a); ld.param.b32 %r1, [b]; }\n"
      "st.global.u32 [%out], %r1;",
      {}, o);
  uint32_t want = 1;
  for (unsigned t = 0; t < 8; ++t) {
    if (t) want *= t;
    CHECK(out[t] == want);
  }
}

TEST_CASE("call: recursion that never ends is a stack overflow at its line") {
  Options o;
  o.declarations = ".func deep () {\ncall.uni deep;\nret;\n}\n";
  CHECK(Runner().fault("call.uni deep;", {}, o).id == "stack-overflow");
}

// Two functions with differently laid out registers, both alive while each waits for the other's lanes.
const char* const kTwoFunctions =
    ".shared .align 4 .u32 flag[2];\n"
    ".func (.param .b64 result) wide (.param .b32 n) {\n.reg .b64 %x<4>;\n.reg .b32 %v<2>;\n.reg .pred %q;\n"
    "ld.param.u32 %v0, [n];\ncvt.u64.u32 %x0, %v0;\nmul.lo.u64 %x1, %x0, 0x100000001;\n"
    "add.u64 %x2, %x0, 0x7f0000000000;\nst.volatile.shared.u32 [flag], 1;\n"
    "W: ld.volatile.shared.u32 %v1, [flag+4];\nsetp.eq.u32 %q, %v1, 0;\n@%q bra W;\n"
    "add.u64 %x3, %x1, %x2;\nst.param.b64 [result], %x3;\nret;\n}\n"
    ".func (.param .b64 result) narrow (.param .b32 n) {\n.reg .b32 %v<8>;\n.reg .pred %q<2>;\n"
    ".reg .b64 %x;\n"
    "N: ld.volatile.shared.u32 %v1, [flag];\nsetp.eq.u32 %q0, %v1, 0;\n@%q0 bra N;\n"
    "ld.param.u32 %v0, [n];\nmov.u32 %v2, 1;\nmov.u32 %v3, 2;\nmov.u32 %v4, 3;\nmov.u32 %v5, 4;\n"
    "mad.lo.u32 %v6, %v0, %v5, %v4;\nadd.u32 %v6, %v6, %v3;\nadd.u32 %v6, %v6, %v2;\n"
    "st.volatile.shared.u32 [flag+4], 1;\ncvt.u64.u32 %x, %v6;\nst.param.b64 [result], %x;\nret;\n}\n";

void check_two_functions(const std::string& body) {
  Runner r;
  Options o;
  o.threads = 32;
  o.out_words = 2;
  o.declarations = kTwoFunctions;
  const auto out = r.run(
      "st.shared.u32 [flag], 0;\nst.shared.u32 [flag+4], 0;\nbar.warp.sync 0xffffffff;\n"
      "and.b32 %r1, %t, 1;\nsetp.eq.u32 %p1, %r1, 1;\n" +
          body + "\nst.global.u64 [%out], %rd1;",
      {}, o);
  for (uint64_t t = 0; t < 32; ++t) {
    const uint64_t want = t & 1 ? 4 * t + 6 : t * 0x100000001 + t + 0x7f0000000000;
    CHECK((out[2 * t] | uint64_t{out[2 * t + 1]} << 32) == want);
  }
}

TEST_CASE("call: lanes that are in different functions at one depth keep their own registers") {
  check_two_functions(
      "{ .param .b32 a; .param .b64 b; st.param.b32 [a], %t;\n@%p1 bra ODD;\n"
      "call (b), wide, (a); bra JOIN;\nODD: call (b), narrow, (a);\nJOIN: ld.param.b64 %rd1, [b]; }");
  // one call, each lane with a function of its own, as in a call of a virtual function
  check_two_functions(
      "mov.u64 %rd2, wide;\nmov.u64 %rd3, narrow;\nselp.b64 %rd4, %rd3, %rd2, %p1;\n"
      "{ .param .b32 a; .param .b64 b; st.param.b32 [a], %t;\n"
      "P: .callprototype (.param .b64 _) _ (.param .b32 _);\ncall (b), %rd4, (a), P;\n"
      "ld.param.b64 %rd1, [b]; }");
}

// count(n) is 2 * count(n - 1) + n; the lane of the deepest call sets a flag that every other lane waits for at the end
// of its own recursion, so that 32 depths are alive at once.
TEST_CASE("call: lanes wait for one another at 32 depths of a recursion") {
  Runner r;
  Options o;
  o.threads = 32;
  o.out_words = 1;
  o.declarations =
      ".shared .align 4 .u32 flag;\n"
      ".func (.param .b32 result) count (.param .b32 n) {\n.reg .b32 %v<6>;\n.reg .pred %q<3>;\n"
      "ld.param.u32 %v0, [n];\nsetp.eq.u32 %q0, %v0, 0;\n@%q0 bra END;\nsub.u32 %v1, %v0, 1;\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %v1; call (b), count, (a); ld.param.b32 %v2, [b]; "
      "}\n"
      "mad.lo.u32 %v3, %v2, 2, %v0;\nst.param.b32 [result], %v3;\nret;\n"
      "END: mov.u32 %v4, %tid.x;\nsetp.ne.u32 %q1, %v4, 31;\n@%q1 bra WAIT;\n"
      "st.volatile.shared.u32 [flag], 1;\n"
      "WAIT: ld.volatile.shared.u32 %v5, [flag];\nsetp.eq.u32 %q2, %v5, 0;\n@%q2 bra WAIT;\n"
      "st.param.b32 [result], 0;\nret;\n}\n";
  const auto out = r.run(
      "st.shared.u32 [flag], 0;\nbar.warp.sync 0xffffffff;\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %t; call (b), count, (a); ld.param.b32 %r1, [b]; }\n"
      "st.global.u32 [%out], %r1;",
      {}, o);
  uint32_t want = 0;
  for (uint32_t t = 0; t < 32; ++t) {
    want = t ? 2 * want + t : 0;
    CHECK(out[t] == want);
  }
}

TEST_CASE("call: lanes that come to a function from different calls meet in it") {
  Runner r;
  Options o;
  o.threads = 32;
  o.out_words = 1;
  o.declarations =
      ".func (.param .b32 result) swap (.param .b32 n) {\n.reg .b32 %v<2>;\nld.param.u32 %v0, [n];\n"
      "shfl.sync.bfly.b32 %v1, %v0, 1, 31, 0xffffffff;\nst.param.b32 [result], %v1;\nret;\n}\n"
      ".func (.param .b32 result) indirectly (.param .b32 n) {\n.reg .b32 %v<2>;\nld.param.u32 %v0, [n];\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %v0; call (b), swap, (a); ld.param.b32 %v1, [b]; }\n"
      "st.param.b32 [result], %v1;\nret;\n}\n";
  const auto out = r.run(
      "and.b32 %r1, %t, 1;\nsetp.eq.u32 %p1, %r1, 1;\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %t;\n@%p1 bra ODD;\n"
      "call (b), indirectly, (a); bra JOIN;\nODD: call (b), swap, (a);\nJOIN: ld.param.b32 %r2, [b]; }\n"
      "st.global.u32 [%out], %r2;",
      {}, o);
  for (uint32_t t = 0; t < 32; ++t) CHECK(out[t] == (t ^ 1));
}

TEST_CASE("call: every lane alone in a call, and back") {
  Runner r;
  Options o;
  o.threads = 32;
  o.out_words = 1;
  std::string list;
  for (int i = 0; i < 32; ++i) list += (i ? ", L" : "L") + std::to_string(i);
  o.declarations =
      ".shared .align 4 .u32 turn;\n"
      ".func (.param .b32 result) in_turn (.param .b32 n) {\n.reg .b32 %v<4>;\n.reg .pred %q;\n"
      "ld.param.u32 %v0, [n];\nWAIT: ld.volatile.shared.u32 %v1, [turn];\nsetp.ne.u32 %q, %v1, %v0;\n"
      "@%q bra WAIT;\nadd.u32 %v2, %v0, 1;\nst.volatile.shared.u32 [turn], %v2;\n"
      "mul.lo.u32 %v3, %v0, %v0;\nst.param.b32 [result], %v3;\nret;\n}\n";
  std::string body = "st.shared.u32 [turn], 0;\nbar.warp.sync 0xffffffff;\nT: .branchtargets " + list +
                     ";\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %t;\nbrx.idx %t, T;\n";
  for (int i = 31; i >= 0; --i) body += "L" + std::to_string(i) + ": call (b), in_turn, (a); bra JOIN;\n";
  const auto out = r.run(body + "JOIN: ld.param.b32 %r2, [b];\nst.global.u32 [%out], %r2;", {}, o);
  for (uint32_t t = 0; t < 32; ++t) CHECK(out[t] == t * t);
}

TEST_CASE("call: parameters and results in registers, constants, and between registers and .param") {
  Runner r;
  Options o;
  o.threads = 32;
  o.out_words = 8;
  o.declarations =
      ".func (.reg .b32 sum) add_registers (.reg .b32 a, .reg .b64 b, .reg .b16 c) {\n.reg .b32 %v<3>;\n"
      "cvt.u32.u64 %v0, b;\ncvt.u32.u16 %v1, c;\nadd.u32 %v2, a, %v0;\nadd.u32 sum, %v2, %v1;\nret;\n}\n"
      ".func (.reg .pred even, .reg .b32 half) halve (.reg .b32 n, .reg .pred negate) {\n.reg .b32 %v;\n"
      "and.b32 %v, n, 1;\nsetp.eq.xor.u32 even, %v, 0, negate;\nshr.u32 half, n, 1;\nret;\n}\n"
      ".func (.param .b32 result) twice (.param .b32 n)\n"  // a prototype, without ;
      ".func (.param .b32 result) twice (.param .b32 n) {\n.reg .b32 %v;\nld.param.u32 %v, [n];\n"
      "add.u32 %v, %v, %v;\nst.param.b32 [result], %v;\nret;\n}\n";
  const auto out = r.run(
      "cvt.u64.u32 %rd1, %t;\ncvt.u16.u32 %rs1, %t;\n"
      "call (%r1), add_registers, (%t, %rd1, %rs1);\ncall (%r2), add_registers, (7, 8, 2+2);\n"
      "setp.lt.u32 %p1, %t, 4;\ncall (%p2, %r3), halve, (%t, %p1);\nselp.u32 %r4, 1, 0, %p2;\n"
      "call (%r5), twice, (%t);\ncall (%f1), twice, (21);\ncall (_), twice, (1);\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %t; call (b), add_registers, (a, %rd1, 1); "
      "ld.param.b32 %r6, [b]; }\n"
      "mov.u64 %rd2, twice;\nT: .calltargets twice;\ncall (%r7), %rd2, (%t), T;\n"
      "st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};\nst.global.v2.u32 [%out+16], {%r5, %r6};\n"
      "st.global.f32 [%out+24], %f1;\nst.global.u32 [%out+28], %r7;",
      {}, o);
  for (uint32_t t = 0; t < 32; ++t) {
    CAPTURE(t);
    const uint32_t* row = &out[8 * t];
    CHECK(row[0] == 3 * t);
    CHECK(row[1] == 19);
    CHECK(row[2] == t / 2);
    CHECK(row[3] == ((t % 2 == 0) != (t < 4)));
    CHECK(row[4] == 2 * t);
    CHECK(row[5] == 2 * t + 1);
    CHECK(row[6] == 42);
    CHECK(row[7] == 2 * t);
  }
}

TEST_CASE("call: what does not fit the declaration is refused") {
  Options o;
  o.declarations =
      ".func (.param .b32 result) f (.param .b32 n) {\nret;\n}\n.func (.reg .pred p) g (.reg .b32 n) {\nret;\n}\n"
      ".func (.param .b32 result) h (.param .align 8 .b8 n[16]) {\nret;\n}\n.extern .func vprintf ();\n";
  for (const char* text :
       {"call f, (%r1);",
        "call (%r1), f;",
        "call (%r1), f, ();",
        "call (%r1), f, (%r1, %r2);",
        "call (%r1), f, (%rs1);",
        "call (%rd1), f, (%r1);",
        "call (%r1), f, (%p1);",
        "call (%r1), f, (1.5);",
        "call (%r1), f, (%r1+1);",
        "call (%r1), f, (!%p1);",
        "call (%r1), g, (%r1);",
        "call (%r1), h, (%r1);",
        "call (1), f, (%r1);",
        "call (%r1), f, (nothing);",
        "call (%r1), %rd1, (%r1);",
        "call (%r1), %rd1, (%r1), nothing;",
        "{ .param .b64 a; call (%r1), f, (a); }",
        "call vprintf;",
        "call test;",
        "call nothing;",
        "P: .callprototype (.param .b32 _) _ (.param .b64 _);\ncall (%r1), %rd1, (%r1), P;"}) {
    CAPTURE(text);
    const emu::Id id = Runner().fault(text, {}, o).id;
    CHECK((id == emu::Id::unsupported_instruction || id == emu::Id::ptx_syntax));
  }
  CHECK(Runner()
            .fault("mov.u64 %rd1, h;\nP: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                   "call (%r1), %rd1, (%r1), P;",
                   {}, o)
            .id == emu::Id::bad_function_pointer);
}

TEST_CASE("brx.idx, call: lists and prototypes belong to their block") {
  Runner r;
  Options o;
  o.out_words = 2;
  o.declarations =
      ".func (.param .b32 result) f (.param .b32 n) {\nst.param.b32 [result], 7;\nret;\n}\n"
      ".func g () {\nret;\n}\n";
  const auto out = r.run(
      "mov.u32 %r1, 1;\n{ T: .branchtargets A, B; brx.idx %r1, T; A: mov.u32 %r2, 1; B: mov.u32 %r2, 2; }\n"
      "{ T: .branchtargets A, B; brx.idx %r1, T; B: add.u32 %r2, %r2, 10; A: add.u32 %r2, %r2, 100; }\n"
      "mov.u64 %rd1, f;\nmov.u64 %rd2, g;\n{ P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
      "call (%r3), %rd1, (%r1), P; }\n{ P: .callprototype _ ();\ncall %rd2, P; }\n"
      "st.global.v2.u32 [%out], {%r2, %r3};",
      {}, o);
  CHECK(out == std::vector<uint32_t>{112, 7});
}

TEST_CASE("bra: an endless loop is reported, with or without arithmetic in it") {
  CHECK(Runner().fault("LOOP: bra LOOP;").id == "endless-loop");
  CHECK(Runner().fault("mov.u32 %r1, 0;\nLOOP: add.u32 %r1, %r1, 1;\nand.b32 %r1, %r1, 15;\nbra LOOP;").id ==
        "endless-loop");
}

TEST_CASE("trap ends the launch with a report") {
  CHECK(Runner().fault("trap;").id == "trap");
}
