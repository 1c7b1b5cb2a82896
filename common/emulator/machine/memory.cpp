#include "emulator/machine/memory.hpp"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

#include "emulator/findings/report.hpp"
#include "emulator/ptx/types.hpp"

namespace emu {

namespace {
constexpr uint64_t kLeastReserved = 64ull << 20;
const std::string& shown_name(const Allocation& a) {
  return a.called.empty() ? a.name : a.called;
}
}  // namespace

GlobalMemory::GlobalMemory() {
  const auto reserve = [](uint64_t bytes, int protection) {
    void* p = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
  };
  const auto give_back = [](void* p, uint64_t bytes) {
    if (p) munmap(p, bytes);
  };
  // Half as much again is left to the program itself.
  for (;; reserved_ /= 2) {
    window_ = reserve(reserved_, PROT_NONE);
    backing_ = reserve(reserved_, PROT_READ | PROT_WRITE);
    std::byte* rest = reserve(reserved_ / 2, PROT_NONE);
    give_back(rest, reserved_ / 2);
    if (window_ && backing_ && rest) return;
    give_back(window_, reserved_);
    give_back(backing_, reserved_);
    if (reserved_ > kLeastReserved) continue;
    std::fprintf(stderr,
                 "emulator: cannot reserve %llu MiB of address space for device memory; raise the limit "
                 "(ulimit -v unlimited)\n",
                 static_cast<unsigned long long>(reserved_ >> 20));
    std::exit(2);
  }
}

GlobalMemory::~GlobalMemory() {
  if (!window_) return;
  munmap(window_, reserved_);
  munmap(backing_, reserved_);
}

uint64_t GlobalMemory::allocate(uint64_t bytes, const std::string& name, uint64_t align) {
  if (bytes > reserved_) return 0;
  if (align < 256) align = 256;
  // 256 spare bytes between allocations: a small overrun never lands in a neighbour.
  uint64_t rounded = ((bytes ? bytes : 1) + 511) / 256 * 256;
  uint64_t offset = 0;
  bool found = false;
  for (auto it = free_.lower_bound(rounded); it != free_.end(); ++it) {
    if (it->second % align) continue;
    offset = it->second;
    uint64_t hole = it->first;
    free_.erase(it);
    if (hole > rounded) free_.insert({hole - rounded, offset + rounded});
    found = true;
    break;
  }
  if (!found) {
    offset = (top_ + align - 1) / align * align;
    if (offset + rounded > reserved_) return 0;
    top_ = offset + rounded;
  }
  Allocation a;
  a.address = reinterpret_cast<uint64_t>(window_) + offset;
  a.bytes = bytes;
  a.serial = ++last_serial_;
  a.name = name;
  a.host = backing_ + offset;
  fill_poison(a.host, (bytes + 3) / 4 * 4);  // to the end of its last word
  in_use_ += bytes;
  allocations_[a.address] = a;
  return a.address;
}

void GlobalMemory::add_host_range(void* host, uint64_t bytes, const std::string& name) {
  Allocation a;
  a.address = reinterpret_cast<uint64_t>(host);
  a.bytes = bytes;
  a.serial = ++last_serial_;
  a.name = name;
  a.host = static_cast<std::byte*>(host);
  forget_recent();
  host_ranges_ += allocations_.count(a.address) == 0;
  allocations_[a.address] = a;
}

bool GlobalMemory::release(uint64_t address) {
  auto it = allocations_.find(address);
  if (it == allocations_.end()) return false;
  const Allocation& a = it->second;
  if (a.host >= backing_ && a.host < backing_ + reserved_) {
    uint64_t rounded = ((a.bytes ? a.bytes : 1) + 511) / 256 * 256;
    uint64_t offset = static_cast<uint64_t>(a.host - backing_);
    // Give whole pages back to the system; they read as zero until poisoned again.
    uint64_t first = (offset + 4095) / 4096 * 4096, last = (offset + rounded) / 4096 * 4096;
    if (last > first) madvise(backing_ + first, last - first, MADV_DONTNEED);
    free_.insert({rounded, offset});
    in_use_ -= a.bytes;
  } else {
    --host_ranges_;
  }
  constexpr size_t kFreedKept = 4096;
  freed_[a.serial] = {a.address, a.bytes, shown_name(a)};
  if (freed_.size() > kFreedKept) freed_.erase(freed_.begin());
  allocations_.erase(it);
  forget_recent();
  return true;
}

const Freed* GlobalMemory::freed_at(uint64_t address) const {
  const auto next = allocations_.upper_bound(address);
  for (auto f = freed_.rbegin(); f != freed_.rend(); ++f) {
    const Freed& was = f->second;
    if (address - was.address >= was.bytes) continue;
    // Where a part of it has been given out again, the address may as well be past the end of that.
    const bool again = (next != allocations_.end() && next->first < was.address + was.bytes) ||
                       (next != allocations_.begin() &&
                        std::prev(next)->first + std::prev(next)->second.bytes > was.address);
    return again ? nullptr : &was;
  }
  return nullptr;
}

uint32_t GlobalMemory::serial_at(uint64_t address) const {
  const auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) return 0;
  const Allocation& a = std::prev(next)->second;
  return address - a.address < a.bytes ? a.serial : 0;
}

const Freed* GlobalMemory::freed(uint32_t serial) const {
  const auto f = freed_.find(serial);
  return f == freed_.end() ? nullptr : &f->second;
}

const Allocation* GlobalMemory::find(uint64_t address, uint64_t bytes) {
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin()) return nullptr;
  --it;
  const Allocation& a = it->second;
  if (address - a.address >= a.bytes && !(bytes == 0 && address - a.address == a.bytes)) return nullptr;
  if (bytes > a.bytes - (address - a.address)) return nullptr;
  last_begin_ = a.address;
  last_bytes_ = a.bytes;
  last_host_ = a.host;
  last_constant_ = a.constant;
  return &a;
}

const GlobalMemory::Piece* GlobalMemory::find_piece(uint64_t address) {
  const Allocation* a = find(address, 1);
  if (!a) return nullptr;
  Piece& p = recent_[next_recent_++ % recent_.size()];
  p = {a->address, a->bytes, a->host, a->constant};
  return &p;
}

std::byte* GlobalMemory::word_at(uint64_t address) {
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin()) return nullptr;
  const Allocation& a = std::prev(it)->second;
  if (address - a.address >= a.bytes || a.bytes - (address - a.address) >= 4) return nullptr;
  return find(a.address, a.bytes)->host + (address - a.address);
}

bool GlobalMemory::name_matrix(uint64_t address, const std::string& name, uint64_t columns,
                               uint64_t element_bytes) {
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin() || columns == 0 || element_bytes == 0) return false;
  Allocation& a = std::prev(it)->second;
  if (address - a.address >= a.bytes) return false;
  a.called = name;
  a.columns = columns;
  a.element_bytes = element_bytes;
  return true;
}

std::string GlobalMemory::describe(uint64_t address) const {
  if (address == 0) return "the null pointer";
  if (const Freed* f = freed_at(address))
    return "inside '" + f->name + "' (" + std::to_string(f->bytes) + " bytes at " + hex(f->address) +
           "), which has been freed";
  auto it = allocations_.upper_bound(address);
  if (it != allocations_.begin()) {
    const Allocation& a = std::prev(it)->second;
    uint64_t past = address - (a.address + a.bytes);
    if (address - a.address < a.bytes && a.columns) {
      const uint64_t element = (address - a.address) / a.element_bytes;
      return "row " + std::to_string(element / a.columns) + ", column " +
             std::to_string(element % a.columns) + " of '" + shown_name(a) + "'";
    }
    if (address - a.address < a.bytes)
      return "inside '" + shown_name(a) + "', " + std::to_string(a.bytes - (address - a.address)) +
             " bytes before its end";
    if (past < (1u << 20))
      return std::to_string(past) + " bytes past the end of '" + shown_name(a) + "' (" +
             std::to_string(a.bytes) + " bytes at " + hex(a.address) + ")";
  }
  if (it != allocations_.end() && it->first - address < (1u << 20))
    return std::to_string(it->first - address) + " bytes before '" + shown_name(it->second) + "' (" +
           std::to_string(it->second.bytes) + " bytes at " + hex(it->first) + ")";
  return "in no allocation";
}

}  // namespace emu
