#include "host/race.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "host/gpu_state.hpp"
#include "host/timing.hpp"

namespace lab {
namespace {

constexpr int kChoosingRounds = 4;
constexpr double kClearlySlower = 1.03;  // than the best rival, by the medians of the choosing rounds
constexpr size_t kMostFinalists = 3;
constexpr double kWarmUpMs = 700;

double sample_ms(Heat heat) {
  return heat == Heat::sustained ? 40 : 2;
}

void take_reading(Heat heat, Racer& racer) {
  if (heat == Heat::cool) std::this_thread::sleep_for(std::chrono::milliseconds(40));
  const double rough_ms = racer.readings.empty() ? event_ms(racer.launch, 2) : racer.readings.back().ms;
  Reading reading;
  reading.ms = event_ms(racer.launch, launches_per_sample(rough_ms, sample_ms(heat)), [&] {
    const GpuState state = gpu_state();
    reading.mhz = state.sm_mhz;
    reading.watts = state.watts;
  });
  racer.readings.push_back(reading);
}

// One reading of each, the first of them another one every time.
void take_round(Heat heat, const std::vector<Racer*>& racers, int round) {
  for (size_t i = 0; i < racers.size(); ++i)
    take_reading(heat, *racers[(i + static_cast<size_t>(round)) % racers.size()]);
}

}  // namespace

const char* name_of(Heat heat) {
  return heat == Heat::cool ? "cool" : "sustained";
}

std::vector<double> column(const std::vector<Reading>& readings, double Reading::*member) {
  std::vector<double> out;
  for (const Reading& r : readings) out.push_back(r.*member);
  return out;
}

double Racer::median_ms() const {
  return statistics(column(readings, &Reading::ms)).median;
}

size_t race(Heat heat, Racer& ours, std::vector<Racer>& rivals, int rounds) {
  std::vector<Racer*> all = {&ours};
  for (Racer& r : rivals) all.push_back(&r);
  if (heat == Heat::sustained) {
    const auto start = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> warm_up(kWarmUpMs);
    for (int round = 0; std::chrono::steady_clock::now() - start < warm_up; ++round)
      take_round(heat, all, round);
  }
  for (Racer* r : all) r->readings.clear();
  for (int round = 0; round < kChoosingRounds; ++round) take_round(heat, all, round);

  std::vector<Racer*> finalists;
  for (Racer& r : rivals) finalists.push_back(&r);
  std::stable_sort(finalists.begin(), finalists.end(),
                   [](const Racer* a, const Racer* b) { return a->median_ms() < b->median_ms(); });
  const double limit = finalists[0]->median_ms() * kClearlySlower;
  size_t kept = 1;
  while (kept < std::min(kMostFinalists, finalists.size()) && finalists[kept]->median_ms() < limit) ++kept;
  finalists.resize(kept);

  std::vector<Racer*> last = {&ours};
  last.insert(last.end(), finalists.begin(), finalists.end());
  for (Racer* r : last) r->readings.clear();
  for (int round = 0; round < rounds; ++round) take_round(heat, last, round);
  const auto fastest =
      std::min_element(finalists.begin(), finalists.end(),
                       [](const Racer* a, const Racer* b) { return a->median_ms() < b->median_ms(); });
  return static_cast<size_t>(*fastest - rivals.data());
}

}  // namespace lab
