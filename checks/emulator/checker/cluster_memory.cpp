// The shared memory of other CTAs of the cluster.
#include "checked.hpp"

using namespace checked;

namespace {

// Two CTAs of a cluster: each thread stores to a word of the tile of the other CTA.
std::string in_a_cluster(const std::string& body) {
  emu_test::Options o;
  o.threads = 32;
  o.ctas = o.cluster = 2;
  o.in_words = 16;
  o.out_words = 1;
  o.declarations = kShared;
  return reported(body, std::vector<uint32_t>(2 * 32 * 16, 7), o,
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
