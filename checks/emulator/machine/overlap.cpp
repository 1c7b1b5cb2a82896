// What runs beside what, as the program has it: under the schedule `late` nothing lands before it must.
#include "emulator/machine/overlap.hpp"

#include "support.hpp"

using namespace emu_test;

namespace {

emu::Stats seen(const std::string& body, unsigned threads = 1) {
  Options o;
  o.threads = threads;
  o.in_words = 8;
  o.schedule = "late";
  o.declarations = ".shared .align 1024 .b8 tile[8192];\n.shared .align 8 .b64 bar[2];\n";
  Runner r;
  emu::Statistics numbers;
  emu::Overlap overlap(numbers.stats());
  o.observer = &overlap;
  r.run(body, std::vector<uint32_t>(threads * 8, 0), o);
  return numbers.stats();
}

}  // namespace

TEST_CASE("overlap: what cp.async.wait_group leaves in flight") {
  const auto ahead = [](int groups) {
    return seen(
               "cp.async.cg.shared.global [tile], [%in], 16;\ncp.async.commit_group;\n"
               "cp.async.cg.shared.global [tile+16], [%in+16], 16;\ncp.async.commit_group;\n"
               "cp.async.wait_group " +
               std::to_string(groups) + ";\ncp.async.wait_group 0;")
        .copy_bytes_ahead;
  };
  CHECK(ahead(1) == 16);
  CHECK(ahead(0) == 0);
}

TEST_CASE("overlap: what a wait for an mbarrier leaves in flight, and the wait for another barrier is none") {
  const std::string
      init = "mbarrier.init.shared::cta.b64 [bar], 1;\nmbarrier.init.shared::cta.b64 [bar+8], 1;\n",
      wait = "LOOP: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra LOOP;\n";
  const auto copy = [](const std::string& to, const std::string& bar) {
    return "mbarrier.arrive.expect_tx.shared::cta.b64 _, [" + bar +
           "], 16;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [" + to +
           "], [%in], 16, [" + bar + "];\n";
  };
  const std::string second =
      "LAST: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar+8], 0;\n@!%p1 bra LAST;\n";
  CHECK(seen(init + copy("tile", "bar") + copy("tile+16", "bar+8") + wait + second).copy_bytes_ahead == 16);
  CHECK(seen(init + copy("tile", "bar") + wait + copy("tile+16", "bar+8") + second).copy_bytes_ahead == 0);
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 _, [bar];\n";
  CHECK(seen(init + arrive + copy("tile+16", "bar+8") + wait + second).copy_bytes_ahead == 0);
}

TEST_CASE("overlap: groups of stores that are in flight when the next is issued, and groups of cp.async") {
  const auto ahead = [](const std::string& between) {
    const std::string store =
        "cp.async.bulk.global.shared::cta.bulk_group [%in], [tile], 16;\ncp.async.bulk.commit_group;\n";
    return seen(store + between + store + "cp.async.bulk.wait_group 0;\n").store_groups_ahead;
  };
  CHECK(ahead("") == 1);
  CHECK(ahead("cp.async.bulk.wait_group.read 1;\n") == 1);
  CHECK(ahead("cp.async.bulk.wait_group.read 0;\n") == 0);
  const std::string commit = "cp.async.commit_group;\n";
  CHECK(seen(commit + commit + "cp.async.wait_group 0;\n").cp_async_groups == 2);
}

TEST_CASE("overlap: groups of wgmma that are in flight when the next is issued") {
  const auto ahead = [](const std::string& between) {
    const std::string product =
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd1, %rd1, 1, 1, 1, 0, 0;\n"
        "wgmma.commit_group.sync.aligned;\n";
    const uint64_t descriptor =
        uint64_t{1} << 62 | uint64_t{64} << 32 | uint64_t{1} << 16 | emu::kSharedBase >> 4;
    return seen("mov.u32 %r1, tile;\nmov.u64 %rd1, " + std::to_string(descriptor) +
                    ";\nwgmma.fence.sync.aligned;\n" + product + between + product +
                    "wgmma.wait_group.sync.aligned 0;",
                128)
        .wgmma_groups_ahead;
  };
  CHECK(ahead("") == 1);
  CHECK(ahead("wgmma.wait_group.sync.aligned 1;\n") == 1);
  CHECK(ahead("wgmma.wait_group.sync.aligned 0;\n") == 0);
}
