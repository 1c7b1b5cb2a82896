#include "host/gemm_program.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "host/args.hpp"
#include "host/classify.hpp"
#include "host/compare.hpp"
#include "host/cublaslt.hpp"
#include "host/cuda_check.hpp"
#include "host/device.hpp"
#include "host/device_buffer.hpp"
#include "host/hash.hpp"
#include "host/inputs.hpp"
#include "host/json.hpp"
#include "host/poison.hpp"
#include "host/race.hpp"
#include "host/reference.hpp"
#include "host/timing.hpp"
#include "host/todo.hpp"

namespace lab {
namespace {

enum ExitCode { kRight = 0, kWrong = 1, kBadUsage = 2, kTodo = 3, kSkipped = 77 };

// The kernel was launched and did not end well.
struct KernelError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One set of matrices on the device, with its launch prepared.
struct BufferSet {
  std::shared_ptr<bf16> a, b, c;
  Problem problem;
  Launch launch;
};

size_t elements(int rows, int cols) {
  return static_cast<size_t>(rows) * cols;
}

// The numbers with six digits, one space between them.
std::string spaced(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) {
    char digits[32];
    std::snprintf(digits, sizeof digits, text.empty() ? "%.6g" : " %.6g", number);
    text += digits;
  }
  return text;
}

std::shared_ptr<bf16> upload(const std::vector<uint16_t>& matrix) {
  auto memory = device_buffer<bf16>(matrix.size());
  cuda_check(
      cudaMemcpy(memory.get(), matrix.data(), matrix.size() * sizeof(uint16_t), cudaMemcpyHostToDevice),
      "copy a matrix to the device");
  return memory;
}

class Program {
 public:
  Program(const GemmLesson& lesson, const Options& options, const Device& device)
      : lesson_(lesson), options_(options), device_(device) {
    const int size = device.emulator ? 256 : 4096;
    m_ = options.m > 0 ? options.m : size;
    n_ = options.n > 0 ? options.n : size;
    k_ = options.k > 0 ? options.k : size;
    check_sizes(m_, n_, k_);
    variant_ = find_variant();
    if (variant_.tile.bm == 0) variant_.tile = lesson.tile;
    if (variant_.stages == 0) variant_.stages = lesson.stages;
    out_ = options.json == "-" ? stderr : stdout;  // the JSON object then has the standard output for itself
    open_json();
  }

  int run() {
    print_header();
    int code = kWrong;
    try {
      code = measure();
    } catch (const KernelError& error) {
      code = explain_failure(error);
    }
    write_json();
    return code;
  }

 private:
  const Variant& find_variant() const {
    if (options_.variant.empty() && lesson_.pick) return lesson_.variants.at(lesson_.pick(m_, n_, k_));
    for (const Variant& variant : lesson_.variants) {
      if (options_.variant == variant.option) return variant;
    }
    throw UsageError("unknown option \"" + options_.variant + "\"");
  }

  void print_header() {
    std::fprintf(out_, "%s: %s\n", lesson_.name, lesson_.title);
    std::fprintf(out_, "  device   %s\n", device_.name.c_str());
    std::fprintf(out_, "  problem  C[%d, %d] = A[%d, %d] * B[%d, %d]^T, %s data, seed %llu\n", m_, n_, m_, k_,
                 n_, k_, options_.data == Data::kBell ? "bell-shaped" : "integer",
                 static_cast<unsigned long long>(options_.seed));
    json_.add("lesson", lesson_.name);
    json_.add("variant", variant_.option);
    json_.add("device", device_.name);
    json_.add("m", m_);
    json_.add("n", n_);
    json_.add("k", k_);
    json_.add("seed", options_.seed);
    const Tile& tile = variant_.tile;
    json_.add("tile",
              std::to_string(tile.bm) + "x" + std::to_string(tile.bn) + "x" + std::to_string(tile.bk));
    json_.add("stages", variant_.stages);
  }

  int measure() {
    prepare();
    const double first_ms = first_launch();
    const std::vector<uint16_t> got = download(sets_[0]);
    const bool right = judge(got);
    if (!right) return kWrong;
    time_later_launches(first_ms);
    if (download(sets_[0]) != got) {
      std::fprintf(out_, "  result   wrong: a later launch gave another result than the first (unstable)\n");
      add_verdict("wrong", "unstable");
      return kWrong;
    }
    add_verdict("right", "right");
    return kRight;
  }

  // Inputs, buffers, attributes. Everything that is not the kernel.
  void prepare() {
    a_ = random_matrix(m_, k_, 2 * options_.seed, options_.data);
    b_ = random_matrix(n_, k_, 2 * options_.seed + 1, options_.data);
    arm_todos();
    cuda_check(cudaFuncSetAttribute(variant_.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(variant_.smem_bytes)),
               "give the kernel its shared memory");
    cudaFuncAttributes attributes;
    cuda_check(cudaFuncGetAttributes(&attributes, variant_.kernel), "read the kernel's attributes");
    const std::string registers = attributes.numRegs > 0 ? std::to_string(attributes.numRegs) : "n/a";
    std::fprintf(
        out_, "  kernel   tile %dx%dx%d, %d stage%s, %.1f KiB shared memory a CTA, %s registers a thread\n",
        variant_.tile.bm, variant_.tile.bn, variant_.tile.bk, variant_.stages,
        variant_.stages == 1 ? "" : "s", variant_.smem_bytes / 1024.0, registers.c_str());
    int ctas_per_sm = 0;  // the threads of a CTA are those of its launch bounds
    cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                   &ctas_per_sm, variant_.kernel, attributes.maxThreadsPerBlock, variant_.smem_bytes),
               "compute the kernel's occupancy");
    json_.add("registers", attributes.numRegs);
    json_.add("ctas_per_sm", ctas_per_sm);
    json_.add("smem_bytes", static_cast<uint64_t>(variant_.smem_bytes));
    add_set();
  }

  void add_set() {
    BufferSet set{upload(a_), upload(b_), device_buffer<bf16>(elements(m_, n_)), {}, {}};
    set.problem = {set.a.get(), set.b.get(), set.c.get(), m_, n_, k_};
    set.launch = options_.impostor.empty() ? variant_.prepare(set.problem) : impostor(set.problem);
    sets_.push_back(std::move(set));
  }

  // Kernels that do not compute: a comparison that lets one of them pass is broken.
  Launch impostor(const Problem& p) const {
    const size_t count = elements(m_, n_);
    if (options_.impostor == "zeros") return [=] { fill_bf16(p.c, count, 0); };
    if (options_.impostor == "nan") return [=] { fill_bf16(p.c, count, 0x7FFF); };
    return [] {};
  }

  // Poisons C and shared memory, runs the kernel once and returns the milliseconds it took.
  double first_launch() {
    const BufferSet& set = sets_[0];
    cuda_check(cudaMemset(set.c.get(), kPoison & 0xFF, elements(m_, n_) * sizeof(uint16_t)), "poison C");
    if (!device_.emulator) poison_shared_memory();  // the emulator does so by itself
    cuda_check(cudaDeviceSynchronize(), "poison the memory");
    try {
      const double ms = wall_ms(set.launch);
      cuda_check(cudaDeviceSynchronize(), "run the kernel");
      return ms;
    } catch (const std::runtime_error& error) {
      throw KernelError(error.what());
    }
  }

  std::vector<uint16_t> download(const BufferSet& set) const {
    std::vector<uint16_t> bits(elements(m_, n_));
    cuda_check(cudaMemcpy(bits.data(), set.c.get(), bits.size() * sizeof(uint16_t), cudaMemcpyDeviceToHost),
               "copy C to the host");
    return bits;
  }

  bool judge(const std::vector<uint16_t>& got) {
    const std::string hash = matrix_hash(got, m_, n_);
    json_.add("result_hash", hash);
    const bool known = hash == options_.known;
    json_.add("compared_with", known ? "known result" : "reference");
    if (known) {
      std::fprintf(out_, "  result   right: equal to a result that was compared with the reference (%s)\n",
                   hash.c_str());
      return true;
    }
    constexpr double kCpuLimit = 1 << 30;  // multiplications that the CPU does in about a second
    const bool on_cpu = device_.emulator || static_cast<double>(m_) * n_ * k_ < kCpuLimit;
    const std::vector<float> want =
        on_cpu ? reference_on_cpu(a_, b_, m_, n_, k_)
               : reference_on_gpu(sets_[0].problem.a, sets_[0].problem.b, m_, n_, k_);
    const Result result{got, want, m_, n_, tolerance_for(k_, options_.data == Data::kIntegers)};
    const Comparison comparison = compare(result);
    const Diagnosis diagnosis = classify(
        result, comparison, {a_, b_, m_, n_, k_, variant_.tile.bm, variant_.tile.bn, variant_.tile.bk});
    json_.add("max_error", comparison.max_error);
    json_.add("mismatches", comparison.mismatches);
    const unsigned long long all = elements(m_, n_), wrong = comparison.mismatches;
    if (wrong == 0) {
      std::fprintf(out_, "  result   right: %llu elements, largest error %.3g\n", all, comparison.max_error);
      return true;
    }
    std::fprintf(out_, "  result   wrong: %llu of %llu elements, in rows %d..%d, columns %d..%d (%s)\n",
                 wrong, all, comparison.row_begin, comparison.row_end - 1, comparison.col_begin,
                 comparison.col_end - 1, diagnosis.id.c_str());
    std::fprintf(out_, "    %s\n%s", diagnosis.reason.c_str(), describe_mismatches(comparison).c_str());
    add_verdict("wrong", diagnosis.id);
    return false;
  }

  void time_later_launches(double first_ms) {
    try {
      if (device_.emulator) {
        time_on_emulator(first_ms);
      } else {
        time_on_gpu();
      }
    } catch (const std::runtime_error& error) {
      // What a kernel did stays with the device; a call that failed (no memory, say) leaves it as it was.
      if (cudaDeviceSynchronize() == cudaSuccess) throw;
      throw KernelError(std::string("the first launch was right, a later one failed: ") + error.what());
    }
  }

  void time_on_emulator(double first_ms) {
    std::vector<double> samples = {first_ms};
    // Nothing comes between the launches, so that kernels may overlap where they allow it.
    while (static_cast<int>(samples.size()) < options_.repeat) samples.push_back(wall_ms(sets_[0].launch));
    cuda_check(cudaDeviceSynchronize(), "run the kernel");
    const Statistics time = statistics(samples);
    std::fprintf(out_, "  time     %.0f ms to emulate (the CPU's wall clock, says nothing about a GPU)\n",
                 time.median);
    add_time("wall clock of the emulation", time, samples);
  }

  void time_on_gpu() {
    constexpr double kWarmUpMs = 100;
    const size_t set_bytes = (a_.size() + b_.size() + elements(m_, n_)) * sizeof(uint16_t);
    const int wanted = buffer_sets(set_bytes, device_.l2_bytes);
    while (static_cast<int>(sets_.size()) < wanted) add_set();
    const auto launch = [this](int i) { sets_[i % sets_.size()].launch(); };
    const int repeat = options_.repeat > 0 ? options_.repeat : 20;
    if (options_.cublas) {
      race_cublas(launch, repeat);
    } else {
      const double rough_ms = event_ms(launch, 3);
      for (int i = 0; i < kWarmUpMs / std::max(rough_ms, 1e-3); ++i) launch(i);
      cuda_check(cudaDeviceSynchronize(), "warm up");
      std::vector<double> samples;
      for (int i = 0; i < repeat; ++i) samples.push_back(event_ms(launch, launches_per_sample(rough_ms)));
      report_time(samples);
    }
    launch(0);  // the last to write C is the kernel, whose result is looked at again
    cuda_check(cudaDeviceSynchronize(), "run the kernel");
  }

  void race_cublas(const std::function<void(int)>& launch, int rounds) {
    std::vector<Problem> problems;
    for (const BufferSet& set : sets_) problems.push_back(set.problem);
    CublasLt cublas(m_, n_, k_);
    std::vector<Racer> rivals;
    for (int i = 0; i < cublas.algorithms(); ++i) {
      if (!cublas.launch(i, problems[0])) continue;
      rivals.push_back({cublas.name(i), [&cublas, &problems, i](int at) {
                          if (!cublas.launch(i, problems[static_cast<size_t>(at) % problems.size()]))
                            throw std::runtime_error(cublas.name(i) + " ran once, and does not any more");
                        }});
    }
    if (rivals.empty()) throw std::runtime_error("none of cuBLASLt's algorithms runs for these sizes");
    Racer ours{lesson_.name, launch};
    const Racer& best = rivals[race(options_.cool ? Heat::cool : Heat::sustained, ours, rivals, rounds)];

    std::vector<double> ratios;
    for (size_t i = 0; i < ours.readings.size(); ++i)
      ratios.push_back(best.readings[i].ms / ours.readings[i].ms);
    report_time(column(ours, [](const Reading& r) { return r.ms; }));
    const Statistics other = statistics(column(best, [](const Reading&r) { return r.ms; })),
                     ratio = statistics(ratios);
    std::fprintf(
        out_,
        "  cuBLASLt %.4f ms, %.1f TFLOP/s; this kernel reaches %.3f of it (%.3f to %.3f)\n           %s, the fastest of %zu\n",
        other.median, tflops(other.median), ratio.median, ratio.min, ratio.max, best.name.c_str(),
        rivals.size());
    json_.add("state", options_.cool ? "cool" : "sustained");
    json_.add("cublas_algorithm", best.name);
    json_.add("cublas_algorithms", static_cast<int>(rivals.size()));
    json_.add("cublas_ms_samples", spaced(column(best, [](const Reading& r) { return r.ms; })));
    json_.add("cublas_ms_median", other.median);
    json_.add("cublas_tflops", tflops(other.median));
    json_.add("ratio_median", ratio.median);
    json_.add("ratio_min", ratio.min);
    json_.add("ratio_max", ratio.max);
    for (const auto& [prefix, racer] : {std::pair<const char*, const Racer&>{"", ours}, {"cublas_", best}}) {
      const std::string name = prefix;
      json_.add(name + "mhz_samples",
                spaced(column(racer, [](const Reading& r) { return double(r.during.sm_mhz); })));
      json_.add(name + "watts_samples",
                spaced(column(racer, [](const Reading& r) { return r.during.watts; })));
    }
  }

  static std::vector<double> column(const Racer& racer, double (*value)(const Reading&)) {
    std::vector<double> values;
    for (const Reading& r : racer.readings) values.push_back(value(r));
    return values;
  }

  void report_time(const std::vector<double>& samples) {
    const Statistics time = statistics(samples);
    std::fprintf(out_, "  time     %.4f ms (median of %d, %.4f to %.4f), %.1f TFLOP/s\n", time.median,
                 time.samples, time.min, time.max, tflops(time.median));
    add_time("CUDA events", time, samples);
  }

  double tflops(double ms) const { return 2.0 * m_ * n_ * k_ / (ms * 1e-3) / 1e12; }

  void add_time(const char* clock, const Statistics& time, const std::vector<double>& samples) {
    json_.add("clock", clock);
    json_.add("ms_samples", spaced(samples));
    json_.add("ms_median", time.median);
    json_.add("ms_min", time.min);
    json_.add("ms_max", time.max);
    json_.add("samples", time.samples);
    json_.add("tflops", tflops(time.median));
  }

  int explain_failure(const KernelError& error) {
    const std::string todo = open_todo();
    if (!todo.empty()) {
      std::fprintf(out_, "  result   %s\n", todo.c_str());
      add_verdict("todo", todo);
      return kTodo;
    }
    std::fprintf(out_, "  result   error: %s\n", error.what());
    add_verdict("error", error.what());
    return kWrong;
  }

  void add_verdict(const char* verdict, const std::string& classification) {
    json_.add("verdict", verdict);
    json_.add("classification", classification);
  }

  // Before the work, so that a path that cannot be written costs nothing.
  void open_json() {
    if (options_.json.empty()) return;
    json_file_ = options_.json == "-" ? stdout : std::fopen(options_.json.c_str(), "w");
    if (json_file_ == nullptr) {
      throw UsageError("--json cannot write " + options_.json + ": " + std::strerror(errno));
    }
  }

  void write_json() {
    if (json_file_ == nullptr) return;
    std::fflush(out_);
    const std::string text = json_.text();
    const bool written = std::fwrite(text.data(), 1, text.size(), json_file_) == text.size();
    const bool closed = (json_file_ == stdout ? std::fflush(stdout) : std::fclose(json_file_)) == 0;
    json_file_ = nullptr;
    if (!written || !closed) {
      throw std::runtime_error("cannot write " + options_.json + ": " + std::strerror(errno));
    }
  }

  const GemmLesson& lesson_;
  const Options& options_;
  const Device& device_;
  Variant variant_;
  int m_ = 0, n_ = 0, k_ = 0;
  FILE* out_ = stdout;
  std::vector<uint16_t> a_, b_;
  std::vector<BufferSet> sets_;
  JsonObject json_;
  FILE* json_file_ = nullptr;
};

}  // namespace

int gemm_main(int argc, char** argv, const GemmLesson& lesson) {
  std::vector<ExtraOption> extra;
  for (const Variant& variant : lesson.variants) {
    if (variant.option[0] != 0) extra.push_back({variant.option, variant.help});
  }
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // keeps its order with the emulator's reports on stderr
  try {
    const Options options = parse_options(std::vector<std::string>(argv + 1, argv + argc), extra);
    if (options.help) {
      std::fputs(usage(lesson.name, lesson.title, extra).c_str(), stdout);
      return kRight;
    }
    const auto given = [](int size) { return size > 0 ? size : 8; };
    check_sizes(given(options.m), given(options.n), given(options.k));  // before a device is looked for
    const Device device = current_device();
    if (options.cublas && device.emulator) {
      throw UsageError("--cublas measures a GPU; this program runs on the emulator");
    }
    if (options.sms > 0 && !lesson.takes_sms) {
      throw UsageError("--sms has no meaning here: this program starts a CTA for every tile");
    }
    if (options.sms > device.multiprocessors) {
      throw UsageError("--sms " + std::to_string(options.sms) +
                       " is more than the device has: " + std::to_string(device.multiprocessors));
    }
    limit_multiprocessors(options.sms);
    return Program(lesson, options, device).run();
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s. `%s --help` lists the options.\n", lesson.name, error.what(), argv[0]);
    return kBadUsage;
  } catch (const NoDevice& error) {
    std::fprintf(stderr, "%s: skipped: %s\n", lesson.name, error.what());
    return kSkipped;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", lesson.name, error.what());
    return kBadUsage;
  }
}

}  // namespace lab
