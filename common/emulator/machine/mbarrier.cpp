#include "emulator/machine/mbarrier.hpp"

#include <cstdlib>
#include <cstring>

#include "emulator/findings/report.hpp"
#include "emulator/machine/machine.hpp"

namespace emu {
namespace {

std::string number(uint64_t n) {
  return std::to_string(n);
}

std::string plural(uint64_t n, const char* what) {
  return number(n) + " " + what + (n == 1 ? "" : "s");
}

[[noreturn]] void barrier_fault(const At& at, const Mbarrier& bar, Id id, const std::string& title,
                                const std::string& why, const std::string& hint) {
  Finding f(id);
  f.title = title;
  f.state = bar.state();
  f.why = why;
  f.hint = hint;
  at.warp.machine.observers.tell(&Observer::on_mbarrier_fault, at, bar, f);
  at.fault(f);
}

void tell(const At& at, Mbarrier& bar, MbarrierOp op, int64_t amount, bool release) {
  at.warp.machine.observers.tell(&Observer::on_mbarrier, at, bar, op, amount, release);
  ++at.warp.machine.effects;
}

// 9.7.13.15.6: the current phase completes when nothing is pending and the tx-count is zero.
void check_completion(Warp& w, const Inst& in, Mbarrier& bar) {
  if (bar.pending != 0 || bar.tx_count != 0) return;
  ++bar.phase;
  bar.pending = bar.expected;
  bar.announced_bytes = bar.landed_bytes = bar.copies_landed = bar.arrived = 0;
  w.machine.observers.tell(&Observer::on_mbarrier_phase, w, in, bar);
}

void check_tx_range(const At& at, const Mbarrier& bar, int64_t next) {
  if (std::llabs(next) <= kMbarrierMaxCount) return;
  barrier_fault(at, bar, Id::tx_count_range,
                "the tx-count of " + bar.name_for(at.warp.cta) + " would become " + std::to_string(next),
                "a tx-count holds at most 1048575 bytes either way (PTX 9.7.13.15.2)",
                "let less than 1 MiB be outstanding in one phase of one mbarrier");
}

// pending -= count, the common part of every arrive.
void take_arrivals(const At& at, Mbarrier& bar, uint32_t count, bool completes) {
  if (count > bar.pending) {
    barrier_fault(
        at, bar, Id::arrival_count,
        bar.name_for(at.warp.cta) + " gets " + plural(count, "arrival") + " but only " + number(bar.pending) +
            " are pending in phase " + number(bar.phase),
        "every phase expects " + plural(bar.expected, "arrival") + "; " + number(bar.arrived) +
            " came before this one and the phase is not complete" +
            (bar.tx_count ? " because bytes are outstanding" : ""),
        "make the count of mbarrier.init the number of arrivals of one phase, or let each thread wait "
        "for the phase before it arrives again");
  }
  bar.pending -= count;
  bar.arrived += count;
  if (completes) check_completion(at.warp, at.inst, bar);
}

}  // namespace

std::string Mbarrier::name() const {
  return cta->program.barrier_name(address);
}

std::string Mbarrier::name_for(const Cta& reader) const {
  return name() + (&reader == cta ? "" : " of " + cta->text());
}

std::string Mbarrier::state() const {
  std::string text = "phase " + number(phase) + ": " + number(pending) + " of " +
                     plural(expected, "arrival") + " pending, tx-count ";
  text += std::to_string(tx_count);
  if (tx_count > 0) text += " bytes outstanding";
  if (tx_count < 0) text += " (more bytes landed than were announced)";
  if (init_source >= 0)
    text += "; initialised for " + number(initial) + " at " + cta->program.line_of(init_source).brief();
  return text;
}

Mbarrier* find_mbarrier(Cta& cta, uint64_t address) {
  auto it = cta.mbarriers.find(static_cast<uint32_t>(address));
  return it != cta.mbarriers.end() && it->second.valid && address == it->first ? &it->second : nullptr;
}

namespace {

// "full_bar[3]" behind "full_bar[2]"; "" where the name is no element's.
std::string name_behind(const std::string& name) {
  const size_t bracket = name.rfind('[');
  if (bracket == std::string::npos || name.back() != ']') return "";
  const std::string number = name.substr(bracket + 1, name.size() - bracket - 2);
  if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) return "";
  return name.substr(0, bracket + 1) + std::to_string(std::stoul(number) + 1) + "]";
}

void check_place(const At& at, Cta& cta, uint64_t address) {
  if (address % 8 != 0)
    at.fault(Id::misaligned_address, "the mbarrier address " + hex(address) + " is not a multiple of 8",
             "an mbarrier is an 8-byte object with 8-byte alignment (PTX 9.7.13.15.1)",
             "declare it as a 64-bit variable, or align the buffer it is carved from");
  if (!cta.shared_at(address, 8))
    at.fault(Id::out_of_bounds, "the mbarrier address " + hex(address) + " is outside shared memory",
             "the shared memory of " + cta.text() + " ends at " + hex(cta.shared.size()),
             "check the pointer, and the dynamic shared memory size of the launch");
}

}  // namespace

Mbarrier& mbarrier_at(const At& at, Cta& cta, uint64_t address) {
  if (Mbarrier* bar = find_mbarrier(cta, address)) return *bar;
  check_place(at, cta, address);
  const std::string name = cta.program.barrier_name(static_cast<uint32_t>(address));
  const bool was_one = cta.mbarriers.count(static_cast<uint32_t>(address)) != 0;
  const Mbarrier* before = was_one || address < 8 ? nullptr : find_mbarrier(cta, address - 8);
  const std::string behind = before ? name_behind(before->name()) : "";
  const std::string row = before
                              ? "; it lies behind " + before->name() + ", the last that is initialised at " +
                                    cta.program.line_of(before->init_source).brief()
                              : "";
  at.fault(
      Id::barrier_not_initialised,
      behind.empty() || behind == name
          ? name + " of " + cta.text() + " holds no mbarrier"
          : behind + " of " + cta.text() + " is no mbarrier: " + before->name() + " is the last of its row",
      was_one ? "it was destroyed by mbarrier.inval"
              : "no mbarrier.init has been executed on this address" + row,
      was_one  ? "initialise it again before this use"
      : before ? "let the loop of mbarrier.init reach it, or see which index runs past the last stage"
               : "let one thread execute mbarrier.init on it, and a barrier before any other thread uses it");
}

void mbarrier_init(const At& at, Cta& cta, uint64_t address, uint32_t count) {
  check_place(at, cta, address);
  if (count < 1 || count > kMbarrierMaxCount)
    at.fault(Id::arrival_count,
             "mbarrier.init of " + cta.program.barrier_name(static_cast<uint32_t>(address)) +
                 " with a count of " + number(count),
             "the count must be 1 .. 1048575 (PTX 9.7.13.15.9)",
             "give the number of arrivals that complete one phase");
  Mbarrier& bar = cta.mbarriers[static_cast<uint32_t>(address)];
  bar.cta = &cta;
  bar.address = static_cast<uint32_t>(address);
  tell(at, bar, MbarrierOp::init, count, false);
  bar.valid = true;
  bar.phase = 0;
  bar.expected = bar.pending = bar.initial = count;
  bar.tx_count = 0;
  ++bar.generation;
  bar.announced_bytes = bar.landed_bytes = bar.copies_landed = bar.arrived = bar.seen_phases = 0;
  bar.init_source = at.inst.source;
  bar.expect_source = -1;
  std::memcpy(cta.shared_at(address, 8), &kMbarrierBytes, 8);
}

void mbarrier_inval(const At& at, Cta& cta, uint64_t address) {
  const auto known = cta.mbarriers.find(static_cast<uint32_t>(address));
  if (known != cta.mbarriers.end() && known->first == address && !known->second.valid) {
    Finding f(Id::barrier_not_initialised);
    f.make_milder();
    f.title = known->second.name_for(at.warp.cta) + " is destroyed a second time";
    f.why = "mbarrier.inval has been executed on it, and no mbarrier.init since";
    f.hint = "let one owner execute mbarrier.inval, once";
    at.report(f);
    return;
  }
  Mbarrier& bar = mbarrier_at(at, cta, address);
  tell(at, bar, MbarrierOp::inval, 0, false);
  bar.valid = false;
  fill_poison(bar.cta->shared_at(bar.address, 8), 8);
}

void mbarrier_expect_tx(const At& at, Mbarrier& bar, uint32_t bytes) {
  check_tx_range(at, bar, bar.tx_count + bytes);
  tell(at, bar, MbarrierOp::expect_tx, bytes, false);
  bar.tx_count += bytes;
  bar.announced_bytes += bytes;
  bar.expect_source = at.inst.source;
  check_completion(at.warp, at.inst, bar);
}

void mbarrier_complete_tx(const At& at, Mbarrier& bar, uint64_t bytes, bool release) {
  check_tx_range(at, bar, bar.tx_count - static_cast<int64_t>(bytes));
  tell(at, bar, MbarrierOp::complete_tx, static_cast<int64_t>(bytes), release);
  bar.tx_count -= static_cast<int64_t>(bytes);
  bar.landed_bytes += bytes;
  ++bar.copies_landed;
  check_completion(at.warp, at.inst, bar);
}

uint64_t mbarrier_arrive(const At& at, Mbarrier& bar, uint32_t count, bool drop, bool no_complete,
                         bool release) {
  if (count < 1 || count > kMbarrierMaxCount)
    barrier_fault(at, bar, Id::arrival_count,
                  "an arrive on " + bar.name_for(at.warp.cta) + " with a count of " + number(count),
                  "the count must be 1 .. 1048575 (PTX 9.7.13.15.13)",
                  "arrive with the number of arrivals it stands for");
  if (drop && count > bar.expected)
    barrier_fault(at, bar, Id::arrival_count,
                  "mbarrier.arrive_drop takes " + number(count) + " from the " +
                      plural(bar.expected, "expected arrival") + " of " + bar.name_for(at.warp.cta),
                  "the expected count cannot fall below zero (PTX 9.7.13.15.2)",
                  "let each participant drop out once");
  if (no_complete && count == bar.pending && bar.tx_count == 0)
    barrier_fault(at, bar, Id::arrival_count,
                  "an arrive with .noComplete would complete phase " + number(bar.phase) + " of " +
                      bar.name_for(at.warp.cta),
                  ".noComplete promises that the phase stays incomplete (PTX 9.7.13.15.13)",
                  "arrive without .noComplete for the last arrivals of a phase");
  const uint64_t token = MbarrierState::pack(bar, bar.pending, no_complete);
  tell(at, bar, drop ? MbarrierOp::arrive_drop : MbarrierOp::arrive, count, release);
  if (drop) bar.expected -= count;
  take_arrivals(at, bar, count, true);
  return token;
}

void mbarrier_cp_async_increment(const At& at, Mbarrier& bar) {
  if (bar.pending == kMbarrierMaxCount)
    barrier_fault(at, bar, Id::arrival_count,
                  "the pending count of " + bar.name_for(at.warp.cta) + " would exceed 1048575",
                  "cp.async.mbarrier.arrive without .noinc adds a pending arrival first (PTX 9.7.13.15.15)",
                  "use .noinc, and count these arrivals in mbarrier.init");
  ++bar.pending;
  ++at.warp.machine.effects;
}

void mbarrier_cp_async_arrive(const At& at, Mbarrier& bar) {
  tell(at, bar, MbarrierOp::cp_async_arrive, 1, true);
  take_arrivals(at, bar, 1, true);
}

// ---- state tokens: pending 20 bits, phase 20, address / 8 in 18, noComplete 1, and a mark

constexpr uint64_t kStateMark = 0b10110;

uint64_t MbarrierState::pack(const Mbarrier& bar, uint32_t pending, bool no_complete) {
  return pending | (bar.phase & 0xFFFFF) << 20 | static_cast<uint64_t>(bar.address / 8) << 40 |
         static_cast<uint64_t>(no_complete) << 58 | kStateMark << 59;
}

bool MbarrierState::unpack(uint64_t bits, MbarrierState* out) {
  if (bits >> 59 != kStateMark) return false;
  out->pending = bits & 0xFFFFF;
  out->phase = bits >> 20 & 0xFFFFF;
  out->address = static_cast<uint32_t>(bits >> 40 & 0x3FFFF) * 8;
  out->no_complete = bits >> 58 & 1;
  return true;
}

// ---- reports

namespace {

// "96 of the 128 threads of CTA (0,0,0) have exited, the others wait"
std::string who_is_left(const Cta& cta) {
  uint64_t all = 0, live = 0;
  for (auto& warp : cta.warps) {
    all += static_cast<uint64_t>(__builtin_popcount(warp->initial));
    live += static_cast<uint64_t>(__builtin_popcount(warp->live));
  }
  if (live == all) return "all " + plural(all, "thread") + " of " + cta.text() + " wait";
  return number(all - live) + " of the " + plural(all, "thread") + " of " + cta.text() +
         (all - live == 1 ? " has" : " have") + " exited, the others wait";
}

std::string bytes_story(const Mbarrier& bar) {
  std::string copies = bar.copies_landed == 0
                           ? "no copy named this barrier in this phase"
                           : "the " + plural(bar.copies_landed, "copy operation") +
                                 " that named it brought " + plural(bar.landed_bytes, "byte");
  if (bar.announced_bytes == 0) return "no expect_tx announced bytes in this phase, and " + copies;
  return "expect_tx announced " + plural(bar.announced_bytes, "byte") + ", " + copies;
}

}  // namespace

std::string explain_stuck(Machine&, const Mbarrier& bar, uint64_t wanted) {
  if (!bar.valid) return bar.name() + " was destroyed by mbarrier.inval while a thread waits on it";
  if (bar.complete(wanted)) return "phase " + number(wanted) + " is complete: the waiter can go on";
  const std::string left = "; " + who_is_left(*bar.cta);
  const bool untouched = bar.pending == bar.expected && bar.tx_count == 0 && bar.landed_bytes == 0;
  std::string why;
  if (wanted > bar.phase) {
    why =
        "the wait is for phase " + number(wanted) + " while phase " + number(bar.phase) + " is not complete";
  } else if (untouched && bar.phase > 0) {
    why = "phase " + number(bar.phase - 1) + " is complete and nobody has arrived for phase " +
          number(bar.phase) + ": either the wait should have asked for parity " +
          number((bar.phase - 1) & 1) + " (the phase before), or the next arrivals never come";
  } else if (untouched) {
    why = "nobody arrives: phase 0 expects " + plural(bar.expected, "arrival") + " and has none";
  } else if (bar.pending > 0 && bar.tx_count == 0) {
    why = number(bar.pending) + " of " + plural(bar.expected, "arrival") + " never came (" +
          number(bar.arrived) + " did)" + (bar.landed_bytes ? "; the announced bytes are all there" : "");
  } else if (bar.pending > 0) {
    why = number(bar.pending) + " of " + plural(bar.expected, "arrival") + " never came, and " +
          bytes_story(bar);
  } else {
    why = bytes_story(bar);
  }
  return why + left;
}

std::string advise_stuck(const Mbarrier& bar, uint64_t) {
  if (bar.tx_count != 0 && bar.announced_bytes == 0)
    return "announce the bytes with mbarrier.arrive.expect_tx on this barrier (PTX 9.7.13.15.5)";
  if (bar.tx_count != 0 && bar.copies_landed == 0)
    return "start the announced copy, and let it name this barrier";
  if (bar.tx_count != 0) return "make tx_bytes the sum of the boxes copied on it (PTX 9.7.13.15.5)";
  if (bar.pending == bar.expected && bar.phase > 0)
    return "flip the parity once a phase, and only then; a first wait for an empty stage asks for parity 1";
  return "make the count of mbarrier.init the number of arrivals that really come in one phase";
}

}  // namespace emu
