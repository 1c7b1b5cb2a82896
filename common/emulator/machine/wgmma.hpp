// The asynchronous matrix product of a warpgroup (PTX ISA 9.7.15): matrix descriptors, where operand bytes lie, and
// the operation in flight.
//
// A wgmma belongs to four warps. Each of them computes its own 16 rows when it reaches the instruction, with the
// operand bytes of that moment, and puts the result into its registers at once. What stays open until the
// operation completes is the reading: the operand bytes are kept, and compared with shared memory when the schedule
// lets the operation finish; a difference is a finding. So the numbers of a right program are right under every
// schedule, also when the compiler renames (moves) accumulator registers between issue and wait, and a program that
// overwrites an operand in flight is told so even if its numbers came out right.
// A wait lets a warp go on when all four warps have issued, and finished, what the wait covers: that is what allows
// one thread of the warpgroup to hand a tile back for all.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/machine/async.hpp"
#include "emulator/machine/machine.hpp"
#include "emulator/machine/swizzle.hpp"

namespace emu {

// 64-bit matrix descriptor (PTX ISA 9.7.15.5.1.2.2). Offsets and addresses in bytes.
struct MatrixDescriptor {
  uint64_t bits = 0;
  uint32_t start = 0;        // bits 13:0, in units of 16 bytes: address in the shared window
  uint32_t leading = 0;      // bits 29:16: leading dimension byte offset
  uint32_t stride = 0;       // bits 45:32: stride dimension byte offset
  uint32_t base_offset = 0;  // bits 51:49: the 128-byte line, modulo 8, where the swizzle pattern starts
  Swizzle swizzle = Swizzle::none;
  bool unused_bits = false;  // a bit is set that has no meaning

  static MatrixDescriptor from(uint64_t bits);
  // Where the byte that belongs at `address` is: the pattern counts its lines from the base offset.
  uint32_t place(uint32_t address) const {
    const uint32_t in_pattern = address - base_offset * 128;
    return address ^ in_pattern ^ swizzled(swizzle, in_pattern);
  }
  std::string text() const;  // "start 0x400, leading 16, stride 1024, swizzle 128B"
};

constexpr uint32_t kChunkBytes = 16;  // swizzles move whole chunks
constexpr int kOperandRowBytes = 32;  // bytes along K of one row, of every type

// Where the 16-byte chunks of `rows` rows (M of A, N of B; a multiple of 8) from `first_row` lie in the shared window, in the
// order of the operand image.
//   K-major  (mn_major false): image[row][32 bytes]
//   MN-major (16-bit types):   image[k = 0..15][rows * 2 bytes]
struct OperandPlaces {
  uint64_t bits = 0, rows = 0;  // which descriptor, which rows; no rows: none
  std::vector<uint32_t> chunks;
  uint32_t lowest = 0, highest = 0;  // of them
  std::vector<std::pair<uint32_t, uint32_t>>
      ranges;  // address and length of the runs of such bytes, in order
};
const OperandPlaces& operand_places(const MatrixDescriptor& d, bool mn_major, int first_row, int rows);

// Appends the bytes of such rows as ranges of the CTA's shared window; neighbours are joined.
void operand_ranges(const MatrixDescriptor& d, bool mn_major, int first_row, int rows, Cta* cta,
                    std::vector<MemoryRange>& out);

// One wgmma.mma_async, decoded.
struct WgmmaShape {
  int n = 0, k = 0;
  Type a = Type::bf16, b = Type::bf16, d = Type::f32;
  bool a_in_registers = false;
  bool a_mn_major = false, b_mn_major = false;
  bool negate = false;    // one of the operands is negated
  bool saturate = false;  // .satfinite
};

// What one warp contributes to a wgmma of its warpgroup.
struct WgmmaOp : AsyncOp {
  WgmmaShape shape;
  MatrixDescriptor a, b;                  // a: only when it is in shared memory
  int quarter = 0;                        // warp in the warpgroup: rows 16 * quarter .. + 15 of A and D
  int warpgroup = 0;                      // in the CTA
  uint64_t ordinal = 0;                   // which wgmma of the warpgroup
  std::vector<uint8_t> a_image, b_image;  // operand bytes as the warp read them (see OperandPlaces)

  // Registers of the warp that it writes (D) and reads (A, the last four when shape.a_in_registers) until it
  // completes: slots of 32 four-byte lanes in the activation's frame at `frame` (Warp::frame_offset).
  const std::vector<Ref>& registers() const;
  uint32_t frame = 0;

  void sources(std::vector<MemoryRange>& out) const override;     // this warp's rows of A, all of B
  void destinations(std::vector<MemoryRange>&) const override {}  // registers only
  bool may_start() const override;                                // the wgmma of a warp finish in order
  void read() override;  // faults when an operand has changed since the warp read it
  void write() override {}
  void complete() override;
  bool touches(const Cta& cta) const override { return &warp->cta == &cta; }

 private:
  [[noreturn]] void changed(uint32_t address, const char* name) const;
  void compare(const MatrixDescriptor& d, bool mn_major, int first_row, int rows,
               const std::vector<uint8_t>& image, const char* name) const;
};

// ---- what the instructions of isa/wgmma.cpp use

// Copies operand rows out of shared memory. Faults (out-of-bounds, descriptor-unused-bits).
void read_operand(Warp& w, const Inst& in, const MatrixDescriptor& d, bool mn_major, int first_row, int rows,
                  const char* name, std::vector<uint8_t>& image);

// Enters a wgmma of this warp: checks that the warpgroup agrees, and returns the operation to fill in and issue().
WgmmaOp& enter_wgmma(Warp& w, const Inst& in, uint64_t a_bits, uint64_t b_bits, const WgmmaShape& shape);
void commit_wgmma_group(Warp& w);

// Waiting until at most `newest` groups of this warp are pending, in all four warps: so many wgmma of the warpgroup have to
// be finished then.
uint64_t wgmma_to_wait_for(const Warp& w, uint32_t newest);
bool wgmma_finished(const Warp& w, uint64_t target);
std::string describe_wgmma_wait(const Warp& w, uint64_t target);

// Fault "wgmma-not-converged" unless all 32 lanes of a warp of a whole warpgroup are here.
void check_warpgroup(Warp& w, const Inst& in, uint32_t mask);

}  // namespace emu
