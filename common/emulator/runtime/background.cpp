#include "emulator/runtime/background.hpp"

#include <chrono>
#include <filesystem>
#include <iterator>
#include <utility>

namespace emu::runtime {

namespace {
constexpr std::chrono::milliseconds kBetweenLooks{1};  // at memory that the host may change
constexpr int kLooksForOthers = 5000;                  // while other threads of the host may change it

// Threads of the process besides the one that waits for the kernel and the kernel's own.
bool has_other_threads() {
  std::error_code none_to_see;
  const std::filesystem::directory_iterator tasks("/proc/self/task", none_to_see);
  return !none_to_see && std::distance(begin(tasks), end(tasks)) > 2;
}
}  // namespace

bool Background::run(std::function<void()> work) {
  done_ = waits_ = host_waits_ = last_look_ = false;
  looks_ = 0;
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
  if (host_waits_)
    changed_.wait_for(lock, kBetweenLooks);  // nothing is told any more, but another thread may write
  else
    changed_.wait_for(lock, kBetweenLooks, [&] { return host_waits_; });
  last_look_ = host_waits_ && (!has_other_threads() || ++looks_ > kLooksForOthers);
  return true;
}

}  // namespace emu::runtime
