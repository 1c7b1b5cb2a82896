// A pipeline, as data: who copies which tiles how, how a full stage is handed to the consumers and an empty one back,
// and what the consumers do. random_pipeline() makes a correct one; emit.cpp turns it into PTX, model.cpp says what it
// must compute.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "emulator/machine/swizzle.hpp"
#include "emulator/machine/tensor_map.hpp"

namespace fuzz {

// A generator whose choices are the same with every standard library.
class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed * 0x9E3779B97F4A7C15ull + 1) {}
  unsigned below(unsigned n) { return static_cast<unsigned>((engine_() >> 11) % n); }
  unsigned between(unsigned low, unsigned high) { return low + below(high - low + 1); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class T, unsigned N>
  T of(const T (&list)[N]) {
    return list[below(N)];
  }

 private:
  std::mt19937_64 engine_;
};

// specialised: producer warps fill, consumer warps use. everybody: all threads use; a stage is filled again by thread 0
// (copy engine) or by all threads, after it has been used.
enum class Role { specialised, everybody };

// How a tile comes into shared memory: cp.async.bulk.tensor, cp.async.bulk, cp.async, or ld.global and st.shared.
enum class Load { tensor, bulk, cp_async, stores };

// What a stage is handed over through: an mbarrier a stage, a named barrier a stage (bar.arrive and bar.sync), or
// the barrier of the block.
enum class Link { mbarrier, named, block };

// Who arrives on a stage's full mbarrier.
//   bytes             the issuing threads, with expect_tx
//   copies            every filling thread: cp.async.mbarrier.arrive.noinc
//   counted_copies    the same without .noinc, and a plain arrive beside it
//   threads, warps    every filling thread, or lane 0 of each warp after bar.warp.sync
enum class Signal { bytes, copies, counted_copies, threads, warps };

// Where the bytes are announced, among the copies of a stage.
enum class Announce {
  arrive_first,          // arrive.expect_tx, copies
  arrive_last,           // copies, arrive.expect_tx
  expect_copies_arrive,  // expect_tx, copies, arrive
  copies_expect_arrive,  // copies, expect_tx, arrive
  each_copy,             // expect_tx before each copy, arrive at the end
};

// Who arrives on a stage's empty mbarrier: every consumer, lane 0 of each warp after bar.warp.sync, or one thread
// after a barrier of the consumers.
enum class Release { threads, warps, one };

// sum: each thread keeps a hash of what it reads. copy: st.global. in_place: the tile is changed where it is and
// stored from there. staged: the changed tile goes to a buffer of its own and is stored from there.
// multiply: warpgroups multiply each 64 rows of the tile with its first 8 rows (wgmma), and add up.
enum class Consume { sum, copy, in_place, staged, multiply };

// How in_place and staged go out: bulk store, tensor store, and the same as reductions (.add.u32).
enum class Store { bulk, tensor, bulk_add, tensor_add };

struct Pipeline {
  uint64_t seed = 0;
  Role role = Role::specialised;
  unsigned ctas = 1;     // 2: two CTAs that know nothing of each other, or a cluster of two
  bool cluster = false;  // each CTA brings one of the two boxes of a stage, to both (multicast)
  unsigned producers = 1, consumers = 1;  // warps; everybody: `consumers` warps do all
  bool producers_first = true;            // their warps have the lower numbers
  unsigned stages = 1, rounds = 1;

  // The tile of a stage: `boxes` boxes, each of `rows` rows of `inner` bytes.
  Load load = Load::tensor;
  unsigned boxes = 1;
  unsigned rank = 2;            // of the tensor
  uint32_t box[3] = {1, 1, 1};  // elements
  emu::ElementType type = emu::ElementType::u32;
  emu::Swizzle swizzle = emu::Swizzle::none;  // by the map, or by hand (cp_async, stores)
  // Readers undo the swizzle from the start of the box, which is then aligned to the period.
  bool relative = false;
  int offset[3] = {0, 0, 0};     // coordinates of the first box
  uint32_t size[3] = {1, 1, 1};  // of the tensor: less than the boxes cover, where they are clipped
  unsigned row_padding = 0;      // bytes between rows of the tensor, in units of 16
  unsigned stage_padding = 0;    // between stages in shared memory, in units of the alignment
  unsigned fill_unit = 16;       // bytes a thread copies at a time (cp_async, stores)
  unsigned read_unit = 4;        // bytes a consumer reads at a time

  // Full: the fillers tell the consumers.
  Link full = Link::mbarrier;
  Signal signal = Signal::bytes;
  Announce announce = Announce::arrive_first;
  bool split_boxes = false;  // two producers: each copies and announces one box of every stage
  bool take_turns = false;   // two producers: each fills every other stage
  bool whole_warp = false;   // all lanes of the producer warp wait, one issues
  bool elect = false;        // the issuing lane is found by elect.sync
  unsigned lag = 0;       // cp_async, threads or warps: rounds that stay in flight before they are signalled
  bool wait_all = false;  // cp.async.wait_all where no group may be pending

  // Empty: the consumers tell the fillers.
  Link empty = Link::mbarrier;
  Release release = Release::threads;
  bool first_wait = true;  // the producer waits before the first fill too (parity 1 on a fresh barrier)

  bool test_wait = false;  // test_wait loops instead of try_wait
  Consume consume = Consume::sum;
  Store store = Store::bulk;
  emu::Swizzle out_swizzle = emu::Swizzle::none;  // staged
  unsigned buffers = 1;                           // staged
  bool late_release = false;      // multiply: a group stays in flight, a stage is handed back one round later
  bool one_fence = false;         // multiply: wgmma.fence in the first round only
  bool drain_reads_only = false;  // the kernel ends after wait_group.read 0
  bool relaxed_start = false;     // cluster: fence.mbarrier_init, then barrier.cluster.arrive.relaxed
  bool default_scopes = false;    // cluster, multiply: arrives and waits without a scope
  bool init_fence = false;        // fence.mbarrier_init where nothing asks for it
  bool drain_empties = false;  // cluster: producers wait for the last releases; no cluster barrier at the end

  // ---- what follows from it
  bool engine() const { return load == Load::tensor || load == Load::bulk; }
  bool groups() const {  // cp.async groups are waited for
    return load == Load::cp_async && signal != Signal::copies && signal != Signal::counted_copies;
  }
  bool stores_out() const { return consume == Consume::in_place || consume == Consume::staged; }
  bool adds() const { return stores_out() && (store == Store::bulk_add || store == Store::tensor_add); }
  bool multiplies() const { return consume == Consume::multiply; }
  unsigned warpgroups() const { return consumers / 4; }
  unsigned blocks() const { return boxes * rows() / 64; }  // multiply: of 64 rows
  unsigned warps() const { return role == Role::everybody ? consumers : producers + consumers; }
  unsigned threads() const { return 32 * warps(); }
  unsigned consumer_threads() const { return 32 * consumers; }
  unsigned filler_threads() const { return role == Role::everybody ? threads() : 32 * producers; }
  unsigned element_bytes() const { return emu::element_bytes(type); }
  unsigned inner() const { return box[0] * element_bytes(); }
  unsigned rows() const { return box[1] * box[2]; }
  unsigned box_bytes() const { return inner() * rows(); }
  unsigned tile_bytes() const { return boxes * box_bytes(); }
  static unsigned pitch(emu::Swizzle s, unsigned inner) {
    return s == emu::Swizzle::none ? inner : emu::swizzle_span(s);
  }
  unsigned pitch() const { return pitch(swizzle, inner()); }  // from row to row in shared memory
  unsigned alignment() const {
    return relative && swizzle != emu::Swizzle::none ? emu::swizzle_period(swizzle) : 128;
  }
  unsigned box_stride() const { return round_up(pitch() * rows(), alignment()); }
  unsigned stage_stride() const { return boxes * box_stride() + stage_padding * alignment(); }
  unsigned out_box_stride() const { return round_up(pitch(out_swizzle, inner()) * rows(), 128); }
  // Boxes of the tensor that are copied: every CTA its own, or both of a cluster the same.
  unsigned all_boxes() const { return (cluster ? 1 : ctas) * rounds * boxes; }
  unsigned full_count() const;   // arrivals that complete a phase of a full mbarrier
  unsigned empty_count() const;  // and of an empty one
  bool refills() const { return rounds > stages; }
  // wait_group's argument: groups that may stay pending when the oldest is needed.
  unsigned groups_left() const { return role == Role::everybody ? std::min(stages, rounds) - 1 : lag; }

  static unsigned round_up(unsigned n, unsigned to) { return (n + to - 1) / to * to; }
};

Pipeline random_pipeline(uint64_t seed);
std::string describe(const Pipeline& p);

}  // namespace fuzz
