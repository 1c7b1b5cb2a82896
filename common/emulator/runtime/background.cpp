#include "emulator/runtime/background.hpp"

#include <chrono>
#include <utility>

namespace emu::runtime {

namespace {
constexpr std::chrono::milliseconds kBetweenLooks{1};  // at memory that the host may change
}

bool Background::run(std::function<void()> work) {
  done_ = waits_ = host_waits_ = last_look_ = false;
  thrown_ = nullptr;
  thread_ = std::thread([this, work = std::move(work)] {
    try {
      work();
    } catch (...) {
      thrown_ = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
    changed_.notify_all();
  });
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return done_ || waits_; });
  if (!done_) return false;
  lock.unlock();
  finish();
  return true;
}

void Background::finish() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    host_waits_ = true;
    changed_.notify_all();
  }
  thread_.join();
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

bool Background::wait_for_host() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (last_look_) return false;
  waits_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, kBetweenLooks, [&] { return host_waits_; });
  last_look_ = host_waits_;
  return true;
}

}  // namespace emu::runtime
