// The shared memory of other CTAs of the cluster.
#include "checked.hpp"

using namespace checked;

namespace {

// Two CTAs of a cluster: each thread stores to a word of the tile of the other CTA.
std::string in_a_cluster(const std::string& body, unsigned threads = 32) {
  emu_test::Options o;
  o.threads = threads;
  o.ctas = o.cluster = 2;
  o.in_words = 16;
  o.out_words = 1;
  o.declarations = ".shared .align 1024 .b8 tile[256];\n.shared .align 8 .b64 bar;\n";
  return reported(body, std::vector<uint32_t>(2 * threads * 16, 7), o,
                  [](const emu::Finding& f) { return emu::text(emu::name_of(f.id), " "); });
}
const std::string
    kMeet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n",
    kMeetRelaxed = "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\n",
    kStoreInOther =
        "mov.u32 %r1, tile;\nmov.u32 %r6, %cluster_ctarank;\nxor.b32 %r6, %r6, 1;\nmapa.shared::cluster.u32 %r7, %r1, "
        "%r6;\nand.b32 %r8, %t, 31;\nshl.b32 %r8, %r8, 2;\nadd.u32 %r7, %r7, %r8;\nst.shared::cluster.u32 [%r7], %t;\n";

}  // namespace

TEST_CASE("cluster memory: another CTA must have begun before its shared memory is used") {
  CHECK(in_a_cluster(kStoreInOther + kMeet) == "cluster-entry ");
  CHECK(in_a_cluster(kMeet + kStoreInOther + kMeet) == "nothing");
  CHECK(in_a_cluster(kMeetRelaxed + kStoreInOther + kMeet) == "nothing");
}

TEST_CASE(
    "cluster memory: an arrive for its own CTA does not hand over what others of the CTA wrote either") {
  // CTA 1 writes its tile, meets at a barrier, and thread 32 arrives in CTA 0, whose threads read a word of the tile.
  const auto kernel = [](const std::string& scope, const std::string& before, const char* word) {
    return kInit + kMeet +
           "mov.u32 %r6, %cluster_ctarank;\nsetp.ne.u32 %p6, %r6, 1;\n@%p6 bra READER;\n"
           "shl.b32 %r8, %t, 2;\nadd.u32 %r8, %r8, %r1;\nst.shared.u32 [%r8], %t;\nbar.sync 0;\nsetp.ne.u32 %p5, %t, 32;\n"
           "@%p5 bra END;\nmapa.shared::cluster.u32 %r9, %r2, 0;\n" +
           before + "mbarrier.arrive" + scope +
           ".shared::cluster.b64 _, [%r9];\nbra END;\n"
           "READER: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0;\n@!%p2 bra READER;\n"
           "mapa.shared::cluster.u32 %r9, %r1, 1;\nld.shared::cluster.u32 %r3, [%r9+" +
           word + "];\nEND:\n" + kMeet;
  };
  for (const char* word : {"0", "128"}) {  // of thread 0, and of the thread that arrives
    CAPTURE(word);
    CHECK(in_a_cluster(kernel(".release.cluster", "", word), 64) == "nothing");
    CHECK(in_a_cluster(kernel("", "fence.acq_rel.cluster;\n", word), 64) == "nothing");
    CHECK(in_a_cluster(kernel("", "", word), 64) == "arrive-scope ");
  }
}
