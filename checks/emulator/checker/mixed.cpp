// Ordinary accesses beside atomic and volatile ones, and stores of several warps to one place: what is an error, what is advice,
// and what is right.
#include "checked.hpp"

using namespace checked;

namespace {

const std::string kWords =
    ".shared .align 16 .b8 words[256];\n.global .align 16 .b8 data[1024];\n.global .align 4 .u32 counter;\n"
    ".global .align 4 .u32 flag;\n";
// %r1: the words in shared memory, %rd1: `counter`, %rd2: `flag`, %rd3: data. %p1: not thread 0; %p2: not thread 32; %p10: not
// CTA 0.
const std::string kStart =
    "mov.u32 %r1, words;\nmov.u64 %rd1, counter;\nmov.u64 %rd2, flag;\nmov.u64 %rd3, data;\nmov.u32 %r20, %ctaid.x;\n"
    "setp.ne.u32 %p10, %r20, 0;\nsetp.ne.u32 %p1, %t, 0;\nsetp.ne.u32 %p2, %t, 32;\n";

std::string found(const std::string& body, unsigned ctas = 1, unsigned threads = 64) {
  emu_test::Options o;
  o.ctas = ctas;
  o.threads = threads;
  o.declarations = kWords;
  return reported(kStart + body, {}, o, [](const emu::Finding& f) {
    return emu::text(f.severity == emu::Severity::advice ? "advice " : "", emu::name_of(f.id), ": ", f.title,
                     "\n");
  });
}

const std::string
    kPlainLoad = "an ordinary load of a word that other threads change with atomics or volatile stores\n",
    kPlainStore =
        "an ordinary store and an atomic or volatile one write the same word without any order between them\n",
    kReset = "an ordinary store resets a word that other threads may still be polling\n",
    kFlag = "a flag is set by an ordinary store while other threads poll it\n",
    kNoFence =
        "a relaxed atomic tells that bytes are ready, and no fence behind it makes them visible to who uses them\n";
const std::string kBar = "bar.sync 0;\n", kMemoryFence = "fence.acq_rel.gpu;\n";

}  // namespace

TEST_CASE("mixed: a counter in shared memory is set before others add to it, and read when they have") {
  const std::string zero = "@!%p1 st.shared.u32 [%r1], 0;\n", add = "atom.shared.add.u32 %r2, [%r1], 1;\n",
                    read = "@!%p2 ld.shared.u32 %r3, [%r1];\n";
  CHECK(found(zero + kBar + add + kBar + read) == "nothing");
  CHECK(found(zero + add + kBar + read) == "data-race: " + kPlainStore);
  CHECK(found(zero + kBar + add + read) == "data-race: " + kPlainLoad);
  CHECK(found(zero + kBar + add + kBar + read + kBar + zero + kBar + add) == "nothing");
  CHECK(found(zero + kBar + add + kBar + read + zero) ==
        "data-race: two threads use the same bytes without any order "
        "between them\n");
  // each thread has a word of its own, and sums that others have
  const std::string own = "shl.b32 %r4, %t, 2;\nadd.u32 %r4, %r4, %r1;\n";
  CHECK(
      found(
          own +
          "st.volatile.shared.u32 [%r4], %t;\nld.volatile.shared.u32 %r3, [%r4];\nld.shared.u32 %r3, [%r4];\n") ==
      "nothing");
}

TEST_CASE("mixed: a volatile load of a tile waits for its copy like any other") {
  const std::string read = "ld.volatile.shared.u32 %r3, [%r1];\nst.global.u32 [%out], %r3;\n";
  CHECK(reported(kInit + by_thread_0("A", kExpect + kCopy) + wait("W", 0) + read) == "nothing");
  CHECK(reported(kInit + by_thread_0("A", kExpect + kCopy) + read + wait("W", 0)) == "read-before-landed ");
  // thread 1 reads, and thread 0 fills again
  const auto refill = [&](const std::string& between) {
    return kInit + by_thread_0("A", kExpect + kCopy) + wait("W", 0) +
           "setp.eq.u32 %p6, %t, 1;\n@%p6 ld.volatile.shared.u32 %r3, [%r1];\n" + between +
           by_thread_0("B", kExpect + kCopy) + wait("V", 1);
  };
  CHECK(reported(refill("bar.sync 0;\n")) == "nothing");
  CHECK(reported(refill("")) == "overwritten-while-read ");
}

TEST_CASE("mixed: in global memory an ordinary load of what atomics change is advice") {
  const std::string add = "atom.global.add.u32 %r2, [%rd1], 1;\n", look = "ld.global.u32 %r3, [%rd1];\n";
  CHECK(found("@!%p1 " + add + "@!%p1 " + look) == "nothing");
  CHECK(found("@!%p1 " + add + kBar + look) == "nothing");
  CHECK(found("@!%p1 " + add + "@!%p2 " + look) == "advice data-race: " + kPlainLoad);
  CHECK(found("@!%p2 " + look + "@!%p1 " + add) == "advice data-race: " + kPlainLoad);
  CHECK(found("@!%p1 " + add + "@!%p2 ld.volatile.global.u32 %r3, [%rd1];\n") == "nothing");
  CHECK(found("@!%p1 " + add + "@!%p2 ld.relaxed.gpu.global.u32 %r3, [%rd1];\n") == "nothing");
}

TEST_CASE("mixed: the last block resets the counter that told it") {
  const auto kernel = [](const std::string& fence, const std::string& reset) {
    return "@%p1 bra END;\n" + fence + "atom.global.add.u32 %r6, [%rd1], 1;\n" + fence +
           "setp.ne.u32 %p3, %r6, 4;\n@%p3 bra END;\n" + reset + "END:\n";
  };
  const std::string reset = "st.global.u32 [%rd1], 0;\n";
  CHECK(found(kernel(kMemoryFence, reset), 5) == "nothing");
  CHECK(found(kernel("", reset), 5) ==
        "nothing");  // whoever has seen the last change of a word comes after it
  CHECK(found(kernel("", "st.volatile.global.u32 [%rd1], 0;\n"), 5) == "nothing");
  // not the last one, but the first
  const std::string first =
      "@%p1 bra END;\natom.global.add.u32 %r6, [%rd1], 1;\nsetp.ne.u32 %p3, %r6, 0;\n@%p3 bra END;\n" +
      reset + "END:\n";
  CHECK(found(first, 5).find("data-race: " + kPlainStore) != std::string::npos);
}

TEST_CASE("mixed: a counter is reset by an ordinary store while others poll it") {
  // Thread 0 and thread 32 add; both wait until the count is 2; thread 0 then resets it.
  const auto kernel = [](const std::string& between, const std::string& reset) {
    return "and.b32 %r4, %t, 31;\nsetp.ne.u32 %p3, %r4, 0;\n@%p3 bra DONE;\n"
           "atom.global.add.u32 %r6, [%rd1], 1;\nSPIN: ld.volatile.global.u32 %r5, [%rd1];\n"
           "setp.eq.u32 %p4, %r5, 1;\n@%p4 bra SPIN;\nDONE:\n" +
           between + "@%p1 bra END;\n" + reset + "END:\n";
  };
  const std::string plain = "st.global.u32 [%rd1], 0;\n", strong = "st.volatile.global.u32 [%rd1], 0;\n";
  CHECK(found(kernel(kBar, plain)) == "nothing");
  CHECK(found(kernel("", strong)) == "nothing");
  CHECK(found(kernel("", plain)) == "data-race: " + kReset);
}

TEST_CASE("mixed: a flag that an ordinary store sets") {
  const auto kernel = [](const std::string& set) {
    return "@%p1 bra WAIT;\n" + set +
           "bra END;\nWAIT: @%p2 bra END;\nSPIN: ld.volatile.global.u32 %r5, [%rd2];\n"
           "setp.ne.u32 %p4, %r5, 1;\n@%p4 bra SPIN;\nEND:\n";
  };
  CHECK(found(kernel("st.volatile.global.u32 [%rd2], 1;\n")) == "nothing");
  CHECK(found(kernel("st.release.gpu.global.u32 [%rd2], 1;\n")) == "nothing");
  CHECK(found(kernel("atom.global.exch.b32 %r6, [%rd2], 1;\n")) == "nothing");
  CHECK(found(kernel("st.global.u32 [%rd2], 1;\n")) == "advice data-race: " + kFlag);
}

TEST_CASE("mixed: a flag that goes to and fro") {
  // CTA 0 sets the flag, CTA 1 takes it back, twice.
  const auto kernel = [](const std::string& back) {
    const auto spin = [](const std::string& label, int until) {
      return label + ": ld.acquire.gpu.global.u32 %r5, [%rd2];\nsetp.ne.u32 %p4, %r5, " +
             std::to_string(until) + ";\n@%p4 bra " + label + ";\n";
    };
    const std::string set = "st.release.gpu.global.u32 [%rd2], 1;\n";
    return "@%p1 bra END;\n@%p10 bra B;\n" + set + spin("S1", 0) + set + spin("S2", 0) + "bra END;\nB:\n" +
           spin("S3", 1) + back + spin("S4", 1) + back + "END:\n";
  };
  CHECK(found("@%p1 bra ST;\n@%p10 bra ST;\nst.volatile.global.u32 [%rd2], 0;\nST:\n" +
                  kernel("st.release.gpu.global.u32 [%rd2], 0;\n"),
              2) == "nothing");
}

// ---- stores to one place

TEST_CASE("one place: several warps store to it") {
  const std::string
      same = "data-race: several warps store the same value to one place, with no order between them\n",
      other = "data-race: several warps store different values to one place, with no order between them\n";
  const std::string equal = "st.global.u32 [%rd3], 7;\n", different = "st.global.u32 [%rd3], %t;\n";
  CHECK(found(equal, 1, 32) == "nothing");
  CHECK(found(different, 1, 32) == "nothing");  // of lanes that store together, the value of one stays
  CHECK(found(equal) == "advice " + same);
  CHECK(found(different) == other);
  CHECK(found("@!%p1 " + equal) == "nothing");
  CHECK(found("@!%p1 " + equal, 3) == "advice " + same);
  CHECK(found("@!%p1 st.global.u32 [%rd3], %r20;\n", 3) == other);
  CHECK(found("@!%p1 atom.global.exch.b32 %r2, [%rd3], %r20;\n", 3) == "nothing");
  CHECK(found("@!%p1 st.relaxed.gpu.global.u32 [%rd3], %r20;\n", 3) == "nothing");
  // in turn
  CHECK(found("@!%p1 " + different + kBar + "@!%p2 " + different) == "nothing");
  // in shared memory
  CHECK(found("st.shared.u32 [%r1], 7;\n") == "advice " + same);
  CHECK(found("st.shared.u32 [%r1], %t;\n") == other);
  CHECK(found("shl.b32 %r4, %t, 2;\nadd.u32 %r4, %r4, %r1;\nst.shared.u32 [%r4], %t;\n") == "nothing");
  // a warp stores where its index is missing
  CHECK(
      found(
          "and.b32 %r4, %t, 31;\nshl.b32 %r4, %r4, 2;\nadd.u32 %r4, %r4, %r1;\nst.shared.u32 [%r4], %t;\n") ==
      other);
}

// ---- one lane for its warp

TEST_CASE("one lane: it arrives for lanes that have read with it") {
  const std::string setup =
      kInit + by_thread_0("F", kExpect + kCopy) + wait("W", 0) + "bar.sync 0;\nsetp.ge.u32 %p5, %t, 32;\n";
  const std::string lanes =
      "shl.b32 %r4, %t, 1;\nand.b32 %r4, %r4, 60;\nadd.u32 %r4, %r4, %r1;\n@!%p5 ld.shared.u32 %r3, [%r4];\n";
  const std::string arrive = by_thread_0("A", "mbarrier.arrive.shared::cta.b64 _, [%r2];\n");
  const std::string refill = "setp.ne.u32 %p6, %t, 32;\n@%p6 bra LAST;\n" + wait("V", 1) + kExpect + kCopy +
                             "LAST:\n" + wait("U", 0);
  CHECK(reported(setup + lanes + "bar.warp.sync -1;\n" + arrive + refill) == "nothing");
  CHECK(reported(setup + lanes + arrive + refill) == "advice overwritten-while-read ");
  CHECK(reported(setup + arrive + lanes + refill).find("advice") == std::string::npos);  // after the arrival
}
