// What a launch must keep: shapes, the kernel's bounds, shared memory, clusters, residency. Each rule once, for the runtime
// calls of the emulator and for its machine. The answers, and
// which of two mistakes is answered, are those of an H200 (checks/recorded/launch_limits.txt).
#pragma once

#include <cstdint>
#include <vector>

#include "rules/broken.hpp"

namespace rules {

struct Extent {
  uint32_t x = 0, y = 0, z = 0;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

struct LaunchArguments {
  Extent grid, block;
  Extent cluster;  // zeros: the launch gives none
  uint64_t dynamic_shared = 0;
  bool cooperative = false;  // all blocks must be resident at once

  // The kernel's, as it was compiled and by its attributes. Zeros: no such bound.
  uint64_t static_shared = 0;
  uint64_t allowed_dynamic_shared = 0;  // cudaFuncAttributeMaxDynamicSharedMemorySize
  Extent max_threads;                   // __launch_bounds__
  Extent required_threads;              // __block_size__, .reqntid
  Extent required_cluster;              // __cluster_dims__
  bool explicit_cluster = false;        // it must be launched with a cluster, of any size
  bool non_portable_cluster = false;    // cudaFuncAttributeNonPortableClusterSizeAllowed
};

// The code of the refusal, by the runtime's name for it.
enum class LaunchError { invalid_value, invalid_cluster_size, cooperative_too_large };

struct BrokenLaunch : Broken {
  LaunchError error = LaunchError::invalid_value;
};

// Every rule that the launch breaks, in the order in which they are looked at: the first one is the answer.
std::vector<BrokenLaunch> broken_rules(const LaunchArguments& arguments);

// Dynamic shared memory that the kernel may be launched with, as its attribute stands.
uint64_t allowed_dynamic_shared(const LaunchArguments& arguments);

// Blocks that one multiprocessor holds, by threads and shared memory; 0 when not even one. Registers are not known.
int blocks_per_multiprocessor(uint64_t threads, uint64_t shared_bytes);

}  // namespace rules
