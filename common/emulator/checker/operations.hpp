// What the engines do: copies and products, from their issue on.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emulator/checker/clock.hpp"
#include "emulator/checker/ordering.hpp"
#include "emulator/machine/async.hpp"

namespace emu::check {

struct Operation {
  AsyncOp::Kind kind = AsyncOp::Kind::cp_async;
  uint32_t cluster = 0;
  uint16_t rank = 0, warp = 0;
  uint8_t lane = 0;
  int32_t source = -1;
  uint32_t tile = 0;   // tensor loads: where the box starts in shared memory
  bool dense = false;  // tensor loads: the box leaves no gaps between its rows
  bool landed = false;
  bool reduces = false;
  Component done = 0;  // whoever holds done >= done_value is ordered after its writes
  uint32_t done_value = 0;
  Component read = 0;  // likewise for its reads of the source
  uint32_t read_value = 0;
  std::array<uint32_t, 32> lane_value{};  // cp.async: per issuing lane
  const Mbarrier* barrier = nullptr;
  const Mbarrier* waited_for = nullptr;  // wgmma: the latest wait of its warp that had passed; for words only
  Swizzle swizzle = Swizzle::none;
  uint64_t bytes = 0;
  uint64_t from = 0, to = 0;          // stores: where their bytes begin, and go
  uint32_t a_start = 0, b_start = 0;  // wgmma: where its descriptors start; 0: in registers
  uint64_t turn = 0;               // the same for the lanes of a warp that execute the instruction together
  uint32_t number = 0;             // of those in bulk groups: which one of its thread, from 1
  uint32_t epoch = 0;              // of its issuing thread, when it was issued
  std::array<int32_t, 5> start{};  // tensor copies: where the box starts, and in how many dimensions
  uint8_t dimensions = 0;
  // tensor copies: the tensor; the rows of the box in shared memory; of its inner two dimensions how far it reaches, and whether
  // it reaches further than one element in others.
  uint64_t tensor = 0;
  uint32_t pitch = 0, row_bytes = 0, rows = 0;
  uint8_t element_bytes = 0;
  bool flat = false;
  uint32_t next_copy = 0;  // the same multicast copy in the next destination CTA

  bool is_load() const {
    return kind == AsyncOp::Kind::tensor_load || kind == AsyncOp::Kind::bulk_load ||
           kind == AsyncOp::Kind::bulk_shared || kind == AsyncOp::Kind::st_async;
  }
  bool is_store() const {
    return kind == AsyncOp::Kind::tensor_store || kind == AsyncOp::Kind::bulk_store ||
           kind == AsyncOp::Kind::tensor_reduce || kind == AsyncOp::Kind::bulk_reduce;
  }
  const char* words() const;  // "a tensor copy"
};

// By index, from 1.
class Operations {
 public:
  Operations() { clear(); }
  void clear();
  Operation& operator[](uint32_t index) { return all_[index]; }
  const Operation& operator[](uint32_t index) const { return all_[index]; }
  uint32_t add(const Operation& o) {
    all_.push_back(o);
    return static_cast<uint32_t>(all_.size() - 1);
  }
  size_t count() const { return all_.size(); }
  size_t bytes() const { return all_.size() * sizeof(Operation); }

  // What is known of an operation at its issue, in this event; its issuer counts it.
  Operation issued(AsyncOp& op, WarpOrder& issuer, Ordering& order, uint64_t event,
                   const std::vector<MemoryRange>& sources, const std::vector<MemoryRange>& destinations);

  // cp.async.mbarrier.arrive: each lane's arrive vouches, when it lands, for the copies its lane has issued by now.
  void arrive_issued(AsyncOp& op, const WarpOrder& issuer);
  void arrive_landed(const AsyncOp& op);
  uint32_t covered_by_landing_arrive(int lane) const { return landing_[static_cast<size_t>(lane)]; }

  // Keeps those that needed(index) names, and those that are copies of them in other CTAs. Returns the new indices.
  std::vector<uint32_t> keep(std::vector<uint32_t> needed);

 private:
  std::vector<Operation> all_;
  struct Turn {                     // of the last operation that was issued
    uint64_t event = 0, first = 0;  // its issue, and that of the first lane's
    const Warp* warp = nullptr;
    const Inst* inst = nullptr;
    int lane = 0;
  } turn_;
  std::unordered_map<uint64_t, std::array<uint32_t, 32>> arrives_;  // under way, by number
  std::array<uint32_t, 32> landing_{};

  void count(AsyncOp& op, WarpOrder& issuer, Ordering& order, Operation& o);
};

}  // namespace emu::check
