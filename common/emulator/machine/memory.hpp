// Global memory: one reserved range of addresses, of which allocations are the only valid parts.
// A device address is not a host pointer: the range is mapped a second time for the emulator's own use, so a
// program that dereferences a device pointer on the host crashes here as it does with a GPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "emulator/machine/undo.hpp"

namespace emu {

struct Allocation {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint32_t serial = 0;        // tells it from another one at the same address before or after it
  std::string name;           // symbol name, or "cudaMalloc #3"
  std::string called;         // by the program (emulator/names.hpp); empty: nothing
  bool constant = false;      // kernels may not write
  std::byte* host = nullptr;  // where the emulator finds the bytes
  uint64_t columns = 0;       // of a row-major matrix, when the program has said so (emulator/names.hpp)
  uint64_t element_bytes = 0;
};

// An allocation that is no more.
struct Freed {
  uint64_t address = 0, bytes = 0;
  std::string name;
};

class GlobalMemory {
 public:
  GlobalMemory();
  ~GlobalMemory();
  // The same memory for another thread, as it is: while there is one, nobody may allocate or release.
  explicit GlobalMemory(const GlobalMemory* shared) : allocations_(shared->allocations_) {}
  GlobalMemory(const GlobalMemory&) = delete;
  std::unique_ptr<Undo> make_undo() const { return std::make_unique<Undo>(backing_, reserved_); }

  // 256-byte aligned, poisoned. Returns 0 when `bytes` can't be had.
  uint64_t allocate(uint64_t bytes, const std::string& name, uint64_t align = 256);
  // Makes host memory (cudaMallocHost, managed) valid on the device at its own address.
  void add_host_range(void* host, uint64_t bytes, const std::string& name);
  bool release(uint64_t address);  // false: no allocation starts there
  bool has_host_ranges() const { return host_ranges_ != 0; }

  void set_constant(uint64_t address) {
    allocations_.at(address).constant = true;
    forget_recent();
  }

  // The latest allocation that held the address, where none does now; or the one of that serial number. Null: none, or it is
  // too long ago.
  const Freed* freed_at(uint64_t address) const;
  const Freed* freed(uint32_t serial) const;
  uint32_t serial_at(uint64_t address) const;  // of the allocation that holds it; 0: none

  // Names the allocation that holds the address, as a matrix of rows of `columns` elements. False when there is none.
  bool name_matrix(uint64_t address, const std::string& name, uint64_t columns, uint64_t element_bytes);

  // The allocation that holds [address, address + bytes), or null.
  const Allocation* find(uint64_t address, uint64_t bytes);
  // The allocation that holds the address, briefly; null when there is none.
  struct Piece {
    uint64_t begin = 0, bytes = 0;
    std::byte* host = nullptr;
    bool constant = false;
  };
  const Piece* piece(uint64_t address) {
    for (const Piece& p : recent_)
      if (address - p.begin < p.bytes) return &p;
    return find_piece(address);
  }
  // Bytes for the emulator's use; null when the range is not inside one allocation.
  std::byte* at(uint64_t address, uint64_t bytes) {
    if (address - last_begin_ < last_bytes_ && bytes <= last_bytes_ - (address - last_begin_))
      return last_host_ + (address - last_begin_);
    const Allocation* a = find(address, bytes);
    return a ? a->host + (address - a->address) : nullptr;
  }
  // A word whose first bytes, not all, are the last of an allocation; null when it is none. Allocations are whole words.
  std::byte* word_at(uint64_t address);
  // Whether the allocation that the last successful at() or find() hit is read-only for kernels.
  bool last_is_constant() const { return last_constant_; }
  // "64 bytes past the end of `out` (4096 bytes at 0x...)": the neighbourhood of a bad address. "row 3, column 17 of 'C'"
  // inside of a matrix.
  std::string describe(uint64_t address) const;

  uint64_t bytes_in_use() const { return in_use_; }
  uint64_t capacity() const { return reserved_; }
  const std::map<uint64_t, Allocation>& allocations() const { return allocations_; }

 private:
  uint64_t reserved_ = 64ull << 30;  // bytes of each of these; less where address space is limited
  std::byte* window_ = nullptr;      // what programs see; no access. Null: this is another one's memory
  std::byte* backing_ = nullptr;
  std::map<uint64_t, Allocation> allocations_;
  std::multimap<uint64_t, uint64_t> free_;  // bytes -> offset of holes
  std::map<uint32_t, Freed> freed_;         // by serial number, the latest ones
  uint32_t last_serial_ = 0;
  uint64_t top_ = 0, in_use_ = 0, host_ranges_ = 0;
  uint64_t last_begin_ = 0, last_bytes_ = 0;
  std::byte* last_host_ = nullptr;
  bool last_constant_ = false;
  std::array<Piece, 4> recent_;  // that were asked for
  size_t next_recent_ = 0;
  const Piece* find_piece(uint64_t address);
  void forget_recent() {
    last_bytes_ = 0;
    recent_.fill(Piece());
  }
};

}  // namespace emu
