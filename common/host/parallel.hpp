// Spreading rows over the machine's cores.
#pragma once

#include <algorithm>
#include <functional>
#include <thread>
#include <vector>

namespace lab {

// Calls work(first, last) on disjoint ranges that cover [0, rows), on as many threads as there are cores. `grain`: the
// fewest rows worth a thread. Returns when all are done.
inline void for_rows(int rows, int grain, const std::function<void(int, int)>& work) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int workers = std::clamp(rows / std::max(1, grain), 1, cores);
  std::vector<std::thread> threads;
  const auto bound = [&](int i) { return static_cast<int>(static_cast<long long>(rows) * i / workers); };
  for (int i = 1; i < workers; ++i) threads.emplace_back(work, bound(i), bound(i + 1));
  work(0, bound(1));
  for (std::thread& thread : threads) thread.join();
}

}  // namespace lab
