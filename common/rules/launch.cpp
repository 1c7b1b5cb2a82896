#include "rules/launch.hpp"

#include <algorithm>

#include "rules/limits.hpp"

namespace rules {
namespace {

using Launch = LaunchArguments;

constexpr char kLimits[] = "CUDA Programming Guide, technical specifications of compute capability 9.0";
constexpr char kBounds[] = "CUDA Programming Guide, execution configuration and launch bounds";
constexpr char kShared[] = "CUDA Runtime API, cudaFuncSetAttribute";
constexpr char kClusters[] = "CUDA Programming Guide, thread block clusters";
constexpr char kCooperative[] = "CUDA Runtime API, cudaLaunchCooperativeKernel";

std::string str(uint64_t value) {
  return std::to_string(value);
}
std::string text_of(Extent e) {
  return "(" + str(e.x) + "," + str(e.y) + "," + str(e.z) + ")";
}
bool within(Extent e, const int* most) {
  return e.count() > 0 && e.x <= static_cast<uint32_t>(most[0]) && e.y <= static_cast<uint32_t>(most[1]) &&
         e.z <= static_cast<uint32_t>(most[2]);
}
// An extent of a directive may leave out trailing dimensions.
Extent filled(Extent e) {
  return {std::max(1u, e.x), std::max(1u, e.y), std::max(1u, e.z)};
}
bool equal(Extent a, Extent b) {
  return a.x == b.x && a.y == b.y && a.z == b.z;
}
// The cluster that the launch gets: what it gives, else what the kernel was compiled for.
Extent cluster_of(const Launch& l) {
  return filled(l.cluster.count() ? l.cluster : l.required_cluster);
}
uint64_t most_blocks(const Launch& l) {
  return uint64_t{kMultiprocessors} * static_cast<uint64_t>(blocks_per_multiprocessor(
                                          l.block.count(), l.static_shared + l.dynamic_shared));
}
uint64_t largest_cluster(const Launch& l) {
  return l.non_portable_cluster ? kMaxClusterSize : kPortableClusterSize;
}

struct Words {
  std::string what, rule, fix;
};
struct Rule {
  LaunchError error;
  const char* manual;
  bool (*holds)(const Launch& l);
  Words (*words)(const Launch& l);
};

const Rule kRules[] = {
    {LaunchError::invalid_value, kLimits, [](const Launch& l) { return within(l.grid, kMaxGridDim); },
     [](const Launch& l) -> Words {
       return {"the grid " + text_of(l.grid), "a grid has 1 to 2147483647 blocks in x, 1 to 65535 in y and z",
               l.grid.count() == 0 ? "launch nothing when there is nothing to do"
                                   : "use x for the large dimension, or let a block do more"};
     }},
    {LaunchError::invalid_value, kLimits,
     [](const Launch& l) { return within(l.block, kMaxBlockDim) && l.block.count() <= kMaxThreadsPerBlock; },
     [](const Launch& l) -> Words {
       return {"the block " + text_of(l.block), "a block has 1 to 1024 threads in all, at most 64 in z",
               "use a smaller block and more of them"};
     }},
    {LaunchError::invalid_value, kBounds,
     [](const Launch& l) { return l.max_threads.x == 0 || l.block.count() <= filled(l.max_threads).count(); },
     [](const Launch& l) -> Words {
       return {"the block has " + str(l.block.count()) + " threads",
               "the kernel is compiled for at most " + str(filled(l.max_threads).count()) +
                   " (__launch_bounds__)",
               "launch fewer threads, or raise the bound"};
     }},
    {LaunchError::invalid_value, kBounds,
     [](const Launch& l) { return l.required_threads.x == 0 || equal(l.block, filled(l.required_threads)); },
     [](const Launch& l) -> Words {
       return {"the block is " + text_of(l.block),
               "the kernel is compiled for exactly " + text_of(filled(l.required_threads)),
               "launch the block size that the kernel requires"};
     }},
    {LaunchError::invalid_cluster_size, kClusters,
     [](const Launch& l) {
       return l.cluster.count() == 0 || l.required_cluster.x == 0 ||
              equal(l.cluster, filled(l.required_cluster));
     },
     [](const Launch& l) -> Words {
       return {"the launch asks for clusters of " + text_of(l.cluster),
               "the kernel is compiled for " + text_of(filled(l.required_cluster)) + " (__cluster_dims__)",
               "launch without the attribute, or make both equal"};
     }},
    {LaunchError::invalid_cluster_size, kClusters,
     [](const Launch& l) {
       return !l.explicit_cluster || l.required_cluster.x != 0 || l.cluster.count() > 0;
     },
     [](const Launch&) -> Words {
       return {"the launch gives no cluster dimension",
               "the kernel is compiled to be launched with one (.explicitcluster)",
               "use cudaLaunchKernelEx with cudaLaunchAttributeClusterDimension"};
     }},
    {LaunchError::invalid_cluster_size, kClusters,
     [](const Launch& l) { return cluster_of(l).count() <= largest_cluster(l); },
     [](const Launch& l) -> Words {
       return {"a cluster of " + text_of(cluster_of(l)),
               "it has more than " + str(largest_cluster(l)) + " blocks",
               "use a smaller cluster; up to 16 blocks after cudaFuncAttributeNonPortableClusterSizeAllowed"};
     }},
    {LaunchError::invalid_cluster_size, kClusters,
     [](const Launch& l) {
       const Extent c = cluster_of(l);
       return l.grid.x % c.x == 0 && l.grid.y % c.y == 0 && l.grid.z % c.z == 0;
     },
     [](const Launch& l) -> Words {
       return {"the grid " + text_of(l.grid), "it is no multiple of the cluster " + text_of(cluster_of(l)),
               "round the grid up to whole clusters, and let the extra blocks return early"};
     }},
    {LaunchError::cooperative_too_large, kCooperative,
     [](const Launch& l) { return !l.cooperative || l.grid.count() <= most_blocks(l); },
     [](const Launch& l) -> Words {
       return {str(l.grid.count()) + " blocks must all be resident",
               str(most_blocks(l)) + " fit on the device",
               "launch at most cudaOccupancyMaxActiveBlocksPerMultiprocessor x multiprocessors blocks"};
     }},
    {LaunchError::invalid_value, kShared,
     [](const Launch& l) { return l.dynamic_shared <= allowed_dynamic_shared(l); },
     [](const Launch& l) -> Words {
       const bool possible =
           l.dynamic_shared + l.static_shared <= static_cast<uint64_t>(kSharedPerBlockOptin);
       return {
           str(l.dynamic_shared) + " bytes of dynamic shared memory",
           str(allowed_dynamic_shared(l)) + " are allowed (the kernel has " + str(l.static_shared) +
               " bytes of its own)",
           possible
               ? "call cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) first"
               : "a block can have " + str(kSharedPerBlockOptin) +
                     " bytes (227 KiB): use fewer stages or smaller tiles"};
     }},
};

}  // namespace

std::vector<BrokenLaunch> broken_rules(const LaunchArguments& arguments) {
  std::vector<BrokenLaunch> out;
  for (const Rule& rule : kRules) {
    if (rule.holds(arguments)) continue;
    const Words words = rule.words(arguments);
    out.push_back({{words.what, words.rule, words.fix, rule.manual}, rule.error});
  }
  return out;
}

uint64_t allowed_dynamic_shared(const LaunchArguments& l) {
  if (l.allowed_dynamic_shared) return l.allowed_dynamic_shared;
  return l.static_shared < static_cast<uint64_t>(kSharedPerBlock) ? kSharedPerBlock - l.static_shared : 0;
}

int blocks_per_multiprocessor(uint64_t threads, uint64_t shared) {
  if (threads < 1 || threads > kMaxThreadsPerBlock || shared > kSharedPerBlockOptin) return 0;
  const uint64_t warps = (threads + kWarpSize - 1) / kWarpSize;
  const uint64_t taken = (shared + kSharedUnit - 1) / kSharedUnit * kSharedUnit + kReservedSharedPerBlock;
  return static_cast<int>(
      std::min({uint64_t{kMaxThreadsPerMultiprocessor / kWarpSize} / warps,
                uint64_t{kSharedPerMultiprocessor} / taken, uint64_t{kMaxBlocksPerMultiprocessor}}));
}

}  // namespace rules
