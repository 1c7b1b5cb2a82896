// Which mistakes there are, where each can be made, and when it can do harm. A rule says false where no legal
// execution goes wrong, or where other barriers of the pipeline may make up for the mistake; the reason stands beside it.
#include "mutate.hpp"

#include <stdexcept>

#include "model.hpp"

namespace fuzz {
namespace {

using emu::Swizzle;
using P = const Pipeline&;
using M = const Mutation&;

constexpr auto always = [](P, M) { return true; };

bool has_mbarrier(P p) {
  return p.full == Link::mbarrier || p.empty == Link::mbarrier;
}
bool by_threads(P p) {
  return p.signal == Signal::threads || p.signal == Signal::warps;
}

// The filling threads are the consumers, and a barrier in their use of a stage stands between all its readers (and its
// store) and the next fill, whatever becomes of the empty barrier.
// One warpgroup's wgmma.wait_group is as good: each of its threads has then waited for all of its reads.
bool use_ends_with_barrier(P p) {
  return p.role == Role::everybody &&
         (p.consume == Consume::staged || (p.consume == Consume::in_place && p.engine()) ||
          (p.multiplies() && p.warpgroups() == 1));
}
// The filling threads meet all readers in the release itself: bar.warp.sync of the only warp, or a barrier.
bool release_meets_all(P p) {
  return p.role == Role::everybody && p.empty == Link::mbarrier &&
         (p.release == Release::one || (p.release == Release::warps && p.consumers == 1));
}
bool empty_is_backed(P p) {
  return use_ends_with_barrier(p) || release_meets_all(p);
}
// Every arrival on an empty barrier comes after a barrier of all readers of this CTA: one stands for all. So it does where
// wgmma reads: the wait of one thread covers the warpgroup, and one arrival fewer leaves some of each.
bool one_release_for_all(P p) {
  return p.consume == Consume::staged || p.multiplies() || empty_is_backed(p);
}

// All threads meet after their part of the fill is done and before the first read, whatever becomes of the full barrier:
// at the barrier of the staging buffer, or, where one warp does all, at the bar.warp.sync before the arrive. That orders
// stores, and cp.async groups that each thread has waited for.
bool full_is_backed(P p) {
  return p.role == Role::everybody && (p.load == Load::stores || p.groups()) &&
         (p.consume == Consume::staged ||
          (p.full == Link::mbarrier && p.signal == Signal::warps && p.consumers == 1));
}

// The last use of a stage, counted from 0, and the last release that is waited for (-1: none).
int last_use(P p) {
  return static_cast<int>((p.rounds - 1) / p.stages);
}
int last_release(P p) {
  return last_use(p) - 1;
}
// An arrival too many in each phase does no harm by itself where one stands for all, but those left over add up. In phase
// `count - 1` (one arrival more) they are a phase of their own, and the wait for that phase finds the next one complete
// and goes on to wait for the one after.
bool left_over_add_up(unsigned count, int last_phase) {
  return last_phase >= static_cast<int>(count) - 1;
}

// Without a refill no stage is ever written a second time: nobody waits for its release.
// `round`: of the fill that does not wait.
bool fill_is_second(P p, M m) {
  return m.round < 0 ? p.refills() : m.round >= static_cast<int>(p.stages);
}
// `round`: of the use whose end is not told.
bool use_is_refilled(P p, M m) {
  return m.round < 0 ? p.refills() : m.round + static_cast<int>(p.stages) < static_cast<int>(p.rounds);
}
bool buffer_is_second(P p, M m) {
  return m.round < 0 ? p.rounds > p.buffers : m.round >= static_cast<int>(p.buffers);
}
int rounds(P p) {
  return static_cast<int>(p.rounds);
}

bool commit_missing(P p, M m) {
  // wait_all waits for what has not been committed too.
  if (p.groups_left() == 0 && p.wait_all) return false;
  if (m.round < 0 || p.role == Role::everybody) return true;
  // With no more rounds than the lag, only the last wait (for all groups) counts: the next commit takes the copies in.
  return p.rounds > p.lag || m.round == rounds(p) - 1;
}

bool store_commit_missing(P p, M m) {
  if (m.round < 0 || m.round == rounds(p) - 1)
    return true;  // the thread exits with a store that no wait covers
  if (p.consume == Consume::in_place) return use_is_refilled(p, m);
  // The store joins the next group, so the waits of rounds round+1 .. round+buffers leave one store too many.
  const int buffers = static_cast<int>(p.buffers);
  return std::max(m.round + 1, buffers) <= std::min(rounds(p) - 1, m.round + buffers);
}

const std::vector<Kind> kKinds = {
    // ---- full
    {Change::no_full_wait, "no_full_wait", "the consumers do not wait for the tile", [](P) { return true; },
     // In later rounds of a block that stores its tiles, the barriers of the rounds between order them.
     [](P p, M m) {
       return !full_is_backed(p) && !(m.round > 0 && p.role == Role::everybody && p.load == Load::stores);
     },
     true},
    {Change::full_parity_off, "full_parity_off", "the consumers start with the other parity",
     [](P p) { return p.full == Link::mbarrier; }, always, false},
    {Change::full_parity_fixed, "full_parity_fixed", "the consumers' parity does not flip",
     [](P p) { return p.full == Link::mbarrier; },
     // Every stage is used once: parity 0 is right.
     [](P p, M) { return p.refills(); }, false},
    {Change::full_wait_once, "full_wait_once", "the consumers take the first answer of the wait for true",
     [](P p) { return p.full == Link::mbarrier && p.engine(); }, always, false},
    {Change::full_wait_relaxed, "full_wait_relaxed", "the consumers' wait is .relaxed",
     [](P p) { return p.full == Link::mbarrier; }, [](P p, M) { return !full_is_backed(p); }, false},
    {Change::full_count_more, "full_count_more", "full barriers expect one arrival too many",
     [](P p) { return p.full == Link::mbarrier; }, always, false},
    {Change::full_count_less, "full_count_less", "full barriers expect one arrival too few",
     [](P p) { return p.full == Link::mbarrier && p.full_count() > 1; },
     [](P p, M) { return !full_is_backed(p) || left_over_add_up(p.full_count() - 1, last_use(p)); }, false},
    {Change::full_extra_arrive, "full_extra_arrive", "a filling thread arrives once more, before its arrive",
     [](P p) { return p.full == Link::mbarrier; },
     [](P p, M) { return !full_is_backed(p) || left_over_add_up(p.full_count(), last_use(p)); }, false},
    {Change::no_full_arrive, "no_full_arrive", "the filling threads do not arrive",
     [](P p) { return p.full != Link::block; }, always, true},
    {Change::no_full_syncwarp, "no_full_syncwarp", "lane 0 arrives for its warp without bar.warp.sync",
     [](P p) { return p.full == Link::mbarrier && p.signal == Signal::warps; },
     // Of stores by a whole block only round 0, as for no_full_wait; and one warp meets again in the next fill.
     [](P p, M m) {
       if (p.role == Role::everybody && p.consume == Consume::staged) return false;  // the buffer's barrier
       // Producers that wait for their last groups at once meet after that wait, in the first of these rounds.
       if (p.role == Role::specialised && p.lag && m.round > std::max(0, rounds(p) - static_cast<int>(p.lag)))
         return false;
       if (m.round < 0 || p.role == Role::specialised || p.groups()) return true;
       return m.round == 0 && (p.consumers > 1 || std::min(p.stages, p.rounds) == 1);
     },
     true},
    {Change::full_arrive_relaxed, "full_arrive_relaxed", "the filling threads' arrive is .relaxed",
     [](P p) { return p.full == Link::mbarrier && by_threads(p); }, [](P p, M) { return !full_is_backed(p); },
     false},
    {Change::bytes_more, "bytes_more", "16 bytes too many are announced", [](P p) { return p.engine(); },
     always, true},
    {Change::bytes_less, "bytes_less", "16 bytes too few are announced", [](P p) { return p.engine(); },
     always, true},
    {Change::one_copy_less, "one_copy_less", "one of two copies is not announced",
     [](P p) { return p.engine() && p.boxes == 2 && !p.split_boxes; }, always, true},
    {Change::no_expect, "no_expect", "no bytes are announced", [](P p) { return p.engine(); }, always, false},
    {Change::full_wrong_stage, "full_wrong_stage", "the consumers wait on the next stage's full barrier",
     [](P p) { return p.engine() && p.stages > 1; }, always, false},
    {Change::copy_wrong_stage, "copy_wrong_stage", "the tile is copied into the next stage",
     [](P p) { return p.stages > 1; },
     // A block that has filled every stage before it uses one adds up the same tiles in another order.
     [](P p, M) {
       const bool sums = p.adds() || p.multiplies();
       return !(p.role == Role::everybody && !p.engine() && sums && p.rounds == p.stages);
     },
     false},
    {Change::mask_short, "mask_short", "the multicast leaves a CTA out", [](P p) { return p.cluster; },
     always, false},
    // ---- cp.async
    {Change::no_copy_wait, "no_copy_wait", "cp.async.wait_group is missing", [](P p) { return p.groups(); },
     // In the rounds before the lag nothing is waited for.
     [](P p, M m) { return m.round < 0 || p.role == Role::everybody || m.round >= static_cast<int>(p.lag); },
     true},
    {Change::copy_wait_lax, "copy_wait_lax", "cp.async.wait_group leaves one group more",
     [](P p) { return p.groups(); },
     // With no more rounds than the lag, only the last wait (for all groups) is executed.
     [](P p, M) { return p.role == Role::everybody || p.rounds > p.lag; }, false},
    {Change::no_copy_commit, "no_copy_commit", "cp.async.commit_group is missing",
     [](P p) { return p.groups(); }, commit_missing, true},
    {Change::copy_arrive_plain, "copy_arrive_plain", "mbarrier.arrive instead of cp.async.mbarrier.arrive",
     [](P p) { return p.signal == Signal::copies || p.signal == Signal::counted_copies; }, always, true},
    {Change::noinc_dropped, "noinc_dropped", "cp.async.mbarrier.arrive without .noinc",
     [](P p) { return p.signal == Signal::copies; }, always, false},
    {Change::noinc_added, "noinc_added", "cp.async.mbarrier.arrive with .noinc, which nobody counts",
     [](P p) { return p.signal == Signal::counted_copies; }, always, false},
    // ---- empty
    {Change::no_empty_wait, "no_empty_wait", "a stage is filled without waiting for its release",
     [](P p) { return p.empty != Link::block; },
     [](P p, M m) { return fill_is_second(p, m) && !empty_is_backed(p); }, true},
    {Change::empty_parity_off, "empty_parity_off", "the wait for a release starts with the other parity",
     [](P p) { return p.empty == Link::mbarrier; },
     [](P p, M) { return p.refills() || (p.role == Role::specialised && p.first_wait); }, false},
    {Change::empty_parity_fixed, "empty_parity_fixed", "the parity of the wait for a release does not flip",
     [](P p) { return p.empty == Link::mbarrier; }, [](P p, M) { return p.refills(); }, false},
    {Change::empty_count_more, "empty_count_more", "empty barriers expect one arrival too many",
     [](P p) { return p.empty == Link::mbarrier; },
     [](P p, M) { return p.refills() || (p.cluster && p.drain_empties); }, false},
    {Change::empty_count_less, "empty_count_less", "empty barriers expect one arrival too few",
     [](P p) { return p.empty == Link::mbarrier && p.empty_count() > 1; },
     // In a cluster one arrival stands for its CTA only.
     [](P p, M) {
       if (!one_release_for_all(p)) return p.refills();
       return p.refills() &&
              ((p.cluster && p.empty_count() == 2) || left_over_add_up(p.empty_count() - 1, last_release(p)));
     },
     false},
    {Change::empty_extra_arrive, "empty_extra_arrive",
     "a consumer arrives on the empty barrier before it reads", [](P p) { return p.empty == Link::mbarrier; },
     [](P p, M) {
       if (!one_release_for_all(p)) return p.refills();
       return p.refills() &&
              ((p.cluster && p.empty_count() == 2) || left_over_add_up(p.empty_count(), last_release(p)));
     },
     false},
    {Change::no_release, "no_release", "the consumers do not hand the stage back", [](P) { return true; },
     // A block's barrier that is missing leaves the order that the use gives.
     [](P p, M m) { return use_is_refilled(p, m) && !(p.empty == Link::block && use_ends_with_barrier(p)); },
     true},
    {Change::release_early, "release_early", "the stage is handed back before it is read",
     [](P) { return true; }, [](P p, M m) { return use_is_refilled(p, m) && !use_ends_with_barrier(p); },
     false},
    {Change::release_relaxed, "release_relaxed", "the arrive on the empty barrier is .relaxed",
     [](P p) { return p.empty == Link::mbarrier; },
     [](P p, M m) { return use_is_refilled(p, m) && !empty_is_backed(p); }, false},
    {Change::no_release_syncwarp, "no_release_syncwarp", "lane 0 releases for its warp without bar.warp.sync",
     [](P p) { return p.empty == Link::mbarrier && p.release == Release::warps; },
     // A consumer that stores has met all others before the store, and waited for it itself; one that multiplies has
     // waited for its warpgroup.
     [](P p, M m) { return use_is_refilled(p, m) && !p.stores_out() && !p.multiplies(); }, true},
    {Change::no_release_barrier, "no_release_barrier", "one thread releases for all without their barrier",
     [](P p) { return p.empty == Link::mbarrier && p.release == Release::one; },
     [](P p, M m) {
       return use_is_refilled(p, m) && !p.stores_out() && !(p.multiplies() && p.warpgroups() == 1);
     },
     true},
    {Change::release_not_to_peer, "release_not_to_peer", "both releases go to the CTA's own barrier",
     [](P p) { return p.cluster; }, [](P p, M) { return p.refills(); }, false},
    {Change::release_wrong_stage, "release_wrong_stage", "the next stage is handed back instead",
     [](P p) { return p.empty == Link::mbarrier && p.stages > 1; },
     // The first stage's release comes with the last stage's: the producer that waits for it knows all stages read by
     // then, and needs no more from the waits until the first stage's turn comes again. Not so the other of two that
     // take turns, nor who waits for the last releases: one stage's never comes.
     [](P p, M) {
       if (p.role == Role::everybody) return p.refills();
       if (p.cluster && p.drain_empties && p.rounds % p.stages) return true;
       return p.take_turns && p.rounds > p.stages + 1;
     },
     false},
    {Change::release_by_filler, "release_by_filler",
     "the producer hands the stage back when it has issued the copy",
     [](P p) {
       return p.role == Role::specialised && p.engine() && p.empty == Link::mbarrier && !p.cluster &&
              !p.split_boxes;
     },
     [](P p, M) { return p.refills(); }, false},
    {Change::no_remote_release, "no_remote_release", "multicast fills are not told of the peer's release",
     [](P p) { return p.cluster; }, [](P p, M m) { return use_is_refilled(p, m); }, false},
    // ---- start and end
    {Change::no_start_barrier, "no_start_barrier", "nobody waits for the initialisation of the barriers",
     has_mbarrier,
     // Empty barriers alone: the first full stage is handed over by a barrier that orders their initialisation too,
     // unless the producers wait for a release. One warp meets before it arrives on its full barriers for all its lanes.
     [](P p, M) {
       if (p.role == Role::everybody && p.consumers == 1 && p.signal == Signal::warps) return false;
       return p.full == Link::mbarrier || (p.role == Role::specialised && (p.refills() || p.first_wait));
     },
     false},
    {Change::no_init_fence, "no_init_fence", "no fence.mbarrier_init before a relaxed cluster barrier",
     [](P p) { return p.cluster && p.relaxed_start; }, always, false},
    {Change::no_barrier_init, "no_barrier_init", "the barriers are not initialised", has_mbarrier, always,
     false},
    {Change::no_cluster_end, "no_cluster_end", "a CTA of a cluster ends while the other still arrives in it",
     [](P p) { return p.cluster; }, always, false},
    // ---- use
    {Change::reader_swizzle, "reader_swizzle", "the consumers undo another swizzle", [](P) { return true; },
     // Rows that lie on the pattern's fixed points look the same.
     [](P p, M m) { return reads_differ(p, p.swizzle, m.swizzle, 0); }, false},
    {Change::map_swizzle, "map_swizzle", "the map has another swizzle",
     [](P p) { return p.load == Load::tensor; },
     [](P p, M m) { return can_encode(p, m.swizzle) && reads_differ(p, m.swizzle, p.swizzle, 0); }, false},
    {Change::tile_shifted, "tile_shifted", "the tiles are not aligned",
     [](P p) { return p.engine() || p.fill_unit == 16 || p.read_unit == 16; },
     [](P p, M) { return misplacement(p) == 8 || reads_differ(p, p.swizzle, p.swizzle, misplacement(p)); },
     false},
    {Change::wrong_coordinate, "wrong_coordinate", "the next box is copied", [](P) { return true; },
     // Boxes outside of the tensor are all alike.
     [](P p, M) { return boxes_differ(p); }, false},
    {Change::consumer_barrier_more, "consumer_barrier_more",
     "the barrier before a store counts a warp too many", [](P p) { return p.stores_out(); }, always, false},
    {Change::no_proxy_fence, "no_proxy_fence", "no proxy fence before the store",
     [](P p) { return p.stores_out(); }, always, true},
    {Change::no_store_barrier, "no_store_barrier", "no barrier before the store",
     [](P p) { return p.stores_out(); }, always, true},
    {Change::no_store_commit, "no_store_commit", "the store is not committed",
     [](P p) { return p.stores_out(); }, store_commit_missing, true},
    {Change::no_store_wait, "no_store_wait", "the source is used again without wait_group.read",
     [](P p) { return p.stores_out(); },
     [](P p, M m) { return p.consume == Consume::in_place ? use_is_refilled(p, m) : buffer_is_second(p, m); },
     true},
    {Change::store_wait_lax, "store_wait_lax", "wait_group.read leaves one group more",
     [](P p) { return p.stores_out(); },
     [](P p, M m) { return p.consume == Consume::in_place ? use_is_refilled(p, m) : buffer_is_second(p, m); },
     false},
    {Change::store_wait_elsewhere, "store_wait_elsewhere",
     "another thread than the one that stored waits for it", [](P p) { return p.stores_out(); },
     [](P p, M m) { return p.consume == Consume::in_place ? use_is_refilled(p, m) : buffer_is_second(p, m); },
     false},
    {Change::no_buffer_barrier, "no_buffer_barrier",
     "the others write a buffer that only one thread knows is free",
     [](P p) { return p.consume == Consume::staged; }, buffer_is_second, true},
    {Change::no_drain, "no_drain", "the kernel ends without waiting for its stores",
     // A tile that is stored from its place has been read before its stage is handed back.
     [](P p) { return p.stores_out(); }, [](P p, M) { return p.consume == Consume::staged; }, false},
    // ---- wgmma
    {Change::no_fill_fence, "no_fill_fence", "no proxy fence between the threads' copies and wgmma",
     [](P p) { return p.multiplies() && !p.engine(); }, always, false},
    {Change::no_mma_fence, "no_mma_fence", "wgmma.fence is missing", [](P p) { return p.multiplies(); },
     always, false},
    {Change::no_mma_commit, "no_mma_commit", "wgmma.commit_group is missing",
     [](P p) { return p.multiplies(); }, always, false},
    {Change::no_mma_wait, "no_mma_wait", "the stage is handed back without wgmma.wait_group",
     // The accumulators are waited for once more at the end.
     [](P p) { return p.multiplies(); }, [](P p, M) { return p.refills(); }, false},
    {Change::mma_wait_lax, "mma_wait_lax", "wgmma.wait_group leaves one group more",
     [](P p) { return p.multiplies(); }, [](P p, M) { return p.refills(); }, false},
    {Change::no_mma_drain, "no_mma_drain", "the accumulators are read without waiting for the last group",
     // Where every round is waited for, there is none left.
     [](P p) { return p.multiplies(); }, [](P p, M) { return p.late_release; }, false},
};

}  // namespace

unsigned misplacement(const Pipeline& p) {
  return p.load == Load::tensor && p.relative && !p.multiplies() && p.swizzle != Swizzle::none ? 128 : 8;
}

const std::vector<Kind>& kinds() {
  return kKinds;
}

const Kind& kind_of(Change change) {
  for (const Kind& k : kKinds)
    if (k.change == change) return k;
  throw std::out_of_range("a change without a row in kKinds");
}

std::optional<Mutation> mutate(const Pipeline& p, const Kind& kind, Dice& dice) {
  if (!kind.applies(p)) return std::nullopt;
  Mutation m;
  m.change = kind.change;
  if (kind.one_round && dice.chance(40)) m.round = static_cast<int>(dice.below(p.rounds));
  if (kind.change == Change::reader_swizzle || kind.change == Change::map_swizzle)
    m.swizzle = static_cast<Swizzle>((static_cast<unsigned>(p.swizzle) + dice.between(1, 3)) % 4);
  if (!kind.can_misbehave(p, m)) return std::nullopt;
  return m;
}

}  // namespace fuzz
