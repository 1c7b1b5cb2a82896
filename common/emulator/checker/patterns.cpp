// Swizzles: the pattern that brought a tile against the pattern of whoever reads it.
#include "emulator/checker/checker.hpp"
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

void Checker::check_tile_alignment(const std::vector<MemoryRange>& box, uint32_t op, const Accessor& who) {
  if (box.empty()) return;
  uint64_t first = box[0].address, end = first, bytes = 0;
  for (auto& r : box) {
    first = std::min(first, r.address);
    end = std::max(end, r.address + r.bytes);
    if (r.owner == box[0].owner) bytes += r.bytes;
  }
  ops_[op].tile = static_cast<uint32_t>(first) & ~127u;
  // Rows that fill the span start where the box does: at a multiple of 128.
  ops_[op].dense = bytes == end - first && first % 128 == 0;
  const Swizzle s = ops_[op].swizzle;
  const uint32_t period = swizzle_period(s);
  if (!period || ops_[op].tile % period == 0) return;
  Finding f(Id::misaligned_tile);
  f.make_milder();
  f.title = "a swizzled tile does not start where its pattern starts";
  f.state = program_->shared_name(ops_[op].tile) + " at " + hex(ops_[op].tile) + " is " +
            std::to_string(ops_[op].tile % period) + " mod " + std::to_string(period);
  f.why = std::string("The ") + name_of(s) + " pattern repeats every " + std::to_string(period) +
          " bytes of the absolute shared address: row r of this tile is permuted as row r + " +
          std::to_string(ops_[op].tile % period / 128) +
          ". wgmma reads it right; a reader that counts rows from the tile does not.";
  f.hint = "align the tile to " + std::to_string(period) + " bytes";
  report(f, who, -1);
}

// The pattern in the operand's descriptor against the pattern of the map that brought its bytes.
void Checker::check_wgmma_swizzle(AsyncOp& op, const Accessor& who) {
  auto& mma = static_cast<WgmmaOp&>(op);
  auto check = [&](const MatrixDescriptor& d, const char* name) {
    Shadow& shadow = *who.cta->shadow;
    if (d.start >= shadow.size()) return;
    const Record& r = records_.of(shadow.writes()[d.start]);
    if (r.kind != Record::Kind::op || ops_[r.detail].kind != AsyncOp::Kind::tensor_load) return;
    const OpState& copy = ops_[r.detail];
    if (copy.swizzle == d.swizzle) return;
    Finding f(Id::swizzle_mismatch);
    f.title = std::string("wgmma reads ") + name + " with the " + name_of(d.swizzle) +
              " pattern, but the tensor map that brought it has " + name_of(copy.swizzle);
    f.state = "descriptor: " + d.text() + "; " + program_->shared_name(d.start);
    f.why =
        "The copy engine permutes the 16-byte chunks of the tile as the map says; a reader that undoes "
        "another pattern finds other elements.";
    f.hint =
        "give the map and the descriptor the same swizzle; mind that their codes differ (map 3 is descriptor "
        "1: 128B)";
    report(f, who, copy.source);
  };
  if (!mma.shape.a_in_registers) check(mma.a, "A");
  check(mma.b, "B");
}

// A full warp reads bytes that a tensor copy brought. If its addresses are an even walk through the tile under another
// pattern than the map's (and not under the map's own), the reader undoes the wrong pattern.
void Checker::check_reader_swizzle(Warp& w, const AccessEvent& e, const Accessor& who) {
  if (e.mask != 0xFFFFFFFFu || e.kind != AccessKind::read || e.space != Space::shared || e.bytes < 4) return;
  if (e.owner[0] != &w.cta) return;
  Shadow& shadow = *who.cta->shadow;
  const Record& r = records_.of(shadow.writes()[e.addr[0]]);
  if (r.kind != Record::Kind::op || ops_[r.detail].kind != AsyncOp::Kind::tensor_load) return;
  const OpState& copy = ops_[r.detail];
  // Lanes whose walk goes on from the lane before in the same box. Boxes need not be neighbours, and rows shorter than the
  // pattern's span leave gaps: there an uneven step says nothing.
  if (!copy.dense) return;
  bool even = true;
  uint32_t box = r.detail;
  for (int l = 1; l < 32; ++l) {
    const Record& other = records_.of(shadow.writes()[e.addr[l]]);
    if (other.kind != Record::Kind::op || ops_[other.detail].source != copy.source ||
        !ops_[other.detail].dense)
      return;
    if (other.detail == box)
      even = even && swizzled(copy.swizzle, static_cast<uint32_t>(e.addr[l])) ==
                         swizzled(copy.swizzle, static_cast<uint32_t>(e.addr[l - 1])) + e.bytes;
    box = other.detail;
  }
  if (even) return;
  for (bool relative : {false, true})
    for (Swizzle p : kPatterns) {
      const uint32_t base = relative ? copy.tile : 0;
      if (p == copy.swizzle && !(relative && copy.tile % 1024)) continue;
      if (p == Swizzle::none || !regular(e.addr, p, base, e.bytes)) continue;
      Finding f(Id::swizzle_mismatch);
      f.title = p == copy.swizzle
                    ? "threads undo the swizzle counted from the tile, but the tile does not start where the "
                      "pattern starts"
                    : std::string("threads read the tile with the ") + name_of(p) +
                          " pattern, but the tensor map that brought it has " + name_of(copy.swizzle);
      f.state = "tile at " + program_->shared_name(copy.tile) + " (" + hex(copy.tile) + ")";
      f.why =
          "The copy engine permutes 16-byte chunks by bits of the absolute shared address, as the map says; "
          "a reader that undoes another pattern finds other elements.";
      f.hint =
          p == copy.swizzle
              ? "align the tile to the period of its pattern (1024 bytes for 128B)"
              : "use the map's pattern: chunk ^ ((address / 128) % 8) for 128B, % 4 for 64B, % 2 for 32B";
      report(f, who, copy.source);
      return;
    }
}

}  // namespace emu::check
