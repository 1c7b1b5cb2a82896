// What a pipeline is given and what it must compute, written from the description alone.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline.hpp"

namespace fuzz {

// The bytes of the input: a tensor as its map describes it, or the tiles in a row.
std::vector<uint8_t> input_of(const Pipeline& p);
std::vector<uint8_t> expected(const Pipeline& p, const std::vector<uint8_t>& input);

// The tensor maps (128 bytes each): of the input, and of the output that tensor stores write. `swizzle`: the input
// map's, as given or as mistaken. Zeros where the pipeline needs no map.
std::vector<uint8_t> input_map(const Pipeline& p, uint64_t address, emu::Swizzle swizzle);
std::vector<uint8_t> output_map(const Pipeline& p, uint64_t address);

// Whether a map with this pattern can be made for the pipeline's box.
bool can_encode(const Pipeline& p, emu::Swizzle swizzle);

// Whether some consumer finds something else when the copies lay the tile out by the pattern `written`, `shift` bytes off
// its place, and the consumers read it by the pattern `read`.
bool reads_differ(const Pipeline& p, emu::Swizzle written, emu::Swizzle read, uint32_t shift);

// Whether the bytes of some box differ from those of the one after it.
bool boxes_differ(const Pipeline& p);

}  // namespace fuzz
