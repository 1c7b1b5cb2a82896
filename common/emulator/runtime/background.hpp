// A launch that runs beside the host. It has a thread of its own, and the host's thread waits for its end; but when no warp
// can go on, and the host could still change what one of them waits for, the host goes on first.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace emu::runtime {

class Background {
 public:
  // Runs `work` until it ends (true; what it throws is thrown) or waits for the host (false).
  bool run(std::function<void()> work);
  bool running() const { return thread_.joinable(); }
  // The host waits for its end; what it throws is thrown.
  void finish();
  // For `work`, when nobody can go on: true when the host may have changed something, false when it waits, too. Other threads
  // of the host, of which nobody knows what they wait for, are given some seconds.
  bool wait_for_host();

 private:
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false, waits_ = false;  // what `work` does
  bool host_waits_ = false, last_look_ = false;
  int looks_ = 0;  // while the host waits
  std::exception_ptr thrown_;
};

}  // namespace emu::runtime
