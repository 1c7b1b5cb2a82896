#include "emulator/checker/swizzles.hpp"

#include <iterator>

#include "emulator/machine/wgmma.hpp"

namespace emu::check {

namespace {
constexpr Swizzle kPatterns[] = {Swizzle::none, Swizzle::span32, Swizzle::span64, Swizzle::span128};

// Lanes whose logical addresses step evenly, in runs as long as the warp's rows: what a thread means to read.
bool regular(const uint64_t* address, Swizzle p, uint32_t base, uint32_t step) {
  int even = 0;
  for (int l = 0; l < 32; ++l) {
    const uint32_t here = swizzled(p, static_cast<uint32_t>(address[l]) - base);
    if (l && here == swizzled(p, static_cast<uint32_t>(address[l - 1]) - base) + step) ++even;
  }
  return even == 31;
}
}  // namespace

void SwizzleRule::copy_issued(const std::vector<MemoryRange>& box, Operation& op, const Accessor& who) {
  if (box.empty()) return;
  uint64_t first = box[0].address, end = first, bytes = 0;
  for (auto& r : box) {
    first = std::min(first, r.address);
    end = std::max(end, r.address + r.bytes);
    if (r.owner == box[0].owner) bytes += r.bytes;
  }
  op.tile = static_cast<uint32_t>(first) & ~127u;
  // Rows that fill the span start where the box does: at a multiple of 128.
  op.dense = bytes == end - first && first % 128 == 0;
  const uint32_t period = swizzle_period(op.swizzle);
  if (!period || op.tile % period == 0) return;
  Finding f(Id::misaligned_tile);
  f.make_milder();
  f.title = "a swizzled tile does not start where its pattern starts";
  f.state = text(tell_.program().shared_name(op.tile), " at ", hex(op.tile), " is ", op.tile % period,
                 " mod ", period);
  f.why = text("The ", name_of(op.swizzle), " pattern repeats every ", period,
               " bytes of the absolute shared address: row r of this tile is permuted as row r + ",
               op.tile % period / 128,
               ". wgmma reads it right; a reader that counts rows from the tile does not.");
  f.hint = text("align the tile to ", period, " bytes");
  tell_.tell(std::move(f), who);
}

// The tensor copy that brought the byte; null when it was somebody else.
const Operation* SwizzleRule::tensor_copy_to(const Cta& cta, uint64_t address) {
  const Operation* op = past_.operation(accesses_.writer(cta, address));
  return op && op->kind == AsyncOp::Kind::tensor_load ? op : nullptr;
}

// The pattern in an operand's descriptor against the pattern of the map that brought its bytes.
void SwizzleRule::check_operand(const MatrixDescriptor& d, const char* name, const Accessor& who) {
  const Operation* copy = tensor_copy_to(who.cta(), d.start);
  if (!copy || copy->swizzle == d.swizzle) return;
  Finding f(Id::swizzle_mismatch);
  f.title = text("wgmma reads ", name, " with the ", name_of(d.swizzle),
                 " pattern, but the tensor map that brought it has ", name_of(copy->swizzle));
  f.state = "descriptor: " + d.text() + "; " + tell_.program().shared_name(d.start);
  f.why =
      "The copy engine permutes the 16-byte chunks of the tile as the map says; a reader that undoes another "
      "pattern finds other elements.";
  f.hint =
      "give the map and the descriptor the same swizzle; mind that their codes differ (map 3 is descriptor 1: "
      "128B)";
  tell_.tell(std::move(f), who, copy->source);
}

void SwizzleRule::wgmma_issued(const AsyncOp& op, const Accessor& who) {
  auto& mma = static_cast<const WgmmaOp&>(op);
  if (!mma.shape.a_in_registers) check_operand(mma.a, "A", who);
  check_operand(mma.b, "B", who);
}

// A full warp reads bytes that a tensor copy brought. If its addresses are an even walk through the tile under another
// pattern than the map's (and not under the map's own), the reader undoes the wrong pattern.
void SwizzleRule::warp_reads(const AccessEvent& e, const Accessor& who) {
  if (e.mask != 0xFFFFFFFFu || e.kind != AccessKind::read || e.space != Space::shared) return;
  if (e.owner[0] != &who.cta()) return;
  const Operation* copy = tensor_copy_to(who.cta(), e.addr[0]);
  // Lanes whose walk goes on from the lane before in the same box. Boxes need not be neighbours, and rows shorter than the
  // pattern's span leave gaps: there an uneven step says nothing.
  if (!copy || !copy->dense) return;
  bool even = true;
  const Operation* box = copy;
  for (int l = 1; l < 32; ++l) {
    const Operation* other = tensor_copy_to(who.cta(), e.addr[l]);
    if (!other || other->source != copy->source || !other->dense) return;
    if (other == box)
      even = even && swizzled(copy->swizzle, static_cast<uint32_t>(e.addr[l])) ==
                         swizzled(copy->swizzle, static_cast<uint32_t>(e.addr[l - 1])) + e.bytes;
    box = other;
  }
  if (e.bytes < 4) return follow(e, who, *copy);
  if (even) return;
  for (bool relative : {false, true})
    for (Swizzle p : kPatterns) {
      if (p == copy->swizzle && !(relative && copy->tile % 1024)) continue;
      if (p == Swizzle::none || !regular(e.addr, p, relative ? copy->tile : 0, e.bytes)) continue;
      return tell_reader(who, *copy, p);
    }
}

void SwizzleRule::follow(const AccessEvent& e, const Accessor& who, const Operation& copy) {
  constexpr uint32_t kEnough = 3;  // walks that go on from each other under one pattern, and not by chance
  Walks& w = walks_.of(who.warp());
  if (w.source != who.inst->source || w.tile != copy.tile) {
    w = Walks();
    w.source = who.inst->source;
    w.tile = copy.tile;
  }
  for (size_t i = 0; i < std::size(kPatterns); ++i) {
    const uint32_t begin = swizzled(kPatterns[i], static_cast<uint32_t>(e.addr[0]));
    const bool walks = regular(e.addr, kPatterns[i], 0, e.bytes);
    w.in_a_row[i] = !walks ? 0 : begin == w.next[i] ? w.in_a_row[i] + 1 : 0;
    w.next[i] = begin + 32 * e.bytes;
  }
  // The map's own pattern, or none (the bytes are wanted as they lie), explains this walk as well.
  for (size_t i = 0; i < std::size(kPatterns); ++i)
    if ((kPatterns[i] == copy.swizzle || kPatterns[i] == Swizzle::none) && w.in_a_row[i] > 0) return;
  for (size_t i = 0; i < std::size(kPatterns); ++i)
    if (w.in_a_row[i] >= kEnough) return tell_reader(who, copy, kPatterns[i]);
}

void SwizzleRule::tell_reader(const Accessor& who, const Operation& copy, Swizzle p) {
  const bool counted_from_tile = p == copy.swizzle;
  Finding f(Id::swizzle_mismatch);
  f.title =
      counted_from_tile
          ? "threads undo the swizzle counted from the tile, but the tile does not start where the pattern "
            "starts"
          : text("threads read the tile with the ", name_of(p),
                 " pattern, but the tensor map that brought it has ", name_of(copy.swizzle));
  f.state = text("tile at ", tell_.program().shared_name(copy.tile), " (", hex(copy.tile), ")");
  f.why =
      "The copy engine permutes 16-byte chunks by bits of the absolute shared address, as the map says; a reader "
      "that undoes another pattern finds other elements.";
  f.hint = counted_from_tile
               ? "align the tile to the period of its pattern (1024 bytes for 128B)"
               : "use the map's pattern: chunk ^ ((address / 128) % 8) for 128B, % 4 for 64B, % 2 for 32B";
  tell_.tell(std::move(f), who, copy.source);
}

}  // namespace emu::check
