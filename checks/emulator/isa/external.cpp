// The functions that the device provides: vprintf, malloc, free. What they print is in programs/printing.cu.
#include "support.hpp"

using namespace emu_test;

namespace {

Options with_functions() {
  Options o;
  o.declarations =
      ".extern .func (.param .b32 count) vprintf(.param .b64 format, .param .b64 arguments);\n"
      ".extern .func (.param .b64 pointer) malloc(.param .b64 bytes);\n.extern .func free(.param .b64 pointer);\n"
      ".global .align 1 .b8 format[7] = {37, 100, 37, 37, 37, 100, 0};\n";  // "%d%%%d"
  return o;
}

const char* const kMalloc =
    "{\n.param .b64 bytes;\n.param .b64 pointer;\nst.param.b64 [bytes], %rd1;\n"
    "call (pointer), malloc, (bytes);\nld.param.b64 %rd2, [pointer];\n}\n";

}  // namespace

TEST_CASE("malloc: each call gives other bytes, of the alignment of any type") {
  const auto out =
      Runner().run(std::string("mov.u64 %rd1, 24;\n") + kMalloc + "mov.u64 %rd3, %rd2;\n" + kMalloc +
                       "st.u64 [%rd2], 7;\nst.u64 [%rd3], 8;\nld.u32 %r1, [%rd2];\nor.b64 %rd4, %rd2, %rd3;\n"
                       "cvt.u32.u64 %r2, %rd4;\nst.global.v2.u32 [%out], {%r1, %r2};",
                   {}, with_functions());
  CHECK(out[0] == 7);
  CHECK(out[1] % 16 == 0);
}

TEST_CASE("free: what is freed is no memory any more, and is freed once") {
  const std::string use = std::string("mov.u64 %rd1, 16;\n") + kMalloc,
                    release =
                        "{\n.param .b64 pointer;\nst.param.b64 [pointer], %rd2;\ncall free, (pointer);\n}\n";
  CHECK(Runner().fault(use + release, {}, with_functions()).id == "none");
  CHECK(Runner().fault(use + release + "st.u32 [%rd2], 1;", {}, with_functions()).id == "use-after-free");
  CHECK(Runner().fault(use + release + release, {}, with_functions()).id != "none");
}

TEST_CASE("vprintf: returns the number of its arguments, %% is none") {
  const auto out = Runner().run(
      ".local .align 8 .b8 arguments[8];\nmov.u64 %rd1, format;\nst.local.u32 [arguments], 4;\n"
      "st.local.u32 [arguments+4], 2;\nmov.u64 %rd2, arguments;\ncvta.local.u64 %rd2, %rd2;\n"
      "{\n.param .b64 a;\n.param .b64 b;\n.param .b32 count;\nst.param.b64 [a], %rd1;\nst.param.b64 [b], %rd2;\n"
      "call (count), vprintf, (a, b);\nld.param.b32 %r1, [count];\n}\nst.global.u32 [%out], %r1;",
      {}, with_functions());
  CHECK(out[0] == 2);
}
