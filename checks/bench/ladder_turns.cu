// Times the programs of the ladder in turns, all in one process: which of two is the faster is then a question of the same
// minute, the same clock and the same neighbours. Each program is a shared object made of its source with gemm_main renamed to
// hand_over (CMake's target ladder_turns makes them).
//
// Usage: ladder_turns [--seed S] [--rounds N] [--sizes 2048,4096] [--state sustained|resident] program.so...
// Prints a CSV table, a row for each program and size. The order of the turns is drawn anew for each round, from the seed. State:
//   sustained   no pause; a sample is 40 ms of launches, which go round enough matrices that L2 has none of the next
//   resident    the same with one set of matrices, so that those of small problems stay in L2
// sm_mhz is the clock at which the SMs ran on the average of a sample, from their cycle counters; mhz is what the driver said in it.
// Exit: 0 all were right, 1 one was wrong, 2 for bad arguments or environment, 77 without a GPU.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/compare.hpp"
#include "host/cuda_check.hpp"
#include "host/device.hpp"
#include "host/device_buffer.hpp"
#include "host/gemm_program.hpp"
#include "host/gpu_state.hpp"
#include "host/inputs.hpp"
#include "host/reference.hpp"
#include "host/timing.hpp"

namespace lab {

GemmLesson handed;

// What the mains of the programs call in place of gemm_main.
int hand_over(int, char**, const GemmLesson& lesson) {
  handed = lesson;
  return 0;
}

}  // namespace lab

namespace {

using Matrix = std::shared_ptr<lab::bf16>;
constexpr int kMostSms = 256;

struct Stamp {
  unsigned long long cycles, nanoseconds;
};

// Every SM leaves its cycle counter and the time: CTAs of 1024 threads, as many as there are SMs.
__global__ void stamp(Stamp* stamps) {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  Stamp now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now.nanoseconds));
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now.cycles));
  if (sm < kMostSms && threadIdx.x == 0) stamps[sm] = now;
}

struct Reading {
  double ms, sm_mhz, mhz, watts;
};

struct Racer {
  std::string name;
  lab::GemmLesson lesson;
  lab::Variant variant = {};
  std::vector<lab::Launch> launches = {};
  std::vector<Reading> readings = {};
};

struct Options {
  unsigned seed = 1;
  int rounds = 6;
  bool resident = false;
  std::vector<int> sizes = {2048, 4096, 8192};
  std::vector<std::string> programs = {};
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      o.programs.push_back(word);
      continue;
    }
    if (++i == argc) throw std::invalid_argument(word + " needs a value");
    const std::string value = argv[i];
    if (word == "--seed") {
      o.seed = static_cast<unsigned>(std::stoul(value));
    } else if (word == "--rounds") {
      o.rounds = std::max(1, std::stoi(value));
    } else if (word == "--state" && (value == "resident" || value == "sustained")) {
      o.resident = value == "resident";
    } else if (word == "--sizes") {
      o.sizes.clear();
      for (size_t at = 0; at < value.size(); at = std::min(value.find(',', at), value.size() - 1) + 1)
        o.sizes.push_back(std::stoi(value.substr(at)));
    } else {
      throw std::invalid_argument(word + " " + value + " is not known");
    }
  }
  if (o.programs.empty()) throw std::invalid_argument("no program.so is named");
  return o;
}

Racer loaded(const std::string& path) {
  void* object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto entry =
      object ? reinterpret_cast<int (*)(int, char**)>(dlsym(object, "main")) : nullptr;  // NOLINT
  if (!entry) throw std::runtime_error(std::string("cannot load ") + dlerror());
  entry(0, nullptr);
  const size_t begin = path.rfind('/') + 1;
  return {path.substr(begin, path.rfind('.') - begin), lab::handed};
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Race {
 public:
  Race(const Options& options, std::vector<Racer>& racers, int size)
      : options_(options),
        racers_(racers),
        size_(size),
        stamps_(lab::device_buffer<Stamp>(2 * kMostSms)),
        stamp_ms_(lab::event_ms([this](int) { leave_stamps(0); }, 20)) {
    const auto a = lab::random_matrix(size, size, 2 * options.seed, lab::Data::kBell);
    const auto b = lab::random_matrix(size, size, 2 * options.seed + 1, lab::Data::kBell);
    const size_t bytes = a.size() * sizeof(uint16_t);
    const int sets = options.resident ? 1 : lab::buffer_sets(3 * bytes, lab::current_device().l2_bytes);
    for (int i = 0; i < sets; ++i) {
      Matrix memory[3];
      for (Matrix& m : memory) m = lab::device_buffer<lab::bf16>(a.size());
      lab::cuda_check(cudaMemcpy(memory[0].get(), a.data(), bytes, cudaMemcpyHostToDevice), "copy A");
      lab::cuda_check(cudaMemcpy(memory[1].get(), b.data(), bytes, cudaMemcpyHostToDevice), "copy B");
      problems_.push_back({memory[0].get(), memory[1].get(), memory[2].get(), size, size, size});
      held_.insert(held_.end(), std::begin(memory), std::end(memory));
    }
  }

  // Whether all are right. The first result is compared with the reference; equal ones need not be.
  bool judge() {
    const lab::Problem& p = problems_[0];
    const size_t count = static_cast<size_t>(size_) * size_;
    const std::vector<float> want = lab::reference_on_gpu(p.a, p.b, size_, size_, size_);
    std::vector<uint16_t> known, got(count);
    bool all_right = true;
    for (Racer& r : racers_) {
      r.variant = r.lesson.variants.at(r.lesson.pick ? r.lesson.pick(size_, size_, size_) : 0);
      if (r.variant.smem_bytes)
        lab::cuda_check(cudaFuncSetAttribute(r.variant.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(r.variant.smem_bytes)),
                        "give the kernel its shared memory");
      r.launches.clear();
      r.readings.clear();
      for (const lab::Problem& each : problems_) r.launches.push_back(r.variant.prepare(each));
      lab::cuda_check(cudaMemset(p.c, 0xFF, count * sizeof(uint16_t)), "poison C");
      r.launches[0]();
      lab::cuda_check(cudaMemcpy(got.data(), p.c, count * sizeof(uint16_t), cudaMemcpyDeviceToHost),
                      r.name.c_str());
      if (got == known) continue;
      const auto c = lab::compare({got, want, size_, size_, lab::tolerance_for(size_, false)});
      if (c.mismatches == 0) {
        known = got;
        continue;
      }
      std::fprintf(stderr, "ladder_turns: %s is wrong at %d:\n%s", r.name.c_str(), size_,
                   lab::describe_mismatches(c).c_str());
      all_right = false;
    }
    return all_right;
  }

  void run() {
    constexpr double kWarmUp = 0.7;
    const double begun = seconds();
    unsigned turn = 0;
    do round(turn++);
    while (seconds() - begun < kWarmUp);
    for (Racer& r : racers_) r.readings.clear();
    for (int i = 0; i < options_.rounds; ++i) round(turn++);
  }

  void print() const {
    for (const Racer& r : racers_) {
      const auto column = [&](double Reading::*member) {
        std::vector<double> out;
        for (const Reading& reading : r.readings) out.push_back(reading.*member);
        return out;
      };
      const lab::Statistics ms = lab::statistics(column(&Reading::ms));
      const lab::Tile& tile = r.variant.tile.bm ? r.variant.tile : r.lesson.tile;
      std::printf("%s,%d,%d,%d,%u,%s,%dx%dx%d,%.6g,%.6g,%.6g,%d,%.6g,%s", r.name.c_str(), size_, size_, size_,
                  options_.seed, r.variant.option, tile.bm, tile.bn, tile.bk, ms.median, ms.min, ms.max,
                  ms.samples, 2e-9 * size_ * size_ * size_ / ms.median,
                  options_.resident ? "resident" : "sustained");
      for (const auto member : {&Reading::ms, &Reading::sm_mhz, &Reading::mhz, &Reading::watts}) {
        const char* before = ",";
        for (const double value : column(member)) std::printf("%s%.6g", before, value), before = " ";
      }
      std::printf("\n");
    }
    std::fflush(stdout);
  }

 private:
  void round(unsigned turn) {
    std::vector<Racer*> order;
    for (Racer& r : racers_) order.push_back(&r);
    std::mt19937 random(options_.seed * 1000003u + static_cast<unsigned>(size_) * 101u + turn);
    std::shuffle(order.begin(), order.end(), random);
    for (Racer* r : order) r->readings.push_back(read(*r));
  }

  Reading read(const Racer& r) {
    const auto launch = [&](int i) { r.launches[static_cast<size_t>(i) % r.launches.size()](); };
    const double rough = r.readings.empty() ? lab::event_ms(launch, 2) : r.readings.back().ms;
    const int launches = lab::launches_per_sample(rough, 40);
    Reading reading = {};
    // Stamps right before the first launch and behind the last; what they take is known.
    const auto stamped = [&](int i) {
      if (i == 0) leave_stamps(0);
      launch(i);
      if (i == launches - 1) leave_stamps(kMostSms);
    };
    reading.ms = lab::event_ms(stamped, launches, [&] {
      const lab::GpuState state = lab::gpu_state();
      reading.mhz = state.sm_mhz;
      reading.watts = state.watts;
    });
    reading.ms -= 2 * stamp_ms_ / launches;
    reading.sm_mhz = clock_between_stamps();
    return reading;
  }

  void leave_stamps(int at) const { stamp<<<multiprocessors_, 1024>>>(stamps_.get() + at); }

  double clock_between_stamps() const {
    Stamp seen[2 * kMostSms];
    lab::cuda_check(cudaMemcpy(seen, stamps_.get(), sizeof seen, cudaMemcpyDeviceToHost), "read the stamps");
    std::vector<double> mhz;
    for (int sm = 0; sm < kMostSms; ++sm) {
      const Stamp &first = seen[sm], &last = seen[kMostSms + sm];
      if (last.nanoseconds > first.nanoseconds && first.nanoseconds)
        mhz.push_back(1e3 * static_cast<double>(last.cycles - first.cycles) /
                      static_cast<double>(last.nanoseconds - first.nanoseconds));
    }
    return mhz.empty() ? -1 : lab::statistics(mhz).median;
  }

  const Options& options_;
  std::vector<Racer>& racers_;
  int size_;
  int multiprocessors_ = lab::current_device().multiprocessors;
  std::shared_ptr<Stamp> stamps_;
  double stamp_ms_;
  std::vector<lab::Problem> problems_;
  std::vector<Matrix> held_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    if (lab::current_device().emulator) throw lab::NoDevice("it takes a GPU to time a ladder");
    std::vector<Racer> racers;
    for (const std::string& path : options.programs) racers.push_back(loaded(path));
    std::printf(
        "lesson,m,n,k,process,variant,tile,ms_median,ms_min,ms_max,samples,tflops,state,ms_samples,"
        "sm_mhz_samples,mhz_samples,watts_samples\n");
    bool all_right = true;
    for (const int size : options.sizes) {
      Race race(options, racers, size);
      all_right &= race.judge();
      race.run();
      race.print();
      for (Racer& r : racers) r.launches.clear();
    }
    return all_right ? 0 : 1;
  } catch (const lab::NoDevice& error) {
    std::fprintf(stderr, "ladder_turns: skipped: %s\n", error.what());
    return 77;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ladder_turns: %s\n", error.what());
    return 2;
  }
}
