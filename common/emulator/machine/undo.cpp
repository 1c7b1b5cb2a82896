#include "emulator/machine/undo.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace emu {

static_assert(sizeof(std::atomic<bool>) == 1);

// Fresh pages of the system hold zeros: nothing is saved.
Undo::Undo(std::byte* memory, uint64_t bytes) : memory_(memory), pages_(bytes / kPage) {
  void* flags =
      mmap(nullptr, pages_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (flags == MAP_FAILED) throw std::bad_alloc();
  saved_ = static_cast<std::atomic<bool>*>(flags);
}

Undo::~Undo() {
  munmap(saved_, pages_);
}

void Undo::save_page(uint64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (saved_[number].load(std::memory_order_relaxed)) return;
  kept_.push_back({number, std::unique_ptr<std::byte[]>(new std::byte[kPage])});
  std::memcpy(kept_.back().bytes.get(), memory_ + number * kPage, kPage);
  saved_[number].store(true, std::memory_order_release);
}

void Undo::restore() {
  for (const Page& page : kept_) std::memcpy(memory_ + page.number * kPage, page.bytes.get(), kPage);
}

}  // namespace emu
