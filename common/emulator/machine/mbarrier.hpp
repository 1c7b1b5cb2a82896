// The mbarrier object: what the 8 opaque bytes in shared memory stand for (PTX ISA 9.7.13.15).
//
// A phase completes when no arrival is pending and the tx-count is zero; then, in the same step, the next phase begins
// with `expected` arrivals pending. The check is made by arrive-on and complete-tx operations (9.7.13.15.5, .6).
#pragma once

#include <cstdint>
#include <string>

#include "emulator/machine/observer.hpp"
#include "emulator/ptx/types.hpp"

namespace emu {

constexpr int64_t kMbarrierMaxCount = (1 << 20) - 1;  // arrivals, and bytes either way
// What the 8 bytes hold while they are an mbarrier: NaN as bf16, f16 and f32; a plain load sees nothing useful.
constexpr uint64_t kMbarrierBytes = 0x7FFF'BA44'7FFF'BA44ull;

struct Mbarrier {
  Cta* cta = nullptr;  // whose shared memory holds it
  uint32_t address = 0;
  bool valid = false;  // between init and inval
  uint64_t phase = 0;  // the current, incomplete phase; phases below it are complete
  uint32_t expected = 0, pending = 0;
  int64_t tx_count = 0;

  // ---- for reports and checks; no operation depends on them
  uint64_t generation = 0;       // how often this place was initialised
  uint64_t announced_bytes = 0;  // expect_tx in the current phase
  uint64_t landed_bytes = 0;     // complete_tx in the current phase
  uint64_t copies_landed = 0;    // complete_tx operations in the current phase
  uint64_t arrived = 0;          // arrivals in the current phase
  uint64_t seen_phases = 0;      // phases below this one have been seen complete by a test_wait or try_wait
  uint32_t initial = 0;          // arrivals a phase, as init gave them
  int32_t init_source = -1;      // Program source index of the init
  int32_t expect_source = -1;    // of the last expect_tx
  uint64_t observer_data = 0;    // for the checker's own use

  bool complete(uint64_t wanted) const { return phase > wanted; }
  // The phase that a wait by parity asks about: the current or the one before. Phase "-1" (a fresh barrier asked with
  // parity 1) is complete: the result is true exactly when parity differs from the current phase's.
  bool parity_complete(uint32_t parity) const { return (phase & 1) != parity; }
  std::string name() const;                       // "full_bar[2]" or hex address
  std::string name_for(const Cta& reader) const;  // of another CTA: "full_bar[2] of CTA (1,0,0)"
  // "phase 3: 0 of 1 arrivals pending, tx-count 2048 bytes outstanding; initialised for 1 at a.cu:68"
  std::string state() const;
};

// The barrier at a shared address of a CTA. Faults ("barrier-not-initialised", "misaligned-address",
// "out-of-bounds") at the instruction when there is none.
Mbarrier& mbarrier_at(const At& at, Cta& cta, uint64_t address);
// The same; null instead of a fault.
Mbarrier* find_mbarrier(Cta& cta, uint64_t address);

// ---- operations, each one atomic step. Lane and instruction are for observers and faults ("arrival-count",
// "tx-count-range"). from_engine: an asynchronous completion, not the instruction itself.
void mbarrier_init(const At& at, Cta& cta, uint64_t address, uint32_t count);
// Of an mbarrier that was invalidated before: advice, and nothing happens.
void mbarrier_inval(const At& at, Cta& cta, uint64_t address);
void mbarrier_expect_tx(const At& at, Mbarrier& bar, uint32_t bytes);
void mbarrier_complete_tx(const At& at, Mbarrier& bar, uint64_t bytes, bool release);
// Returns the state token of the phase before the arrive. drop: expected falls by count from the next phase on.
uint64_t mbarrier_arrive(const At& at, Mbarrier& bar, uint32_t count, bool drop, bool no_complete,
                         bool release);
// The arrive that follows a thread's cp.async; increment: the matching +1 of the form without .noinc.
void mbarrier_cp_async_increment(const At& at, Mbarrier& bar);
void mbarrier_cp_async_arrive(const At& at, Mbarrier& bar);

// ---- the 64-bit state token of arrive
struct MbarrierState {
  uint64_t phase = 0;    // low 20 bits
  uint32_t pending = 0;  // before the arrive
  uint32_t address = 0;
  bool no_complete = false;
  static uint64_t pack(const Mbarrier& bar, uint32_t pending, bool no_complete);
  // False when the bits are no token.
  static bool unpack(uint64_t bits, MbarrierState* out);
};

// Why nobody will complete phase `wanted` of the barrier, when no thread can run and no copy is in flight: bytes
// announced and never brought, arrivals missing, a parity that is one phase off; and who might have supplied it.
std::string explain_stuck(Machine& machine, const Mbarrier& bar, uint64_t wanted);
// The matching advice ("make tx_bytes the sum of the boxes copied on it").
std::string advise_stuck(const Mbarrier& bar, uint64_t wanted);

}  // namespace emu
