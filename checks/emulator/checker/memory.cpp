// The checker's memory does not grow with the length of a launch. Every byte that this process allocates is counted.
#include <algorithm>
#include <cstdlib>
#include <new>

#include "checked.hpp"

using namespace checked;

namespace {

size_t live = 0, peak = 0;  // bytes on the heap: now, and at most
constexpr size_t kHeader = 16;

}  // namespace

void* operator new(size_t bytes) {
  auto* block = static_cast<size_t*>(std::malloc(bytes + kHeader));
  if (!block) throw std::bad_alloc();
  *block = bytes;
  live += bytes;
  peak = std::max(peak, live);
  return reinterpret_cast<std::byte*>(block) + kHeader;
}
void operator delete(void* at) noexcept {
  if (!at) return;
  auto* block = reinterpret_cast<size_t*>(static_cast<std::byte*>(at) - kHeader);
  live -= *block;
  std::free(block);
}
void operator delete(void* at, size_t) noexcept {
  operator delete(at);
}

namespace {

// Bytes that a launch needs at most beyond what there was before it.
size_t peak_of(const std::string& body, const std::string& shared, unsigned ctas, emu::Observer* observer) {
  emu_test::Runner runner;
  emu_test::Options o;
  o.threads = 64;
  o.in_words = 16;
  o.out_words = 1;
  o.ctas = ctas;
  o.declarations = shared;
  o.observer = observer;
  const size_t before = live;
  peak = live;
  CHECK(runner.fault(body, {}, o).id == "none");
  return peak - before;
}

// How much of that the checker needs.
size_t checker_bytes(const std::string& body, const std::string& shared, unsigned ctas, size_t least_growth) {
  const emu_test::QuietReport report;
  emu::check::Checker checker;
  checker.least_growth = least_growth;
  const size_t with = peak_of(body, shared, ctas, &checker), without = peak_of(body, shared, ctas, nullptr);
  CHECK(report.findings().empty());
  return with > without ? with - without : 0;
}

// A loop around the body; %r60 counts the rounds.
std::string rounds(int count, const std::string& body) {
  return "mov.u32 %r60, 0;\nROUND:\n" + body + "add.u32 %r60, %r60, 1;\nsetp.lt.u32 %p15, %r60, " +
         std::to_string(count) + ";\n@%p15 bra ROUND;\n";
}

constexpr size_t kGrowth = 64 << 10, kNever = SIZE_MAX / 4;
constexpr int kFew = 500, kMany = 8 * kFew;

// Eight times the rounds need no more; without dropping they need a multiple, so the bound is not that of a small loop.
void check_bounded(const std::string& start, const std::string& round, const std::string& shared,
                   const std::string& end = "") {
  const auto bytes = [&](int count, size_t growth) {
    return checker_bytes(start + rounds(count, round) + end, shared, 1, growth);
  };
  const size_t few = bytes(kFew, kGrowth), many = bytes(kMany, kGrowth);
  CHECK(many < few + few / 10);
  CHECK(bytes(kMany, kNever) > 2 * many);
}

}  // namespace

TEST_CASE("checker memory: threads that exchange words through shared memory") {
  check_bounded(
      "mov.u32 %r1, words;\nshl.b32 %r4, %t, 2;\nadd.u32 %r5, %r1, %r4;\nxor.b32 %r4, %r4, 252;\nadd.u32 "
      "%r6, "
      "%r1, %r4;\n",
      "st.shared.u32 [%r5], %t;\nbar.sync 0;\nld.shared.u32 %r3, [%r6];\nbar.sync 0;\n",
      ".shared .align 16 .b8 words[256];\n");
}

TEST_CASE("checker memory: one stage that is filled again and again") {
  const std::string round = by_thread_0("A", kExpect + kCopy) +
                            "and.b32 %r10, %r60, 1;\n"
                            "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], %r10;\n@!%p2 bra W;\n" +
                            kRead + "bar.sync 0;\n";
  check_bounded(kInit, round, kShared);
}

TEST_CASE("checker memory: cp.async in groups, and with arrivals that follow the copies") {
  const std::string shared = ".shared .align 16 .b8 words[256];\n.shared .align 8 .b64 bar;\n";
  const std::string start =
      "mov.u32 %r2, bar;\nsetp.ne.u32 %p1, %t, 0;\n@%p1 bra INIT;\nmbarrier.init.shared::cta.b64 [%r2], 64;\n"
      "INIT: bar.sync 0;\nmov.u32 %r1, words;\nshl.b32 %r4, %t, 2;\nadd.u32 %r5, %r1, %r4;\nxor.b32 %r4, "
      "%r4, "
      "252;\nadd.u32 %r6, %r1, %r4;\n";
  const std::string copy = "cp.async.ca.shared.global [%r5], [%in], 4;\n",
                    use = "ld.shared.u32 %r3, [%r6];\nbar.sync 0;\n";
  check_bounded(start, copy + "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n" + use, shared);
  check_bounded(
      start,
      copy +
          "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r2];\ncp.async.commit_group;\nand.b32 "
          "%r10, %r60, 1;\nW: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], %r10;\n@!%p2 bra "
          "W;\n" +
          use,
      shared);
}

TEST_CASE("checker memory: bulk stores to one place in turn") {
  const std::string store = kWrite + kFence + kStore + "cp.async.bulk.wait_group 0;\n";
  check_bounded(kInit, by_thread_0("A", store) + "bar.warp.sync 0xffffffff;\n", kShared);
}

TEST_CASE("checker memory: reductions whose groups complete only at the end") {
  const std::string reduce =
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%in], [%r1], 16;\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n";
  check_bounded(kInit + by_thread_0("S", kWrite + kFence), by_thread_0("A", reduce), kShared);
}

// There is never a moment at which nobody is reading the tile.
TEST_CASE("checker memory: a tile that two threads keep storing, each one group behind") {
  const std::string start = kInit + by_thread_0("S", kWrite + kFence) +
                            "bar.sync 0;\nand.b32 %r4, %t, 31;\nsetp.ne.u32 %p1, %r4, 0;\n";
  const std::string store =
      "and.b32 %r4, %r60, 1;\nmul.wide.u32 %rd1, %r4, 16;\nadd.u64 %rd1, %rd1, %in;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;\ncp.async.bulk.commit_group;\n"
      "cp.async.bulk.wait_group 1;\n";
  check_bounded(start, by_thread_0("A", store), kShared, "cp.async.bulk.wait_group 0;\n");
}

// Every CTA adds to a counter behind a fence, and so learns of all CTAs before it.
TEST_CASE("checker memory: CTAs that follow each other and know of each other") {
  const std::string body =
      "mov.u32 %r1, word;\nsetp.ne.u32 %p1, %t, 0;\n@%p1 bra END;\nst.shared.u32 [%r1], %t;\nmov.u64 %rd1, "
      "counter;\nfence.acq_rel.gpu;\natom.global.add.u32 %r3, [%rd1], 1;\nfence.acq_rel.gpu;\nEND:\n";
  const std::string variables = ".shared .align 16 .b8 word[16];\n.global .align 4 .u32 counter;\n";
  const auto bytes = [&](unsigned ctas, size_t growth) {
    return checker_bytes(body, variables, ctas, growth);
  };
  const size_t few = bytes(250, kGrowth), many = bytes(2000, kGrowth);
  CHECK(many < few + few / 2);
  CHECK(bytes(2000, kNever) > 2 * many);
}
