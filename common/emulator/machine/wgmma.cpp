#include "emulator/machine/wgmma.hpp"

#include <algorithm>
#include <cstring>

namespace emu {

// ---- descriptors

MatrixDescriptor MatrixDescriptor::from(uint64_t bits) {
  const auto field = [bits](int low) { return static_cast<uint32_t>(bits >> low & 0x3FFF) << 4; };
  static constexpr Swizzle kModes[4] = {Swizzle::none, Swizzle::span128, Swizzle::span64, Swizzle::span32};
  constexpr uint64_t kUsed = 0x3FFFull | 0x3FFFull << 16 | 0x3FFFull << 32 | 7ull << 49 | 3ull << 62;
  MatrixDescriptor d;
  d.bits = bits;
  d.start = field(0);
  d.leading = field(16);
  d.stride = field(32);
  d.base_offset = static_cast<uint32_t>(bits >> 49 & 7);
  d.swizzle = kModes[bits >> 62];
  d.unused_bits = (bits & ~kUsed) != 0;
  return d;
}

std::string MatrixDescriptor::text() const {
  return "descriptor " + hex(bits) + ": start " + hex(start) + ", leading offset " + std::to_string(leading) +
         ", stride offset " + std::to_string(stride) + ", swizzle " + name_of(swizzle) +
         (base_offset ? ", base offset " + std::to_string(base_offset) : "");
}

namespace {

// Calls f(address) for every chunk, in the order of the operand image.
template <class F>
void for_each_chunk(const MatrixDescriptor& d, bool mn_major, int first_row, int rows, F f) {
  const uint32_t span = swizzle_span(d.swizzle);
  if (!mn_major) {
    const uint32_t pitch = span ? span : kChunkBytes, step = span ? kChunkBytes : d.leading;
    for (int row = first_row; row < first_row + rows; ++row)
      for (uint32_t c = 0; c < 2; ++c) {
        const uint32_t r = static_cast<uint32_t>(row);
        f(d.place(d.start + r % 8 * pitch + r / 8 * d.stride + c * step));
      }
    return;
  }
  // Chunks of 8 rows; a swizzled line holds `width` of them.
  const uint32_t width = span ? span / kChunkBytes : 1;
  const uint32_t next_line = span ? d.leading : d.stride, next_k = span ? d.stride : d.leading;
  for (uint32_t k = 0; k < 16; ++k)
    for (int row = first_row; row < first_row + rows; row += 8) {
      const uint32_t group = static_cast<uint32_t>(row) / 8;
      f(d.place(d.start + group % width * kChunkBytes + group / width * next_line +
                k % 8 * width * kChunkBytes + k / 8 * next_k));
    }
}

void find_places(const MatrixDescriptor& d, bool mn_major, int first_row, int rows, OperandPlaces& places) {
  places.chunks.clear();
  places.ranges.clear();
  for_each_chunk(d, mn_major, first_row, rows, [&](uint32_t address) { places.chunks.push_back(address); });
  std::vector<uint32_t> sorted = places.chunks;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  places.lowest = sorted.front();
  places.highest = sorted.back();
  for (size_t i = 0; i < sorted.size();) {
    size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + kChunkBytes) ++end;
    places.ranges.push_back({sorted[i], static_cast<uint32_t>(end - i) * kChunkBytes});
    i = end;
  }
}

}  // namespace

// Loops go through a few operands again and again: the latest answers are kept.
const OperandPlaces& operand_places(const MatrixDescriptor& d, bool mn_major, int first_row, int rows) {
  static thread_local std::array<OperandPlaces, 256> all;
  const uint64_t which =
      static_cast<uint64_t>(first_row) << 32 | static_cast<uint64_t>(rows) << 1 | uint64_t{mn_major};
  OperandPlaces& known = all[(d.bits * 0x9E3779B97F4A7C15 ^ which * 0xC2B2AE3D27D4EB4F) >> 56];
  static_assert(all.size() == 256);
  if (known.bits != d.bits || known.rows != which) {
    find_places(d, mn_major, first_row, rows, known);
    known.bits = d.bits;
    known.rows = which;
  }
  return known;
}

void operand_ranges(const MatrixDescriptor& d, bool mn_major, int first_row, int rows, Cta* cta,
                    std::vector<MemoryRange>& out) {
  for (const auto& [address, bytes] : operand_places(d, mn_major, first_row, rows).ranges)
    out.push_back({Space::shared, cta, address, bytes});
}

namespace {

[[noreturn]] void operand_out_of_bounds(Warp& w, const Inst& in, const MatrixDescriptor& d, const char* name,
                                        uint32_t address) {
  Finding f(Id::out_of_bounds);
  f.title = std::string("a wgmma reads its operand ") + name + " outside shared memory";
  f.state = "shared address " + hex(address) + "; this CTA has " + hex(kSharedBase) + " to " +
            hex(w.cta.shared.size()) + "; the descriptor starts in " + w.program.shared_name(d.start);
  f.why = d.text();
  f.hint =
      "check the descriptor's start and offsets: they are in units of 16 bytes, and their meaning depends on "
      "the swizzle and the major-ness";
  w.fault(in, 0, f);
}

}  // namespace

void read_operand(Warp& w, const Inst& in, const MatrixDescriptor& d, bool mn_major, int first_row, int rows,
                  const char* name, std::vector<uint8_t>& image) {
  if (d.unused_bits)
    w.fault(in, 0, Id::descriptor_unused_bits,
            std::string("the matrix descriptor of ") + name + " has unused bits set", d.text(),
            "shift every field to its place and mask it to its 14 bits (PTX ISA 9.7.15.5.1.2.2)");
  const OperandPlaces& places = operand_places(d, mn_major, first_row, rows);
  if (!w.cta.shared_at(places.lowest, kChunkBytes) || !w.cta.shared_at(places.highest, kChunkBytes))
    for (uint32_t address : places.chunks)
      if (!w.cta.shared_at(address, kChunkBytes)) operand_out_of_bounds(w, in, d, name, address);
  image.resize(places.chunks.size() * kChunkBytes);
  uint8_t* to = image.data();
  const std::byte* shared = w.cta.shared.data();
  for (uint32_t address : places.chunks) {
    std::memcpy(to, shared + address, kChunkBytes);
    to += kChunkBytes;
  }
}

// ---- the warpgroups of a CTA

namespace {

Warpgroup& warpgroup_of(const Warp& w) {
  return w.cta.warpgroups[static_cast<size_t>(w.index / 4)];
}
Warpgroup::Quarter& quarter_of(const Warp& w) {
  return warpgroup_of(w).quarters[static_cast<size_t>(w.index % 4)];
}

std::string warp_text(const Warp& w, size_t quarter) {
  return "warp " + std::to_string(w.index / 4 * 4 + static_cast<int>(quarter));
}

}  // namespace

namespace {
constexpr const char* kAllTogether =
    "wgmma and setmaxnreg are .sync.aligned: all 128 threads of a warpgroup execute the same one";
constexpr const char* kWholeWarpgroups =
    "let whole warpgroups (4 warps, the first a multiple of 4) take the same branch";
}  // namespace

void check_warpgroup(Warp& w, const Inst& in, uint32_t mask) {
  if (mask != ~0u)
    w.fault(in, __builtin_ctz(mask), Id::wgmma_not_converged,
            "only " + std::to_string(__builtin_popcount(mask)) +
                " of the 32 lanes of a warp reach a warpgroup instruction",
            kAllTogether, kWholeWarpgroups);
  const size_t first = static_cast<size_t>(w.index) / 4 * 4;
  if (first + 4 > w.cta.warps.size())
    w.fault(in, 0, Id::wgmma_not_converged,
            "the warpgroup has only " + std::to_string(w.cta.warps.size() - first) + " warps", kAllTogether,
            kWholeWarpgroups);
}

WgmmaOp& enter_wgmma(Warp& w, const Inst& in, uint64_t a_bits, uint64_t b_bits, const WgmmaShape& shape) {
  w.cta.warpgroups.resize(w.cta.warps.size() / 4);
  Warpgroup& group = warpgroup_of(w);
  Warpgroup::Quarter& quarter = quarter_of(w);
  for (size_t q = 0; q < 4; ++q)
    if (group.quarters[q].issued <= quarter.issued &&
        w.cta.warps[static_cast<size_t>(w.index) / 4 * 4 + q]->finished())
      w.fault(in, 0, Id::wgmma_not_converged,
              "a warp reaches a wgmma that " + warp_text(w, q) +
                  " of its warpgroup, which has exited, did not issue",
              kAllTogether, kWholeWarpgroups);
  WgmmaRecord& record = group.records[quarter.issued % group.records.size()];
  if (quarter.issued == group.first) {  // the first warp to get here
    ++group.first;
    record = {&in, a_bits, b_bits};
  } else if (group.first - quarter.issued <= group.records.size()) {
    if (record.inst != &in)
      w.fault(in, 0, Id::wgmma_not_converged, "the warps of a warpgroup execute different wgmma instructions",
              "another warp of this warpgroup is at " + w.program.line_of(*record.inst).text(),
              "let all four warps of a warpgroup take the same branches");
    if (record.a != a_bits || record.b != b_bits)
      w.fault(in, 0, Id::wgmma_descriptor_differs,
              "the warps of a warpgroup pass different matrix descriptors to one wgmma",
              "this warp: " + MatrixDescriptor::from(record.a != a_bits ? a_bits : b_bits).text() +
                  "; another one: " + MatrixDescriptor::from(record.a != a_bits ? record.a : record.b).text(),
              "compute descriptors from the warpgroup's number, not from the warp's or the thread's");
  }
  WgmmaOp& op = w.machine.engine->take<WgmmaOp>();
  op.kind = AsyncOp::Kind::wgmma;
  op.grouped = true;
  op.group = GroupKind::wgmma;
  op.warp = &w;
  op.inst = &in;
  op.lanes = ~0u;
  op.shape = shape;
  op.a = MatrixDescriptor::from(a_bits);
  op.b = MatrixDescriptor::from(b_bits);
  op.quarter = w.index % 4;
  op.warpgroup = w.index / 4;
  op.ordinal = quarter.issued++;
  op.frame = w.current->frame;
  return op;
}

void commit_wgmma_group(Warp& w) {
  w.machine.engine->groups(w, GroupKind::wgmma).commit(~0u);
  if (w.cta.warpgroups.empty()) return;
  if (warpgroup_of(w).idle()) warpgroup_of(w).forget_commits();
  quarter_of(w).commits.push_back(quarter_of(w).issued);
}

uint64_t wgmma_to_wait_for(const Warp& w, uint32_t newest) {
  if (w.cta.warpgroups.empty()) return 0;
  const auto& commits = quarter_of(w).commits;
  return commits.size() > newest ? commits[commits.size() - 1 - newest] : 0;
}

bool wgmma_finished(const Warp& w, uint64_t target) {
  if (target == 0) return true;
  for (const auto& q : warpgroup_of(w).quarters)
    if (q.finished < target) return false;
  return true;
}

std::string describe_wgmma_wait(const Warp& w, uint64_t target) {
  std::string text = "the wgmma of a warpgroup finish together";
  const auto& quarters = warpgroup_of(w).quarters;
  for (size_t q = 0; q < 4; ++q)
    if (quarters[q].issued < target)
      text += "; " + warp_text(w, q) + " has issued " + std::to_string(target - quarters[q].issued) +
              " fewer than this warp waits for";
  return text;
}

// ---- the operation

const std::vector<Ref>& WgmmaOp::registers() const {
  return inst->extra->refs;
}

void WgmmaOp::sources(std::vector<MemoryRange>& out) const {
  if (!shape.a_in_registers) operand_ranges(a, shape.a_mn_major, quarter * 16, 16, &warp->cta, out);
  operand_ranges(b, shape.b_mn_major, 0, shape.n, &warp->cta, out);
}

bool WgmmaOp::may_start() const {
  return ordinal == quarter_of(*warp).finished;
}

void WgmmaOp::changed(uint32_t address, const char* name) const {
  if (warp->finished())
    warp->fault(*inst, 0, Id::exit_before_drain, "the kernel ends while a wgmma is in flight",
                "no wgmma.wait_group covers it", "commit it and wait for its group before the kernel ends");
  Finding f(Id::overwritten_while_read);
  f.title = std::string("shared memory that a wgmma reads as operand ") + name +
            " was overwritten before it had finished";
  f.state = warp->program.shared_name(address) + " (shared address " + hex(address) + ")";
  f.why = "a wgmma reads its operands at any time between its issue and the wgmma.wait_group that covers it";
  f.hint =
      "wait for the wgmma's group in all readers before the tile is handed back, and let the writer wait for "
      "that";
  warp->fault(*inst, 0, f);
}

void WgmmaOp::compare(const MatrixDescriptor& d, bool mn_major, int first_row, int rows,
                      const std::vector<uint8_t>& image, const char* name) const {
  const OperandPlaces& places =
      operand_places(d, mn_major, first_row, rows);  // all of them are there: they were read
  const std::byte* shared = warp->cta.shared.data();
  const uint8_t* then = image.data();
  uint64_t difference = 0;
  for (uint32_t address : places.chunks) {
    uint64_t a[2], b[2];
    std::memcpy(a, shared + address, kChunkBytes);
    std::memcpy(b, then, kChunkBytes);
    difference |= (a[0] ^ b[0]) | (a[1] ^ b[1]);
    then += kChunkBytes;
  }
  if (!difference) return;
  then = image.data();
  for (uint32_t address : places.chunks) {
    if (std::memcmp(shared + address, then, kChunkBytes) != 0) changed(address, name);
    then += kChunkBytes;
  }
}

void WgmmaOp::read() {
  if (!shape.a_in_registers) compare(a, shape.a_mn_major, quarter * 16, 16, a_image, "A");
  compare(b, shape.b_mn_major, 0, shape.n, b_image, "B");
}

void WgmmaOp::complete() {
  ++quarter_of(*warp).finished;
}

}  // namespace emu
