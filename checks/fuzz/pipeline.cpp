#include "pipeline.hpp"

#include <algorithm>

namespace fuzz {
namespace {

using emu::ElementType;
using emu::Swizzle;

constexpr Swizzle kSwizzles[] = {Swizzle::none, Swizzle::span32, Swizzle::span64, Swizzle::span128};

void choose_tile(Pipeline& p, Dice& dice) {
  static constexpr ElementType kTypes[] = {ElementType::u8,  ElementType::u16, ElementType::u32,
                                           ElementType::s32, ElementType::u64, ElementType::f16,
                                           ElementType::f32, ElementType::f64, ElementType::bf16};
  const bool by_hand = !p.engine();
  if (p.multiplies()) {
    // K-major operands: rows of one span, in whole patterns.
    p.type = ElementType::bf16;
    p.swizzle = static_cast<Swizzle>(dice.between(1, 3));
    p.rank = p.load == Load::tensor ? dice.between(2, 3) : 2;
    const unsigned rows = 64 * (p.warpgroups() > p.boxes || dice.chance(20) ? 2 : 1);
    p.box[0] = emu::swizzle_span(p.swizzle) / 2;
    p.box[2] = p.rank == 3 ? 2 : 1;
    p.box[1] = rows / p.box[2];
    p.relative = true;
    p.fill_unit = 4u << dice.below(3);
    while (p.tile_bytes() < p.fill_unit * p.filler_threads()) p.fill_unit /= 2;
    return;
  }
  p.type = p.load == Load::tensor ? dice.of(kTypes) : ElementType::u32;
  p.swizzle = p.load == Load::bulk ? Swizzle::none : dice.of(kSwizzles);
  const unsigned span = p.swizzle == Swizzle::none ? 256 : emu::swizzle_span(p.swizzle);
  // Mostly a whole span: what wgmma wants. At times a shorter row, at a distance of a span.
  unsigned inner = p.swizzle != Swizzle::none && dice.chance(75) ? span : 16 * dice.between(1, span / 16);
  inner = std::min(inner, 256 * p.element_bytes());
  p.rank = p.load == Load::tensor ? dice.between(1, 3) : 2;
  p.box[0] = inner / p.element_bytes();
  p.box[1] = p.rank >= 2 ? dice.between(1, 12) : 1;
  p.box[2] = p.rank >= 3 ? dice.between(1, 3) : 1;
  // Every thread is to read something and, where threads copy, to copy something.
  const unsigned threads =
      by_hand ? std::max(p.consumer_threads(), p.filler_threads()) : p.consumer_threads();
  if (p.rank == 1 && p.tile_bytes() < 4 * threads) {
    p.rank = 2;
    p.box[1] = dice.between(2, 8);
  }
  while (p.tile_bytes() < 4 * threads) ++p.box[1];
  auto unit = [&](unsigned users) {
    unsigned u = 4u << dice.below(3);
    while (p.tile_bytes() < u * users) u /= 2;
    return u;
  };
  p.read_unit = unit(p.consumer_threads());
  p.fill_unit = unit(p.filler_threads());
  p.relative = dice.chance(40);
  p.stage_padding = dice.chance(25) ? 1 : 0;
}

void choose_tensor(Pipeline& p, Dice& dice) {
  const unsigned last = p.rank - 1;
  for (unsigned i = 0; i < 3; ++i) {
    const uint32_t covered = p.box[i] * (i == last ? p.all_boxes() : 1);
    p.offset[i] = 0;
    p.size[i] = i < p.rank ? covered : 1;
    if (i >= p.rank || p.load != Load::tensor) continue;
    // At times the boxes begin before the tensor or end after it.
    // In a row they begin at multiples of 16 bytes.
    const int step = i == 0 ? static_cast<int>(std::max(1u, 16 / p.element_bytes())) : 1;
    if (dice.chance(20)) p.offset[i] = step * static_cast<int>(dice.below(4));
    if (dice.chance(15)) p.offset[i] = -step * static_cast<int>(dice.below(3));
    p.size[i] = covered + 4;
    if (dice.chance(30)) p.size[i] = std::max<uint32_t>(1, covered - std::min(covered, dice.below(4)));
    // Some of each box is to lie inside.
    if (i != last &&
        (p.offset[i] >= static_cast<int>(p.size[i]) || p.offset[i] + static_cast<int>(p.box[i]) <= 0))
      p.offset[i] = 0;
  }
  p.row_padding = dice.chance(30) ? dice.between(1, 3) : 0;
}

void choose_full(Pipeline& p, Dice& dice) {
  if (p.engine()) {
    p.full = Link::mbarrier;
    p.signal = Signal::bytes;
    static constexpr Announce kAnnounce[] = {Announce::arrive_first,         Announce::arrive_first,
                                             Announce::arrive_last,          Announce::expect_copies_arrive,
                                             Announce::copies_expect_arrive, Announce::each_copy};
    p.announce = dice.of(kAnnounce);
    if (p.role == Role::specialised && p.producers == 2) {
      p.split_boxes = p.boxes == 2 && dice.chance(60);
      // With one stage, a producer whose turn has passed would be two phases behind, which no parity can tell.
      p.take_turns = !p.split_boxes && p.stages > 1;
      if (!p.split_boxes && !p.take_turns) p.producers = 1;
    }
    if (p.role == Role::specialised) {
      p.whole_warp = dice.chance(30);
      p.elect = dice.chance(40);
    }
    return;
  }
  static constexpr Signal kCopies[] = {Signal::copies, Signal::copies, Signal::counted_copies,
                                       Signal::threads, Signal::warps};
  static constexpr Signal kStores[] = {Signal::threads, Signal::warps};
  p.signal = p.load == Load::cp_async ? dice.of(kCopies) : dice.of(kStores);
  if (p.signal == Signal::threads || p.signal == Signal::warps) {
    if (p.role == Role::everybody)
      p.full = dice.chance(60) ? Link::block : Link::mbarrier;
    else
      p.full = dice.chance(40) ? Link::named : Link::mbarrier;
    if (p.full == Link::named) p.signal = Signal::threads;
    if (p.role == Role::specialised && p.load == Load::cp_async) p.lag = dice.below(std::min(p.stages, 3u));
  }
  p.wait_all = dice.chance(40);
}

void choose_consume(Pipeline& p, Dice& dice) {
  if (p.multiplies()) {
    // A stage more than the fillers and the consumers hold back together, or both wait for ever.
    p.late_release = p.role == Role::specialised && p.stages > p.lag + 1 && dice.chance(50);
    p.one_fence = dice.chance(50);
    return;
  }
  static constexpr Consume kConsume[] = {Consume::sum, Consume::copy, Consume::in_place, Consume::staged};
  p.consume = dice.of(kConsume);
  if (!p.stores_out()) return;
  // A staged tile is laid out as the map of the store asks; one that is changed in place lies as it came.
  if (p.consume == Consume::staged) {
    do p.out_swizzle = dice.of(kSwizzles);
    while (p.out_swizzle != Swizzle::none && emu::swizzle_span(p.out_swizzle) < p.inner());
  }
  const Swizzle layout = p.consume == Consume::staged ? p.out_swizzle : p.swizzle;
  const bool dense = layout == Swizzle::none;
  const bool add = dice.chance(30), bulk = dense && dice.chance(50);
  p.store = bulk ? (add ? Store::bulk_add : Store::bulk) : (add ? Store::tensor_add : Store::tensor);
  p.buffers = dice.between(1, 3);
  p.drain_reads_only = dice.chance(40);
}

}  // namespace

unsigned Pipeline::full_count() const {
  switch (signal) {
    case Signal::bytes:
      return split_boxes ? 2 : 1;
    case Signal::warps:
      return filler_threads() / 32;
    default:
      return filler_threads();
  }
}

unsigned Pipeline::empty_count() const {
  const unsigned here = release == Release::threads ? consumer_threads()
                        : release == Release::warps ? consumers
                                                    : 1;
  return cluster ? 2 * here : here;
}

Pipeline random_pipeline(uint64_t seed) {
  Dice dice(seed);
  Pipeline p;
  p.seed = seed;
  p.role = dice.chance(60) ? Role::specialised : Role::everybody;
  static constexpr Load kLoads[] = {Load::tensor, Load::tensor, Load::bulk, Load::cp_async, Load::stores};
  p.load = dice.of(kLoads);
  p.cluster = p.role == Role::specialised && p.engine() && dice.chance(25);
  p.ctas = p.cluster || dice.chance(20) ? 2 : 1;
  p.consumers = dice.between(1, 3);
  p.producers = p.role == Role::specialised && !p.cluster && dice.chance(25) ? 2 : 1;
  p.producers_first = dice.chance(50);
  p.boxes = p.cluster ? 2 : dice.chance(35) ? 2 : 1;
  p.stages = dice.between(1, 6);
  // Mostly so many rounds that stages are filled again, at times fewer rounds than stages.
  p.rounds = dice.chance(20) ? dice.between(1, p.stages) : p.stages + dice.between(1, p.stages + 2);
  if (p.load != Load::bulk && dice.chance(20)) {
    p.consume = Consume::multiply;
    p.consumers = 4 * dice.between(1, 2);
    p.producers_first = false;  // the warps of a warpgroup begin at a multiple of four
    p.stages = std::min(p.stages, 4u);
    p.rounds = std::min(p.rounds, 2 * p.stages + 2);
  }
  choose_tile(p, dice);
  choose_tensor(p, dice);
  choose_full(p, dice);
  static constexpr Release kReleases[] = {Release::threads, Release::warps, Release::one};
  p.release = dice.of(kReleases);
  if (p.role == Role::everybody)
    p.empty = dice.chance(50) ? Link::block : Link::mbarrier;
  else if (!p.cluster && !p.take_turns && dice.chance(20))
    p.empty = Link::named;
  if (p.empty == Link::named) p.whole_warp = true;
  if (p.full == Link::named && p.empty == Link::mbarrier && dice.chance(60)) p.empty = Link::named;
  p.first_wait = dice.chance(60);
  p.test_wait = dice.chance(30);
  choose_consume(p, dice);
  p.relaxed_start = dice.chance(50);
  // .cta is enough where only wgmma has read: its reads are over, there is nothing to make visible.
  p.default_scopes = p.multiplies() && dice.chance(50);
  p.init_fence = dice.chance(30);
  p.drain_empties = dice.chance(40);
  return p;
}

std::string describe(const Pipeline& p) {
  auto n = [](uint64_t v) { return std::to_string(v); };
  static const char* kLoad[] = {"tensor copies", "bulk copies", "cp.async", "st.shared"};
  static const char* kLink[] = {"an mbarrier", "a named barrier", "the block's barrier"};
  static const char* kSignal[] = {"expected bytes", "cp.async.mbarrier.arrive.noinc",
                                  "cp.async.mbarrier.arrive and an arrive", "every thread",
                                  "lane 0 of a warp"};
  static const char* kAnnounce[] = {"arrive.expect_tx, copies", "copies, arrive.expect_tx",
                                    "expect_tx, copies, arrive", "copies, expect_tx, arrive",
                                    "expect_tx before each copy, arrive"};
  static const char* kRelease[] = {"every consumer", "lane 0 of each consumer warp",
                                   "one thread after a barrier of the consumers"};
  static const char* kConsume[] = {"hash", "copy to global memory", "change in place and store",
                                   "change into a buffer and store", "multiply"};
  static const char* kStore[] = {"bulk store", "tensor store", "bulk reduction", "tensor reduction"};
  std::string t = "seed " + n(p.seed) + "\n";
  auto row = [&](const char* label, const std::string& value) {
    t += std::string("  ") + label + "  " + value + "\n";
  };
  row("roles   ", p.role == Role::everybody
                      ? n(p.consumers) + " warps that fill and use"
                      : n(p.producers) + " producer warps" + (p.split_boxes ? ", a box each" : "") +
                            (p.take_turns ? ", taking turns" : "") +
                            (p.whole_warp ? ", all lanes wait" : "") + (p.elect ? ", elect.sync" : "") +
                            "; " + n(p.consumers) + " consumer warps; " +
                            (p.producers_first ? "producers first" : "consumers first"));
  row("grid    ", n(p.ctas) + " CTAs" + (p.cluster ? ", one cluster, multicast" : "") +
                      (p.cluster && p.default_scopes ? ", default scopes" : ""));
  row("ring    ", n(p.stages) + " stages, " + n(p.rounds) + " rounds");
  row("tile    ", n(p.boxes) + " boxes of " + n(p.rows()) + " rows of " + n(p.inner()) + " bytes (" +
                      emu::name_of(p.type) + ", rank " + n(p.rank) + "), swizzle " + emu::name_of(p.swizzle) +
                      (p.relative ? ", undone from the box's start" : ", undone by absolute address"));
  row("load    ", std::string(kLoad[static_cast<int>(p.load)]) +
                      (p.engine() ? "" : " of " + n(p.fill_unit) + " bytes") +
                      (p.load == Load::tensor
                           ? "; first box at " + std::to_string(p.offset[0]) + "," +
                                 std::to_string(p.offset[1]) + "," + std::to_string(p.offset[2]) +
                                 " of a tensor of " + n(p.size[0]) + "," + n(p.size[1]) + "," + n(p.size[2])
                           : ""));
  row("full    ", std::string(kLink[static_cast<int>(p.full)]) + ", by " +
                      kSignal[static_cast<int>(p.signal)] +
                      (p.engine() ? std::string(": ") + kAnnounce[static_cast<int>(p.announce)] : "") +
                      (p.groups() ? ", groups left " + n(p.groups_left()) : ""));
  row("empty   ", std::string(kLink[static_cast<int>(p.empty)]) + ", by " +
                      kRelease[static_cast<int>(p.release)] +
                      (p.first_wait ? ", waited for from the start" : ""));
  row("wait    ", p.test_wait ? "test_wait" : "try_wait");
  row("consume ",
      std::string(kConsume[static_cast<int>(p.consume)]) + ", " + n(p.read_unit) + " bytes a read" +
          (p.stores_out() ? std::string(", ") + kStore[static_cast<int>(p.store)] : "") +
          (p.consume == Consume::staged
               ? ", " + n(p.buffers) + " buffers, swizzle " + emu::name_of(p.out_swizzle)
               : "") +
          (p.late_release ? ", handed back one round later" : "") + (p.one_fence ? ", one wgmma.fence" : ""));
  return t;
}

}  // namespace fuzz
