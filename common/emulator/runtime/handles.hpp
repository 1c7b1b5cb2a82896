// Streams, events, allocations and the memory pool: what stands behind the opaque handles.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <set>

#include "emulator/machine/memory.hpp"

namespace emu::runtime {

// Work is done when it is issued, so a stream has nothing to hold but what was asked for.
struct Stream {
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
};

struct Event {
  unsigned flags = 0;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
};

// True for the default streams (0, cudaStreamLegacy, cudaStreamPerThread) and for streams that live.
bool valid_stream(cudaStream_t stream);
bool valid_event(cudaEvent_t event);

cudaMemPool_t default_pool();

// Gives an allocation back, whichever call made it. `a` is gone afterwards.
void release_allocation(GlobalMemory& memory, const Allocation& a);

}  // namespace emu::runtime
