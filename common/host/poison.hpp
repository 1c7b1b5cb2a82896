// Filling memory on the device: poison before a kernel runs, and the outputs of impostors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host/bf16.hpp"

namespace lab {

// A NaN that no conversion produces (those give 0x7FFF): an output element that still holds it was never written.
constexpr uint16_t kPoison = 0xFFFF;

// Sets `count` bf16 on the device to the bit pattern. Throws std::runtime_error when the launch fails.
void fill_bf16(bf16* out, size_t count, uint16_t bits);

// Fills the shared memory of every SM with NaN patterns, so that a kernel that reads shared memory nobody wrote gets
// NaN and not what the last kernel happened to leave. Throws std::runtime_error when the launch fails.
void poison_shared_memory();

}  // namespace lab
