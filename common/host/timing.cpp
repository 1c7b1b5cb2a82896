#include "host/timing.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "host/cuda_check.hpp"
#include "host/device.hpp"
#include "host/hold.hpp"

namespace lab {
namespace {

struct Event {
  cudaEvent_t handle = nullptr;
  Event() { cuda_check(cudaEventCreate(&handle), "create an event"); }
  ~Event() { cudaEventDestroy(handle); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
};

}  // namespace

Statistics statistics(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const size_t count = samples.size();
  const double median =
      count % 2 == 1 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
  return {median, samples.front(), samples.back(), static_cast<int>(count)};
}

double event_ms(const std::function<void(int)>& launch, int launches,
                const std::function<void()>& while_running) {
  constexpr double kQueueUs = 15, kMostHoldUs = 20000;  // to queue one launch; longer than that is not waited
  static const bool emulator = current_device().emulator;
  Event start, stop;
  for (double hold_us = kQueueUs * launches;; hold_us *= 2) {
    if (!emulator) hold_stream(hold_us);
    cuda_check(cudaEventRecord(start.handle), "record an event");
    for (int i = 0; i < launches; ++i) launch(i);
    cuda_check(cudaEventRecord(stop.handle), "record an event");
    cuda_check(cudaGetLastError(), "run the timed launches");
    const bool queued_in_time = cudaEventQuery(start.handle) == cudaErrorNotReady;
    if (queued_in_time) cudaGetLastError();  // "not ready" is no error here
    if (while_running) while_running();
    cuda_check(cudaEventSynchronize(stop.handle), "run the timed launches");
    float ms = 0;
    cuda_check(cudaEventElapsedTime(&ms, start.handle, stop.handle), "read the time between events");
    if (queued_in_time || emulator || hold_us > kMostHoldUs) return ms / launches;
  }
}

double wall_ms(const std::function<void()>& launch) {
  const auto start = std::chrono::steady_clock::now();
  launch();
  cuda_check(cudaGetLastError(), "run the kernel");
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

int launches_per_sample(double ms_per_launch, double sample_ms) {
  constexpr int kMost = 100;  // the driver queues some hundred; beyond that the host would wait
  return ms_per_launch <= 0 ? 1
                            : std::clamp(static_cast<int>(std::ceil(sample_ms / ms_per_launch)), 1, kMost);
}

int buffer_sets(size_t set_bytes, size_t l2_bytes) {
  constexpr size_t kMostSets = 64;
  return static_cast<int>(
      std::clamp<size_t>(2 * l2_bytes / std::max<size_t>(set_bytes, 1) + 1, 1, kMostSets));
}

}  // namespace lab
