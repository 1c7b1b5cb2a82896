// What global memory held before CTAs wrote to it that run on several cores: where they should not have, it is put back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace emu {

// Of one range of memory, page by page. Any number of threads may save; restore() is for one alone.
class Undo {
 public:
  // Who saves what this thread writes; null: nobody.
  static inline thread_local Undo* mine = nullptr;

  Undo(std::byte* memory, uint64_t bytes);
  ~Undo();
  Undo(const Undo&) = delete;

  // These bytes are about to be written: nobody may write to them before.
  void save(const std::byte* at, uint64_t bytes) {
    const uint64_t offset = static_cast<uint64_t>(at - memory_);
    for (uint64_t page = offset / kPage; page <= (offset + bytes - 1) / kPage; ++page)
      if (!saved_[page].load(std::memory_order_acquire)) save_page(page);
  }
  void restore();

 private:
  static constexpr uint64_t kPage = 4096;
  struct Page {
    uint64_t number;
    std::unique_ptr<std::byte[]> bytes;
  };
  std::byte* memory_;
  uint64_t pages_;
  std::atomic<bool>* saved_;  // by page; most of it is never touched
  std::mutex mutex_;
  std::vector<Page> kept_;

  void save_page(uint64_t number);
};

// These bytes of global memory are about to be written.
inline void about_to_write(const std::byte* at, uint64_t bytes) {
  if (Undo::mine) Undo::mine->save(at, bytes);
}

}  // namespace emu
