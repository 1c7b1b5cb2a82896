// Timing launches: events on a GPU, the wall clock on the emulator.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace lab {

struct Statistics {
  double median = 0, min = 0, max = 0;
  int samples = 0;
};

// samples: at least one value.
Statistics statistics(std::vector<double> samples);

// Milliseconds per launch by CUDA events, over `launches` launches. launch(i) starts launch number i; it may be called
// again for the same i. The device is held until all launches are queued, so that the time is the device's and not that
// of the host calls. Throws std::runtime_error when a CUDA call or a launch fails.
// while_running, if given, is called once when all launches are queued.
double event_ms(const std::function<void(int)>& launch, int launches,
                const std::function<void()>& while_running = {});

// Milliseconds of one launch on the wall clock, until the call returns: on the emulator, until the kernel has ended.
// Throws std::runtime_error when the launch is refused.
double wall_ms(const std::function<void()>& launch);

// How many launches make a sample of about `sample_ms`, given the time of one; at most 100.
int launches_per_sample(double ms_per_launch, double sample_ms = 1);

// How many sets of buffers of `set_bytes` to rotate through so that a launch does not find its data in the L2 cache.
int buffer_sets(size_t set_bytes, size_t l2_bytes);

}  // namespace lab
