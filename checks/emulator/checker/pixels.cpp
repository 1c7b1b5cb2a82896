// The checker on copies in im2col mode: pixels are watched as the rows of a box are.
#include "checked.hpp"

using namespace checked;

namespace {

// 16 pixels of 64 channels, of which a copy takes 12 pixels.
const Tensor kLine{64, 16, 64, 12, 3, true, -1};
const char* kTile = ".shared .align 1024 .b8 tile[2048];\n.shared .align 8 .b64 bar;\n";
const std::string kMap = "mov.u64 %rd1, map;\ncvta.const.u64 %rd2, %rd1;\n";

std::string expect(int bytes) {
  return "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " + std::to_string(bytes) + ";\n";
}
std::string copy(const std::string& at, const std::string& by) {
  return kMap +
         "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd2, {" +
         at + "}], [%r2], {" + by + "};\n";
}
// 32 threads read the tile's words, undoing the pattern that takes `bits` of the address.
std::string read(unsigned bits) {
  return "mov.u32 %r7, %t;\nNEXT: shl.b32 %r3, %r7, 2;\nadd.u32 %r3, %r3, %r1;\nshr.u32 %r4, %r3, 3;\nand.b32 %r4, %r4, " +
         std::to_string(bits) +
         ";\nxor.b32 %r3, %r3, %r4;\nld.shared.u32 %r5, [%r3];\nadd.u32 %r7, %r7, 32;\nsetp.lt.u32 %p3, %r7, 384;\n"
         "@%p3 bra NEXT;\n";
}
std::string of_line(const std::string& body, const Tensor& tensor = kLine) {
  return reported(kInit + body, kTile, 32, &tensor);
}

}  // namespace

TEST_CASE("checker: pixels that are waited for are not accused, and read with no wait they are") {
  const std::string load = by_thread_0("A", expect(1536) + copy("0, -1, 0", "2"));
  CHECK(of_line(load + wait("W", 0) + read(112)) == "nothing");
  CHECK(of_line(load + read(112) + wait("W", 0)) == "read-before-landed ");
}

TEST_CASE("checker: a copy of pixels counts its whole column, what lies outside the image too") {
  // From pixel 10 on there are 6; the column goes on behind the last image.
  CHECK(of_line(by_thread_0("A", expect(1536) + copy("0, 10, 0", "0")) + wait("W", 0) + read(112)) ==
        "nothing");
  CHECK(of_line(by_thread_0("A", expect(2048) + copy("0, 10, 0", "0")) + wait("W", 0)) == "fault deadlock ");
  CHECK(of_line(by_thread_0("A", expect(768) + copy("0, 10, 0", "0")) + wait("W", 0)) != "nothing");
}

TEST_CASE("checker: pixels are read with the swizzle of their map") {
  const std::string load = by_thread_0("A", expect(1536) + copy("0, 0, 0", "0")) + wait("W", 0);
  CHECK(of_line(load + read(112)) == "nothing");
  CHECK(of_line(load + read(48)) == "swizzle-mismatch ");
}

TEST_CASE("checker: pixels narrower than the swizzle's span leave the rest of each span unwritten") {
  const Tensor narrow{64, 16, 32, 12, 3, true, -1};
  const std::string load = by_thread_0("A", expect(768) + copy("0, 0, 0", "0")) + wait("W", 0);
  CHECK(of_line(load + "ld.shared.u32 %r5, [%r1];\n", narrow) == "nothing");
  CHECK(of_line(load + "ld.shared.u32 %r5, [%r1+64];\n", narrow) == "uninitialised-read ");
}

TEST_CASE("checker: a store of pixels needs the proxy fence, and its source until it has been read") {
  const Tensor whole{64, 16, 64, 12, 3, true};
  const std::string store =
      kMap +
      "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%rd2, {0, 0, 0}], [%r1];\n"
      "cp.async.bulk.commit_group;\n";
  const std::string fill =
      "mov.u32 %r7, %t;\nFILL: shl.b32 %r3, %r7, 2;\nadd.u32 %r3, %r3, %r1;\nst.shared.u32 [%r3], %t;\n"
      "add.u32 %r7, %r7, 32;\nsetp.lt.u32 %p3, %r7, 384;\n@%p3 bra FILL;\n";
  const std::string read = "cp.async.bulk.wait_group.read 0;\n";
  CHECK(of_line(fill + kFence + "bar.sync 0;\n" + by_thread_0("A", store + read), whole) == "nothing");
  CHECK(of_line(fill + "bar.sync 0;\n" + by_thread_0("A", store + read), whole) == "missing-proxy-fence ");
  CHECK(
      of_line(fill + kFence + "bar.sync 0;\n" + by_thread_0("A", store + "st.shared.u32 [%r1], 1;\n" + read),
              whole) == "source-reused-before-read ");
}

TEST_CASE("checker: of copies that nobody waits for it is told which offset was left out") {
  emu_test::Options o;
  o.threads = 1;
  o.declarations = ".shared .align 1024 .b8 tile[8192];\n.shared .align 8 .b64 bar;\n";
  const std::string loop =
      "mov.u32 %r5, 0;\nmov.u16 %rs1, 0;\nL: " + copy("0, 0, 0", "%rs1") +
      "add.u32 %r1, %r1, 2048;\nadd.u16 %rs1, %rs1, 1;\nsetp.eq.u16 %p4, %rs1, 2;\n@%p4 add.u16 %rs1, %rs1, 1;\n"
      "setp.lt.u16 %p5, %rs1, 5;\n@%p5 bra L;\n";
  const std::string said = reported(
      kInit + expect(4 * 1536) + loop, std::vector<uint32_t>(16, 7), o,
      [](const emu::Finding& f) { return f.title + " " + f.why + " " + f.hint; }, &kLine);
  CAPTURE(said);
  CHECK(said.find("the box at (0, 0, 0) + (2) was never copied") != std::string::npos);
}
