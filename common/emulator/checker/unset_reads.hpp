// Which instructions may use a register before anything has set it: data flow over the decoded program. Most programs have none,
// and then nothing is looked at while they run.
#pragma once

#include <unordered_map>
#include <vector>

#include "emulator/program/program.hpp"

namespace emu::check {

// What an instruction makes of a register without a value.
enum class Use : uint8_t {
  sets,     // its results have a value all the same, or it is left open whether they have
  any,      // they have none when one of its sources has none: arithmetic
  all,      // when none of them has one: copies, selections, bits put together
  each,     // each when the source at its place has none: the accumulators of mma
  product,  // they have a value; its accumulators are used where scale-d holds: wgmma
  leaves,   // the value leaves the thread, or decides what it does
  address,  // the same of the address; of what it stores, when it has no value at all
};

struct WatchedInst {
  Use use = Use::sets;
  uint32_t function = 0;
  bool begins = false;         // the first instruction of a function that is called
  bool other_sources = false;  // registers that always have a value
  int32_t guard = -1;          // by their number among those of the function, like all here
  std::vector<uint32_t> address, sources, results;  // of Use::each, a source for each result
  // Of a product: fragments in registers, descriptors, scale-d; those of which nothing always has a value.
  std::vector<std::vector<uint32_t>> operands;
};
constexpr uint32_t kHasValue = UINT32_MAX;  // in place of a source that always has one

struct UnsetReads {
  std::vector<int32_t> at;                        // by pc: an index into `watched`, or -1
  std::vector<WatchedInst> watched;               // empty: no instruction can use such a register
  bool only_kernel = false;                       // no function that is called has any of them
  std::vector<uint32_t> registers;                // by function: how many are watched
  std::vector<std::vector<uint32_t>> parameters;  // by function: those of them that a call sets
};

UnsetReads unset_reads(const Program& program);

}  // namespace emu::check
