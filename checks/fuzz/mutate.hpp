// Mutations: one mistake in an otherwise correct pipeline. emit.cpp makes it; here it is known where it exists at all,
// and whether the kernel can then misbehave.
#pragma once

#include <optional>
#include <vector>

#include "pipeline.hpp"

namespace fuzz {

enum class Change {
  none,
  // full: fillers to consumers
  no_full_wait,
  full_parity_off,
  full_parity_fixed,
  full_wait_once,
  full_wait_relaxed,
  full_count_more,
  full_count_less,
  full_extra_arrive,
  no_full_arrive,
  no_full_syncwarp,
  full_arrive_relaxed,
  bytes_more,
  bytes_less,
  one_copy_less,
  no_expect,
  full_wrong_stage,
  copy_wrong_stage,
  mask_short,
  // cp.async
  no_copy_wait,
  copy_wait_lax,
  no_copy_commit,
  copy_arrive_plain,
  noinc_dropped,
  noinc_added,
  // empty: consumers to fillers
  no_empty_wait,
  empty_parity_off,
  empty_parity_fixed,
  empty_count_more,
  empty_count_less,
  empty_extra_arrive,
  no_release,
  release_early,
  release_relaxed,
  no_release_syncwarp,
  no_release_barrier,
  no_remote_release,
  release_not_to_peer,
  release_wrong_stage,
  release_by_filler,
  // start and end
  no_start_barrier,
  no_init_fence,
  no_barrier_init,
  no_cluster_end,
  // what the consumers do
  reader_swizzle,
  map_swizzle,
  tile_shifted,
  wrong_coordinate,
  consumer_barrier_more,
  no_proxy_fence,
  no_store_barrier,
  no_store_commit,
  no_store_wait,
  store_wait_lax,
  store_wait_elsewhere,
  no_buffer_barrier,
  no_drain,
  // wgmma
  no_fill_fence,
  no_mma_fence,
  no_mma_commit,
  no_mma_wait,
  mma_wait_lax,
  no_mma_drain,
};

struct Mutation {
  Change change = Change::none;
  int round = -1;                             // the one round in which it is made; -1: always
  emu::Swizzle swizzle = emu::Swizzle::none;  // reader_swizzle, map_swizzle: the wrong pattern
};

struct Kind {
  Change change;
  const char* name;
  const char* what;
  // Whether the pipeline has what the mistake is made in.
  bool (*applies)(const Pipeline&);
  // False: no legal execution of the mutated kernel goes wrong, or other barriers may make up for the mistake. The
  // reason is beside the rule.
  bool (*can_misbehave)(const Pipeline&, const Mutation&);
  bool one_round;  // the mistake can be made in one round only
};

const std::vector<Kind>& kinds();
const Kind& kind_of(Change change);

// tile_shifted: by how many bytes. Off the alignment of the copy, or off the period of a swizzle that is undone from the
// start of the box.
unsigned misplacement(const Pipeline& p);

// A random mistake of this kind that can misbehave; nothing when the pipeline has none.
std::optional<Mutation> mutate(const Pipeline& p, const Kind& kind, Dice& dice);

}  // namespace fuzz
