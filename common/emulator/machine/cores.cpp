// One grid on several cores. Each has a machine of its own, which takes the next cluster when it has run one to its end, alone
// as on one core. That gives the same where no cluster asks for an order, or waits for another, which is not known before.
// So the memory that is written is saved first, and where anything is out of the ordinary (a fault, a finding, a wait that does
// not end), it is put back and the grid runs on one core: then it is as if there were no others.
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>

#include "emulator/machine/async.hpp"
#include "emulator/machine/machine.hpp"

namespace emu {

struct Machine::Deal {
  std::atomic<uint64_t> next{0};  // cluster
  std::atomic<bool> given_up{false};
  std::mutex mutex;
  std::exception_ptr time_limit;  // that a launch has used up is final
  std::unique_ptr<Undo> undo;
};

namespace {
struct OutOfTheOrdinary {};
}  // namespace

bool Machine::may_use_cores(const Grid& grid) const {
  return schedule.cores > 1 && grid.clusters > 1 && schedule.kind == Schedule::Kind::in_order &&
         !grid.config.cooperative && !grid.program.asks_for_order && !memory.has_host_ranges();
}

Machine::Machine(const Machine& first, Deal& deal)
    : memory(&first.memory), schedule(first.schedule), engine(std::make_unique<AsyncEngine>(*this)) {
  time_limit_s = first.time_limit_s;
  clock_ = first.clock_;
  findings.on_first = [&deal](const Finding&) {
    deal.given_up = true;
    throw OutOfTheOrdinary();
  };
  findings.begin(0);
}

void Machine::run_clusters(Grid& grid, Deal& deal) {
  start_time();
  Undo::mine = deal.undo.get();
  try {
    while (!deal.given_up) {
      const uint64_t number = deal.next++;
      if (number >= grid.clusters) break;
      next_order_ = number * grid.config.cluster.count();
      resident_.push_back(make_cluster(grid.program, grid.config, number));
      while (!resident_.empty() && !deal.given_up) {
        const bool ran = run_pass(grid.program);
        retire_finished(grid);
        if (!ran && !resident_.empty() && !can_go_on()) deal.given_up = true;
      }
      engine->drain();
    }
  } catch (const OutOfTheOrdinary&) {
  } catch (const Fault& fault) {
    deal.given_up = true;
    if (fault.finding().id == Id::time_limit) {
      const std::lock_guard<std::mutex> lock(deal.mutex);
      deal.time_limit = std::current_exception();
    }
  } catch (...) {  // no memory, for one: on one core it takes less
    deal.given_up = true;
  }
  Undo::mine = nullptr;
  clean_up(grid);
}

bool Machine::run_on_cores(Grid& grid) {
  if (!may_use_cores(grid)) return false;
  struct Core {
    std::vector<std::unique_ptr<Observer>> observers;
    std::unique_ptr<Machine> machine;
  };
  std::vector<Core> all(std::min<uint64_t>(schedule.cores, grid.clusters));
  for (Core& core : all)
    for (Observer* observer : observers.list()) {
      core.observers.push_back(observer->beside());
      if (!core.observers.back()) return false;
    }
  Deal deal;
  deal.undo = memory.make_undo();
  for (Core& core : all) {
    core.machine.reset(new Machine(*this, deal));
    for (auto& observer : core.observers) core.machine->observers.add(*observer);
  }
  const auto work = [&](Core& core) {
    Grid part{grid.program, grid.config};
    part.clusters = grid.clusters;
    core.machine->run_clusters(part, deal);
  };
  std::vector<std::thread> threads;
  try {
    for (size_t i = 1; i < all.size(); ++i) threads.emplace_back(work, std::ref(all[i]));
  } catch (const std::system_error&) {  // fewer, then
  }
  work(all[0]);
  for (std::thread& thread : threads) thread.join();
  if (deal.time_limit) std::rethrow_exception(deal.time_limit);
  if (deal.given_up) {
    deal.undo->restore();
    return false;
  }
  const uint64_t began = clock_;
  for (Core& core : all) {
    clock_ += core.machine->clock_ - began;
    effects += core.machine->effects;
    instructions += core.machine->instructions;
    for (size_t i = 0; i < core.observers.size(); ++i) observers.list()[i]->join(*core.observers[i]);
  }
  next_order_ = grid.config.grid.count();
  return true;
}

}  // namespace emu
