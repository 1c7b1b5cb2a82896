// The launches whose answers are recorded in launch_limits.txt: each limit, and the value beyond it.
#pragma once

#include <string>
#include <vector>

#include "rules/launch.hpp"

namespace recorded {

// The kernels of launch_limits.cu, none of which has shared memory of its own but `with_static`.
enum class LaunchKernel { plain, bounded, clustered, with_static };
constexpr uint32_t kBoundedThreads = 64, kClusteredBlocks = 2, kStaticBytes = 16 * 1024;

struct LaunchRow {
  std::string name;
  LaunchKernel kernel;
  rules::LaunchArguments launch;
};

inline rules::LaunchArguments launch_of(LaunchKernel kernel) {
  rules::LaunchArguments a;
  a.grid = {1, 1, 1};
  a.block = {32, 1, 1};
  if (kernel == LaunchKernel::bounded) a.max_threads = {kBoundedThreads, 1, 1};
  if (kernel == LaunchKernel::clustered) a.required_cluster = {kClusteredBlocks, 1, 1};
  if (kernel == LaunchKernel::clustered) a.grid.x = kClusteredBlocks;
  if (kernel == LaunchKernel::with_static) a.static_shared = kStaticBytes;
  return a;
}

inline std::vector<LaunchRow> launch_rows() {
  std::vector<LaunchRow> rows;
  const auto probe = [&](const std::string& name, LaunchKernel kernel, auto change) {
    rules::LaunchArguments a = launch_of(kernel);
    change(a);
    rows.push_back({name, kernel, a});
  };
  const auto text = [](rules::Extent e) {
    return std::to_string(e.x) + " x " + std::to_string(e.y) + " x " + std::to_string(e.z);
  };
  using K = LaunchKernel;
  using A = rules::LaunchArguments;
  using E = rules::Extent;

  for (E grid : {E{1, 1, 1}, E{1, 65535, 1}, E{1, 65536, 1}, E{1, 1, 65535}, E{1, 1, 65536}, E{70000, 1, 1},
                 E{2147483648u, 1, 1}, E{1, 0, 1}, E{1, 1, 0}})
    probe("grid " + text(grid), K::plain, [&](A& a) { a.grid = grid; });
  for (E block :
       {E{1, 1, 1}, E{1024, 1, 1}, E{1025, 1, 1}, E{1, 1024, 1}, E{1, 1025, 1}, E{1, 1, 64}, E{1, 1, 65},
        E{32, 32, 1}, E{33, 32, 1}, E{2, 8, 64}, E{2, 9, 64}, E{0, 1, 1}, E{1, 0, 1}, E{1, 1, 0}})
    probe("block " + text(block), K::plain, [&](A& a) { a.block = block; });
  for (uint32_t threads : {1u, 64u, 65u})
    probe("block of " + std::to_string(threads) + ", __launch_bounds__(64)", K::bounded,
          [&](A& a) { a.block.x = threads; });
  probe("block of 8 x 8, __launch_bounds__(64)", K::bounded, [&](A& a) { a.block = {8, 8, 1}; });
  for (uint64_t bytes : {49152u, 49153u, 232448u})
    probe("dynamic shared memory " + std::to_string(bytes), K::plain,
          [&](A& a) { a.dynamic_shared = bytes; });
  for (uint64_t bytes : {65536u, 65537u})
    probe("dynamic shared memory " + std::to_string(bytes) + " of 65536 asked for", K::plain, [&](A& a) {
      a.allowed_dynamic_shared = 65536;
      a.dynamic_shared = bytes;
    });
  for (uint64_t bytes : {32768u, 32769u})
    probe("dynamic shared memory " + std::to_string(bytes) + " beside 16384 of its own", K::with_static,
          [&](A& a) { a.dynamic_shared = bytes; });
  for (uint64_t bytes : {216064u, 216065u})
    probe("dynamic shared memory " + std::to_string(bytes) + " of 216064 asked for, beside 16384 of its own",
          K::with_static, [&](A& a) {
            a.allowed_dynamic_shared = 216064;
            a.dynamic_shared = bytes;
          });
  for (bool larger : {false, true})
    for (E cluster :
         {E{1, 1, 1}, E{8, 1, 1}, E{2, 2, 2}, E{9, 1, 1}, E{16, 1, 1}, E{4, 4, 1}, E{17, 1, 1}, E{32, 1, 1}})
      probe("cluster " + text(cluster) + (larger ? ", non-portable sizes allowed" : ""), K::plain, [&](A& a) {
        a.grid = cluster;
        a.cluster = cluster;
        a.non_portable_cluster = larger;
      });
  for (uint32_t blocks : {4u, 5u, 6u})
    probe("grid of " + std::to_string(blocks) + " in clusters of 4", K::plain, [&](A& a) {
      a.grid.x = blocks;
      a.cluster = {4, 1, 1};
    });
  probe("grid 4 x 3 in clusters 2 x 2", K::plain, [&](A& a) {
    a.grid = {4, 3, 1};
    a.cluster = {2, 2, 1};
  });
  for (uint32_t blocks : {2u, 3u, 4u})
    probe("grid of " + std::to_string(blocks) + ", __cluster_dims__(2)", K::clustered,
          [&](A& a) { a.grid.x = blocks; });
  for (uint32_t blocks : {1u, 2u, 4u})
    probe("cluster of " + std::to_string(blocks) + ", __cluster_dims__(2)", K::clustered, [&](A& a) {
      a.grid.x = 4;
      a.cluster = {blocks, 1, 1};
    });
  for (uint64_t shared : {0u, 49152u})
    for (int more : {0, 1})  // 1024 threads: two blocks for each of 132 multiprocessors
      probe("cooperative, as many blocks as fit" + std::string(more ? " and 1 more" : "") +
                ", shared memory " + std::to_string(shared),
            K::plain, [&](A& a) {
              a.cooperative = true;
              a.block.x = 1024;
              a.dynamic_shared = shared;
              a.grid.x = 2 * 132 + static_cast<uint32_t>(more);
            });
  // Two mistakes at once: which one is answered.
  probe("block of 1025 and a cluster of 9", K::plain, [&](A& a) {
    a.block.x = 1025;
    a.grid = a.cluster = {9, 1, 1};
  });
  probe("too much shared memory and a cluster of 9", K::plain, [&](A& a) {
    a.dynamic_shared = 49153;
    a.grid = a.cluster = {9, 1, 1};
  });
  probe("cooperative, one block more than fits, and too much shared memory", K::plain, [&](A& a) {
    a.cooperative = true;
    a.block.x = 1024;
    a.grid.x = 2 * 132 + 1;
    a.dynamic_shared = 49153;
  });
  return rows;
}

}  // namespace recorded
