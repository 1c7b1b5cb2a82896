// The rules of a launch: each limit is kept, and the value beyond it is refused with its code, the value and a fix.
#include "rules/launch.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "recorded/launch_limits.hpp"
#include "rules/limits.hpp"

using rules::LaunchArguments;
using rules::LaunchError;

namespace {

const char* name_of(const std::vector<rules::BrokenLaunch>& broken) {
  if (broken.empty()) return "cudaSuccess";
  switch (broken[0].error) {
    case LaunchError::invalid_cluster_size:
      return "cudaErrorInvalidClusterSize";
    case LaunchError::cooperative_too_large:
      return "cudaErrorCooperativeLaunchTooLarge";
    default:
      return "cudaErrorInvalidValue";
  }
}

LaunchArguments good() {
  LaunchArguments a;
  a.grid = {1, 1, 1};
  a.block = {32, 1, 1};
  return a;
}

}  // namespace

TEST_CASE(
    "a launch that breaks a rule is refused with the value, the rule and a fix; at the limit it is not") {
  struct Row {
    const char* name;
    LaunchError error;
    std::function<void(LaunchArguments&)> at_the_limit, beyond;
    std::vector<const char*> parts;
  };
  const Row rows[] = {
      {"grid",
       LaunchError::invalid_value,
       [](auto& a) {
         a.grid = {2147483647, 1, 1};
       },
       [](auto& a) {
         a.grid = {1, 65536, 1};
       },
       {"(1,65536,1)", "65535"}},
      {"no grid",
       LaunchError::invalid_value,
       [](auto& a) {
         a.grid = {1, 1, 1};
       },
       [](auto& a) {
         a.grid = {4, 0, 1};
       },
       {"(4,0,1)", "nothing to do"}},
      {"block",
       LaunchError::invalid_value,
       [](auto& a) {
         a.block = {16, 1, 64};
       },
       [](auto& a) {
         a.block = {1, 1, 65};
       },
       {"(1,1,65)", "64 in z"}},
      {"threads",
       LaunchError::invalid_value,
       [](auto& a) {
         a.block = {32, 32, 1};
       },
       [](auto& a) {
         a.block = {33, 32, 1};
       },
       {"(33,32,1)", "1024"}},
      {"launch bounds",
       LaunchError::invalid_value,
       [](auto& a) {
         a.max_threads = {32, 0, 0};
       },
       [](auto& a) {
         a.max_threads = {31, 0, 0};
       },
       {"32 threads", "at most 31", "__launch_bounds__"}},
      {"required threads",
       LaunchError::invalid_value,
       [](auto& a) {
         a.required_threads = {32, 0, 0};
       },
       [](auto& a) {
         a.required_threads = {16, 2, 0};
       },
       {"(32,1,1)", "exactly (16,2,1)"}},
      {"shared memory",
       LaunchError::invalid_value,
       [](auto& a) { a.dynamic_shared = 48 * 1024; },
       [](auto& a) { a.dynamic_shared = 48 * 1024 + 1; },
       {"49153 bytes", "cudaFuncSetAttribute"}},
      {"more shared memory than there is",
       LaunchError::invalid_value,
       [](auto& a) { a.dynamic_shared = a.allowed_dynamic_shared = 227 * 1024; },
       [](auto& a) { a.dynamic_shared = 227 * 1024 + 1; },
       {"232449 bytes", "232448 bytes (227 KiB)", "fewer stages"}},
      {"cluster of another size than the kernel's",
       LaunchError::invalid_cluster_size,
       [](auto& a) {
         a.grid.x = a.cluster.x = 2, a.cluster = {2, 1, 1}, a.required_cluster = {2, 0, 0};
       },
       [](auto& a) {
         a.grid.x = 4, a.cluster = {4, 1, 1}, a.required_cluster = {2, 0, 0};
       },
       {"(4,1,1)", "(2,1,1)", "__cluster_dims__"}},
      {"cluster needed",
       LaunchError::invalid_cluster_size,
       [](auto& a) {
         a.explicit_cluster = true, a.cluster = {1, 1, 1};
       },
       [](auto& a) { a.explicit_cluster = true; },
       {"no cluster dimension", "cudaLaunchKernelEx"}},
      {"portable cluster",
       LaunchError::invalid_cluster_size,
       [](auto& a) {
         a.grid = a.cluster = {8, 1, 1};
       },
       [](auto& a) {
         a.grid = a.cluster = {3, 3, 1};
       },
       {"(3,3,1)", "more than 8", "NonPortable"}},
      {"largest cluster",
       LaunchError::invalid_cluster_size,
       [](auto& a) {
         a.non_portable_cluster = true, a.grid = a.cluster = {16, 1, 1};
       },
       [](auto& a) {
         a.non_portable_cluster = true, a.grid = a.cluster = {17, 1, 1};
       },
       {"more than 16"}},
      {"whole clusters",
       LaunchError::invalid_cluster_size,
       [](auto& a) {
         a.grid.x = 6, a.cluster = {2, 1, 1};
       },
       [](auto& a) {
         a.grid.x = 5, a.cluster = {2, 1, 1};
       },
       {"(5,1,1)", "no multiple of the cluster (2,1,1)"}},
      {"resident blocks",
       LaunchError::cooperative_too_large,
       [](auto& a) { a.cooperative = true, a.block.x = 1024, a.grid.x = 264; },
       [](auto& a) { a.cooperative = true, a.block.x = 1024, a.grid.x = 265; },
       {"265 blocks", "264 fit"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    LaunchArguments a = good();
    row.at_the_limit(a);
    CHECK(rules::broken_rules(a).empty());
    a = good();
    row.beyond(a);
    const std::vector<rules::BrokenLaunch> broken = rules::broken_rules(a);
    REQUIRE(broken.size() == 1);
    CAPTURE(broken[0].text());
    CHECK(broken[0].error == row.error);
    for (const char* part : row.parts) CHECK(broken[0].text().find(part) != std::string::npos);
  }
}

TEST_CASE("the rules give an H200's answer to every recorded launch") {
  std::ifstream file("checks/recorded/launch_limits.txt");
  REQUIRE(file.is_open());
  std::map<std::string, std::string> recorded;
  for (std::string line; std::getline(file, line);)
    if (const size_t colon = line.rfind(": "); line[0] != '#' && colon != std::string::npos)
      recorded[line.substr(0, colon)] = line.substr(colon + 2);
  int accepted = 0, refused = 0;
  for (const recorded::LaunchRow& row : recorded::launch_rows()) {
    CAPTURE(row.name);
    REQUIRE(recorded.count(row.name) == 1);
    const std::vector<rules::BrokenLaunch> broken = rules::broken_rules(row.launch);
    CHECK(name_of(broken) == recorded[row.name]);
    (broken.empty() ? accepted : refused)++;
  }
  CHECK(accepted > 20);
  CHECK(refused > 20);
}

TEST_CASE("blocks per multiprocessor: threads, shared memory and the number of blocks bound it") {
  CHECK(rules::blocks_per_multiprocessor(1024, 0) == 2);
  CHECK(rules::blocks_per_multiprocessor(33, 0) == 32);  // two warps each
  CHECK(rules::blocks_per_multiprocessor(65, 0) == 21);
  CHECK(rules::blocks_per_multiprocessor(32, 0) == 32);
  CHECK(rules::blocks_per_multiprocessor(128, 113 * 1024) == 2);
  CHECK(rules::blocks_per_multiprocessor(128, 113 * 1024 + 1) == 1);
  CHECK(rules::blocks_per_multiprocessor(128, rules::kSharedPerBlockOptin) == 1);
  CHECK(rules::blocks_per_multiprocessor(128, rules::kSharedPerBlockOptin + 1) == 0);
  CHECK(rules::blocks_per_multiprocessor(0, 0) == 0);
  CHECK(rules::blocks_per_multiprocessor(1025, 0) == 0);
}
