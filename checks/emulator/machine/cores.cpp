// One grid on several cores: what one core gives, to the bit, whatever the CTAs do.
#include "emulator/machine/overlap.hpp"
#include "emulator/program/program.hpp"
#include "support.hpp"

using namespace emu_test;

namespace {

constexpr unsigned kCores[] = {2, 4};

// All that a run leaves behind: memory, counts, time, and how it ended.
struct Left {
  std::vector<std::byte> memory;
  std::string counts;
  uint64_t clock = 0, instructions = 0;
  emu::Finding end{emu::Id::none};
};

Left run(const std::string& body, Options o, unsigned cores) {
  Runner r;
  emu::Overlap overlap(r.statistics.stats());
  r.machine.observers.add(overlap);
  r.machine.schedule.cores = cores;
  std::vector<uint32_t> in(size_t{o.threads} * o.ctas * o.in_words);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint32_t>(i * 2654435761u);
  Left left;
  left.end = r.fault(body, in, o);
  for (const auto& [address, a] : r.machine.memory.allocations())
    left.memory.insert(left.memory.end(), a.host, a.host + a.bytes);
  left.counts = r.statistics.stats().json();
  left.clock = r.machine.clock();
  left.instructions = r.machine.instructions;
  return left;
}

void check_same(const std::string& body, const Options& o) {
  CAPTURE(body);
  const Left one = run(body, o, 1);
  for (unsigned cores : kCores) {
    CAPTURE(cores);
    const Left several = run(body, o, cores);
    CHECK(several.memory == one.memory);
    CHECK(several.counts == one.counts);
    CHECK(several.clock == one.clock);
    CHECK(several.instructions == one.instructions);
    CHECK(several.end.id == one.end.id);
    CHECK(several.end.title == one.end.title);
    CHECK(several.end.where == one.end.where);
  }
}

bool asks_for_order(const std::string& body) {
  const emu::Module module = emu::parse_ptx(
      ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 "
      "b);\n.visible .entry test(.param .u64 a) {\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n" +
      body + "\nret;\n}\n");
  return emu::decode(module, *module.find_function("test"), {})->asks_for_order;
}

}  // namespace

TEST_CASE("cores: which instructions ask for an order among CTAs, or show it") {
  for (const char* body :
       {"ld.global.u32 %r1, [%rd1];", "st.u32 [%rd1], %r1;", "ld.volatile.shared.u32 %r1, [%r2];",
        "atom.shared.add.u32 %r1, [%r2], 1;", "fence.acq_rel.cta;", "fence.proxy.async;",
        "fence.mbarrier_init.release.cluster;", "bar.sync 0;",
        "barrier.cluster.arrive;\nbarrier.cluster.wait;", "cp.async.bulk.commit_group;",
        "cp.async.ca.shared.global [%r1], [%rd1], 16;", "membar.cta;", "mov.u32 %r1, %ctaid.x;",
        "mov.u32 %r1, %cluster_ctarank;", "trap;"}) {
    CAPTURE(body);
    CHECK_FALSE(asks_for_order(body));
  }
  for (
      const char* body :
      {"ld.volatile.global.u32 %r1, [%rd1];", "ld.acquire.gpu.global.u32 %r1, [%rd1];",
       "st.relaxed.gpu.global.u32 [%rd1], %r1;", "ld.volatile.u32 %r1, [%rd1];",
       "atom.global.add.u32 %r1, [%rd1], 1;", "atom.add.u32 %r1, [%rd1], 1;", "red.global.add.u32 [%rd1], 1;",
       "membar.gl;", "fence.sc.gpu;", "fence.acq_rel.sys;",
       "fence.proxy.tensormap::generic.acquire.cta [%rd1], 128;", "griddepcontrol.wait;", "nanosleep.u32 10;",
       "mov.u32 %r1, %clock;", "mov.u64 %rd1, %globaltimer;", "mov.u32 %r1, %smid;",
       "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16;",
       "{\n.param .b64 a;\n.param .b64 b;\n.param .b32 r;\nst.param.b64 [a], %rd1;\nst.param.b64 [b], %rd1;\n"
       "call.uni (r), vprintf, (a, b);\n}"}) {
    CAPTURE(body);
    CHECK(asks_for_order(body));
  }
}

TEST_CASE("cores: results, counts and emulated time do not depend on them") {
  Options o;
  o.threads = 64;
  o.ctas = 37;
  const std::string exchange =
      ".shared .align 128 .b8 tile[512];\nmov.u32 %r1, tile;\nshl.b32 %r2, %t, 2;\nadd.u32 %r3, %r1, %r2;\n"
      "ld.global.v2.u32 {%r4, %r5}, [%in];\nxor.b32 %r4, %r4, %r5;\nst.shared.u32 [%r3], %r4;\nbar.sync 0;\n"
      "xor.b32 %r6, %r2, 4;\nadd.u32 %r6, %r6, %r1;\nld.shared.u32 %r7, [%r6];\nst.global.v2.u32 [%out], {%r4, %r7};\n";
  check_same(exchange, o);
  // Loops of another length in each CTA, lanes that part, and a store by some lanes only.
  check_same(
      "mov.u32 %r1, %ctaid.x;\nand.b32 %r1, %r1, 7;\nadd.u32 %r1, %r1, %t;\nmov.u32 %r2, 1;\n"
      "LOOP: mad.lo.u32 %r2, %r2, 5, %r1;\nsub.u32 %r1, %r1, 1;\nsetp.gt.s32 %p1, %r1, 0;\n@%p1 bra LOOP;\n"
      "setp.lt.u32 %p2, %t, 40;\n@%p2 st.global.u32 [%out], %r2;",
      o);
  // Bulk copies in and out, by one thread; the store is in flight when the CTA ends.
  check_same(exchange +
                 "bar.sync 0;\nfence.proxy.async;\nbar.sync 0;\nsetp.eq.u32 %p1, %t, 0;\n"
                 "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r1], 256;\n"
                 "@%p1 cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group 0;",
             o);
  o.ctas = 36;
  o.cluster = 2;
  check_same(
      "mov.u32 %r1, %cluster_ctarank;\nmov.u32 %r2, %clusterid.x;\nst.global.v2.u32 [%out], {%r1, %r2};\n"
      "barrier.cluster.arrive;\nbarrier.cluster.wait;",
      o);
}

TEST_CASE("cores: what goes wrong, or waits for another CTA, is as if there were one") {
  Options o;
  o.threads = 32;
  o.ctas = 40;
  o.declarations = ".global .align 4 .u32 flag;\n";
  const std::string count = "mov.u32 %r1, %ctaid.x;\nst.global.u32 [%out], %r1;\n";
  // A fault: the CTAs behind it have not run.
  check_same(
      count +
          "setp.eq.u32 %p1, %r1, 23;\nmov.u64 %rd1, 16;\n@%p1 st.global.u32 [%rd1], %r1;\nst.global.u32 [%out + 4], %r1;",
      o);
  // Two: the first is told.
  check_same(count + "rem.u32 %r2, %r1, 13;\nsetp.eq.u32 %p1, %r2, 12;\n@%p1 trap;", o);
  // A barrier that not all threads reach.
  check_same(
      count +
          ".shared .align 8 .b64 bar;\nmbarrier.init.shared.b64 [bar], 1;\nsetp.eq.u32 %p1, %r1, 30;\n"
          "WAIT: @%p1 mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p1 bra END;\n@!%p2 bra WAIT;\nEND: ",
      o);
}
