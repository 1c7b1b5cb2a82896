// Global memory that is read and then written: right programs of many kinds, and next to each the mistake.
#include <algorithm>

#include "checked.hpp"
#include "emulator/runtime/device.hpp"

using namespace checked;

namespace {

struct Grid {
  unsigned ctas = 1, threads = 64, cluster = 1;
};

// The words below: 64 of them, and a flag. %rd1 is their address, %rd2 that of word %t.
const std::string kData =
    ".global .align 1024 .b8 data[1024];\n.global .align 4 .u32 flag;\n"
    ".extern .func (.param .b64 result) malloc (.param .b64 bytes);\n.extern .func free (.param .b64 at);\n"
    ".global .align 4 .u32 counter;\n.shared .align 16 .b8 words[256];\n" +
    std::string(kShared);
const std::string kPlace =
    "mov.u64 %rd1, data;\nmul.wide.u32 %rd2, %t, 4;\nadd.u64 %rd2, %rd2, %rd1;\nmov.u64 %rd3, flag;\n"
    "mov.u64 %rd4, counter;\nmov.u32 %r20, %ctaid.x;\nsetp.ne.u32 %p10, %r20, 0;\nsetp.ne.u32 %p1, %t, 0;\n"
    "mov.u32 %r3, %t;\nmov.b16 %rs1, 1;\n";
const std::string kReadWord = "ld.global.u32 %r3, [%rd2];\n", kWriteWord = "st.global.u32 [%rd2], %r3;\n";

// What is reported: "nothing", or id: line / other line, the lines as PTX; the same under every schedule.
std::string found(const std::string& body, Grid grid = {}) {
  emu_test::Options o;
  o.ctas = grid.ctas;
  o.threads = grid.threads;
  o.cluster = grid.cluster;
  o.declarations = kData;
  return reported(kPlace + body, {}, o, [](const emu::Finding& f) {
    std::string lines[] = {f.line.ptx, f.other_line.ptx};
    if (f.id == "data-race")
      std::sort(lines, lines + 2);  // which of the threads comes first is the schedule's choice
    return emu::text(emu::name_of(f.id), ": ") + lines[0] + " / " + lines[1] + " ";
  });
}

// The word of the thread 32 further on, which another warp holds.
const std::string kOther =
    "add.u32 %r4, %t, 32;\nand.b32 %r4, %r4, 63;\nmul.wide.u32 %rd5, %r4, 4;\nadd.u64 %rd5, "
    "%rd5, %rd1;\n";

}  // namespace

TEST_CASE("global: a thread that works in place is not accused") {
  CHECK(found(kReadWord + kWriteWord) == "nothing");
  CHECK(found(kReadWord + kWriteWord + kReadWord + kWriteWord) == "nothing");
  // elements of one and two bytes: four and two threads share a word
  const std::string halves = "mul.wide.u32 %rd5, %t, 2;\nadd.u64 %rd5, %rd5, %rd1;\n";
  CHECK(found(halves + "ld.global.u16 %rs1, [%rd5];\nst.global.u16 [%rd5], %rs1;\n") == "nothing");
  const std::string bytes = "cvt.u64.u32 %rd5, %t;\nadd.u64 %rd5, %rd5, %rd1;\n";
  CHECK(found(bytes + "ld.global.u8 %rs1, [%rd5];\nst.global.u8 [%rd5], %rs1;\n") == "nothing");
  // words first, bytes later
  CHECK(found(kReadWord + bytes + "bar.sync 0;\nld.global.u8 %rs1, [%rd5];\nst.global.u8 [%rd5], %rs1;\n") ==
        "nothing");
}

TEST_CASE("global: a word is read by one warp and written by another") {
  const auto kernel = [](const std::string& between) {
    return kOther + "ld.global.u32 %r3, [%rd5];\n" + between + kWriteWord;
  };
  CHECK(found(kernel("bar.sync 0;\n")) == "nothing");
  CHECK(found(kernel("")) == "data-race: ld.global.u32 %r3, [%rd5]; / st.global.u32 [%rd2], %r3; ");
  CHECK(found(kernel("bar.warp.sync 0xffffffff;\n")) ==
        "data-race: ld.global.u32 %r3, [%rd5]; / st.global.u32 [%rd2], %r3; ");
}

TEST_CASE("global: one byte of what a thread reads is written by another") {
  const std::string wide =
      "and.b32 %r4, %t, 31;\nmul.wide.u32 %rd5, %r4, 16;\nadd.u64 %rd5, %rd5, %rd1;\n"
      "setp.lt.u32 %p3, %t, 32;\n@!%p3 bra B;\nld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd5];\n"
      "bra END;\nB:\n";
  CHECK(found(wide + "st.global.u8 [%rd5+13], %rs1;\nEND:\n") ==
        "data-race: ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd5]; / st.global.u8 [%rd5+13], %rs1; ");
  CHECK(found(wide + "st.global.u8 [%rd5+512], %rs1;\nEND:\n") == "nothing");
}

TEST_CASE("global: a CTA reads, another writes when a flag says so") {
  const auto kernel = [](const std::string& raise, const std::string& look) {
    return "@%p10 bra WRITER;\n" + kReadWord + "bar.sync 0;\n@%p1 bra END;\n" + raise +
           "bra END;\nWRITER:\n" + "@%p1 bra GO;\nSPIN:\n" + look +
           "setp.eq.u32 %p3, %r5, 0;\n@%p3 bra SPIN;\nGO: bar.sync 0;\n" + kWriteWord + "END:\n";
  };
  const std::string race = "data-race: ld.global.u32 %r3, [%rd2]; / st.global.u32 [%rd2], %r3; ";
  const std::string acquire = "ld.acquire.gpu.global.u32 %r5, [%rd3];\n",
                    loose = "ld.volatile.global.u32 %r5, [%rd3];\n";
  CHECK(found(kernel("st.release.gpu.global.u32 [%rd3], 1;\n", acquire), {2}) == "nothing");
  CHECK(found(kernel("fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%rd3], 1;\n", acquire), {2}) ==
        "nothing");
  CHECK(found(kernel("membar.gl;\natom.global.exch.b32 %r6, [%rd3], 1;\n", loose + "membar.gl;\n"), {2}) ==
        "nothing");
  CHECK(found(kernel("st.relaxed.gpu.global.u32 [%rd3], 1;\n", acquire), {2}) == race);
  CHECK(found(kernel("st.release.gpu.global.u32 [%rd3], 1;\n", loose), {2}) == race);
  CHECK(found(kernel("st.release.gpu.global.u32 [%rd3], 1;\n", "membar.gl;\n" + loose), {2}) == race);
  // both CTAs store what they have read, which is the same
  CHECK(found(kReadWord + kWriteWord, {2}) ==
        race + "data-race: st.global.u32 [%rd2], %r3; / st.global.u32 [%rd2], %r3; ");
}

TEST_CASE("global: the last CTA clears what all have read") {
  const auto kernel = [](const std::string& meet, const std::string& fence) {
    return "mov.u32 %r1, tile;\n" + kReadWord + meet + "@%p1 bra ALL;\n" + fence +
           "atom.global.add.u32 %r6, [%rd4], 1;\n" + fence +
           "st.shared.u32 [%r1], %r6;\nALL: bar.sync 0;\n"
           "ld.shared.u32 %r6, [%r1];\nsetp.ne.u32 %p3, %r6, 4;\n@%p3 bra END;\n" +
           kWriteWord + "END:\n";
  };
  CHECK(found(kernel("bar.sync 0;\n", "fence.acq_rel.gpu;\n"), {5}) == "nothing");
  const std::string race = "data-race: ld.global.u32 %r3, [%rd2]; / st.global.u32 [%rd2], %r3; ";
  CHECK(found(kernel("bar.sync 0;\n", ""), {5}) == race);
  CHECK(found(kernel("", "fence.acq_rel.gpu;\n"), {5}) == race);  // of thread 0's reads alone
}

TEST_CASE("global: the last block reads what a relaxed atomic has told of, with no fence behind it") {
  const auto severity = [](const std::string& before, const std::string& behind,
                           const std::string& of_all = "") {
    emu_test::Options o;
    o.ctas = 5;
    o.threads = 64;
    o.declarations = kData;
    const std::string body =
        "mov.u32 %r1, tile;\nmov.u32 %r9, %ctaid.x;\nmul.lo.u32 %r9, %r9, 4;\ncvt.u64.u32 %rd6, %r9;\n"
        "add.u64 %rd6, %rd6, %rd1;\n@%p1 bra ALL;\nst.global.u32 [%rd6], %t;\n" +
        before + "atom.global.add.u32 %r6, [%rd4], 1;\n" + behind +
        "st.shared.u32 [%r1], %r6;\nALL: bar.sync 0;\nld.shared.u32 %r6, [%r1];\n"
        "setp.ne.u32 %p3, %r6, 4;\n@%p3 bra END;\n" +
        of_all + "ld.global.u32 %r3, [%rd1];\nEND:\n";
    return reported(kPlace + body, {}, o, [](const emu::Finding& f) {
      return emu::text(emu::name_of(f.id), f.severity == emu::Severity::advice ? " advice " : " error ");
    });
  };
  const std::string fence = "fence.acq_rel.gpu;\n";
  CHECK(severity(fence, fence) == "nothing");
  CHECK(severity(fence, "") == "data-race advice ");
  CHECK(severity("", fence) == "data-race error ");
  // each thread of the last block has a fence of its own, behind the barrier
  CHECK(severity(fence, "", fence) == "nothing");
  CHECK(severity("", "", fence) == "data-race error ");
}

TEST_CASE("global: words that threads synchronise through may be read while they are written") {
  CHECK(found("mov.u32 %r9, 0;\nSPIN: ld.volatile.global.u32 %r5, [%rd3];\n@%p1 bra DONE;\n"
              "st.volatile.global.u32 [%rd3], 1;\nbra END;\nDONE: setp.eq.u32 %p3, %r5, 0;\n@%p3 bra "
              "SPIN;\nEND:\n") == "nothing");
  CHECK(found("atom.global.add.u32 %r5, [%rd4], 1;\nld.relaxed.gpu.global.u32 %r6, [%rd4];\n", {3}) ==
        "nothing");
}

TEST_CASE("global: what is known of earlier readers is not forgotten, nor held against a writer") {
  // Round after round other threads read the same words; the writer meets the last ones only.
  const std::string turns =
      "mov.u32 %r9, 0;\nTURN: add.u32 %r4, %t, %r9;\nand.b32 %r4, %r4, 63;\n"
      "mul.wide.u32 %rd5, %r4, 4;\nadd.u64 %rd5, %rd5, %rd1;\nld.global.u32 %r3, [%rd5];\n"
      "bar.sync 0;\nadd.u32 %r9, %r9, 16;\nsetp.lt.u32 %p3, %r9, 256;\n@%p3 bra TURN;\n";
  CHECK(found(turns + kWriteWord) == "nothing");
  CHECK(found(turns + "ld.global.u32 %r3, [%rd5];\n" + kWriteWord) ==
        "data-race: ld.global.u32 %r3, [%rd5]; / st.global.u32 [%rd2], %r3; ");
  // All warps read one word; the writer has met all but the last.
  const auto met = [](const std::string& barrier) {
    return "ld.global.u32 %r3, [%rd1];\nsetp.ge.u32 %p3, %t, 96;\n" + barrier +
           "@%p1 bra END;\nst.global.u32 [%rd1], %t;\nEND:\n";
  };
  CHECK(found(met("bar.sync 1;\n"), {1, 128}) == "nothing");
  CHECK(found(met("@%p3 bra END;\nbar.sync 1, 96;\n"), {1, 128}) ==
        "data-race: ld.global.u32 %r3, [%rd1]; / st.global.u32 [%rd1], %t; ");
}

TEST_CASE("global: memory that one thread frees and another gets") {
  const std::string body =
      "{\n.param .b64 p, q;\nst.param.b64 [p], 64;\ncall.uni (q), malloc, (p);\nld.param.b64 %rd5, [q];\n}\n"
      "st.global.u32 [%rd5+4], %t;\nld.global.u32 %r3, [%rd5+4];\n"
      "{\n.param .b64 p;\nst.param.b64 [p], %rd5;\ncall.uni free, (p);\n}\n";
  CHECK(found(body) == "nothing");
}

TEST_CASE("global: the CTAs of a cluster meet between the read and the write") {
  const std::string swap =
      "xor.b32 %r21, %r20, 1;\nmad.lo.u32 %r4, %r20, 32, %t;\nmul.wide.u32 %rd5, %r4, 4;\n"
      "add.u64 %rd5, %rd5, %rd1;\nmad.lo.u32 %r4, %r21, 32, %t;\nmul.wide.u32 %rd6, %r4, 4;\n"
      "add.u64 %rd6, %rd6, %rd1;\nld.global.u32 %r3, [%rd5];\n";
  const std::string write = "st.global.u32 [%rd6], %r3;\n",
                    end = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
  CHECK(found(swap + end + write, {2, 32, 2}) == "nothing");
  CHECK(found(swap + write + end, {2, 32, 2}) ==
        "data-race: ld.global.u32 %r3, [%rd5]; / st.global.u32 [%rd6], %r3; ");
}

TEST_CASE("global: a bulk copy reads its source until it has landed") {
  const std::string copy =
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 64, [%r2];\n";
  const auto kernel = [&](const std::string& between) {
    return kInit + by_thread_0("A", kExpect + copy) + between + "setp.ge.u32 %p3, %t, 16;\n@%p3 bra END;\n" +
           kWriteWord + "END:\n" + wait("LAST", 0);
  };
  const std::string early =
      "overwritten-while-read: st.global.u32 [%rd2], %r3; / " + copy.substr(0, copy.size() - 1) + " ";
  CHECK(found(kernel(wait("W", 0))) == "nothing");
  CHECK(found(kernel(by_thread_0("B", wait("W", 0)) + "bar.sync 0;\n")) == "nothing");
  CHECK(found(kernel("")) == early);
  CHECK(found(kernel("bar.sync 0;\n")) == early);  // orders the issue, not the copy
}

TEST_CASE("global: a cp.async reads its source until its group is complete") {
  const std::string copy =
      "mov.u32 %r1, words;\nmad.lo.u32 %r1, %t, 4, %r1;\ncp.async.ca.shared.global [%r1], [%rd2], 4;\n"
      "cp.async.commit_group;\n";
  const std::string done = "cp.async.wait_group 0;\n";
  const auto kernel = [&](const std::string& between) {
    return kOther + copy + between + "st.global.u32 [%rd5], %r3;\n" + done;
  };
  const std::string early =
      "overwritten-while-read: st.global.u32 [%rd5], %r3; / cp.async.ca.shared.global [%r1], [%rd2], 4; ";
  CHECK(found(kernel(done + "bar.sync 0;\n")) == "nothing");
  CHECK(found(kernel("bar.sync 0;\n")) == early);
  CHECK(found(kernel(done)) == early);
}

TEST_CASE("global: a store of the copy engine overwrites what threads read") {
  const std::string fill = "mov.u32 %r1, tile;\n" + by_thread_0("S", kWrite + kFence);
  const std::string store = by_thread_0(
      "A",
      "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;\ncp.async.bulk.commit_group;\n"
      "cp.async.bulk.wait_group 0;\n");
  CHECK(found(fill + kReadWord + "bar.sync 0;\n" + store) == "nothing");
  CHECK(found(fill + kReadWord + store) ==
        "overwritten-while-read: cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16; / "
        "ld.global.u32 %r3, [%rd2]; ");
}

TEST_CASE("global: a multicast copy has read its source when it has landed in one of its CTAs") {
  const std::string copy =
      "mov.u16 %rs5, "
      "3;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], "
      "[%rd1], 64, [%r2], %rs5;\n";
  const std::string meet = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
  const auto kernel = [&](const std::string& before) {
    return kInit + "fence.mbarrier_init.release.cluster;\n" + meet + by_thread_0("A", kExpect) +
           "@%p1 bra B;\n@%p10 bra B;\n" + copy + "B:\n@!%p10 bra END;\n@%p1 bra END;\n" + before +
           kWriteWord + "END:\n" + wait("LAST", 0) + meet;
  };
  CHECK(found(kernel(wait("W", 0)), {2, 32, 2}) == "nothing");
  CHECK(found(kernel(""), {2, 32, 2}).substr(0, 23) == "overwritten-while-read:");
}

namespace {

// Two grids on one machine, the second started early. first, second: their bodies.
std::string found_at_the_seam(const std::string& first, const std::string& second) {
  const emu_test::QuietReport report;
  emu::Machine machine;
  emu::check::Checker checker;
  machine.observers.add(checker);
  emu::LoadedModule module(
      machine.memory,
      std::vector<std::string>{
          ".version 8.6\n.target sm_90a\n.address_size 64\n.global .align 16 .b8 data[256];\n"
          ".visible .entry first() {\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\nmov.u64 %rd1, data;\n" +
          first +
          "ret;\n}\n.visible .entry second() {\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
          "mov.u64 %rd1, data;\n" +
          second + "ret;\n}\n"});
  emu::LaunchConfig config;
  config.block.x = 32;
  machine.launch(*module.kernel("first"), config);
  config.early = true;
  machine.launch(*module.kernel("second"), config);
  std::string said;
  for (const emu::Finding& f : report.findings())
    said += emu::text(emu::name_of(f.id), ": ") + f.line.ptx + " / " + f.other_line.ptx + " ";
  return said.empty() ? "nothing" : said;
}

}  // namespace

TEST_CASE("global: a grid that starts early overwrites what the one in front reads") {
  const std::string reads = "ld.global.u32 %r1, [%rd1];\n", write = "st.global.u32 [%rd1], 1;\n",
                    elsewhere = "st.global.u32 [%rd1+128], 1;\n", wait = "griddepcontrol.wait;\n",
                    lets = "griddepcontrol.launch_dependents;\n";
  CHECK(found_at_the_seam(lets + reads, wait + write) == "nothing");
  CHECK(found_at_the_seam(lets + reads, write) ==
        "missing-grid-wait: st.global.u32 [%rd1], 1; / ld.global.u32 %r1, [%rd1]; ");
  CHECK(found_at_the_seam(lets + reads, write + wait) ==
        "missing-grid-wait: st.global.u32 [%rd1], 1; / ld.global.u32 %r1, [%rd1]; ");
  CHECK(found_at_the_seam(lets + reads, elsewhere) == "nothing");
  CHECK(found_at_the_seam(lets + reads, reads) == "nothing");  // both only read
  CHECK(found_at_the_seam(reads, write) == "nothing");         // the first does not let it start early
}
