#include "host/gemm_program.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "emulator/names.hpp"
#include "host/args.hpp"
#include "host/cublaslt.hpp"
#include "host/cuda_check.hpp"
#include "host/device.hpp"
#include "host/device_buffer.hpp"
#include "host/gemm_report.hpp"
#include "host/hash.hpp"
#include "host/inputs.hpp"
#include "host/poison.hpp"
#include "host/race.hpp"
#include "host/reference.hpp"
#include "host/tile_map.hpp"
#include "host/todo.hpp"

// Defined by the emulator; absent, so null, in a program for a GPU.
extern "C" __attribute__((weak)) void emu_declare_lesson();

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
    report_.m = options.m > 0 ? options.m : size;
    report_.n = options.n > 0 ? options.n : size;
    report_.k = options.k > 0 ? options.k : size;
    check_sizes(report_.m, report_.n, report_.k);
    report_.lesson = lesson.name;
    report_.title = lesson.title;
    report_.tile = lesson.tile;
    report_.stages = lesson.stages;
    report_.device = device.name;
    report_.data = options.data;
    report_.seed = options.seed;
    out_ = options.json == "-" ? stderr : stdout;  // the JSON object then has the standard output for itself
    open_json();
  }

  int run() {
    report_.print_header(out_);
    int code = kWrong;
    try {
      choose_variant();
      code = measure();
    } catch (const TodoOpen& todo) {
      code = finish(kTodo, "todo", todo.what());
    } catch (const KernelError& error) {
      code = explain_failure(error);
    }
    report_.print_verdict(out_);
    write_json();
    return code;
  }

 private:
  const Variant& find_variant() const {
    if (options_.variant.empty() && lesson_.pick)
      return lesson_.variants.at(lesson_.pick(report_.m, report_.n, report_.k));
    for (const Variant& variant : lesson_.variants) {
      if (options_.variant == variant.option) return variant;
    }
    throw UsageError("unknown option \"" + options_.variant + "\"");
  }

  // May throw TodoOpen: the choice itself can be an exercise.
  void choose_variant() {
    variant_ = find_variant();
    report_.variant = variant_.option;
    if (variant_.tile.bm) report_.tile = variant_.tile;
    if (variant_.stages) report_.stages = variant_.stages;
  }

  int measure() {
    prepare();
    report_.print_kernel(out_);
    const double first_ms = first_launch();
    const std::vector<uint16_t> got = download(sets_[0]);
    judge(got);
    report_.print_answer(out_);
    if (!report_.answer->right()) return finish(kWrong, "wrong", report_.answer->diagnosis.id);
    time_later_launches(first_ms);
    report_.print_times(out_);
    if (download(sets_[0]) != got) return finish(kWrong, "wrong", "unstable");
    return finish(kRight, "right", "right");
  }

  // Inputs, buffers, attributes. Everything that is not the kernel.
  void prepare() {
    a_ = random_matrix(report_.m, report_.k, 2 * options_.seed, options_.data);
    b_ = random_matrix(report_.n, report_.k, 2 * options_.seed + 1, options_.data);
    arm_todos();
    cuda_check(cudaFuncSetAttribute(variant_.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(variant_.smem_bytes)),
               "give the kernel its shared memory");
    cudaFuncAttributes attributes;
    cuda_check(cudaFuncGetAttributes(&attributes, variant_.kernel), "read the kernel's attributes");
    int ctas_per_sm = 0;  // the threads of a CTA are those of its launch bounds
    cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                   &ctas_per_sm, variant_.kernel, attributes.maxThreadsPerBlock, variant_.smem_bytes),
               "compute the kernel's occupancy");
    report_.kernel = {attributes.numRegs, ctas_per_sm, variant_.smem_bytes, attributes.localSizeBytes};
    add_set();
  }

  void add_set() {
    BufferSet set{upload(a_), upload(b_), device_buffer<bf16>(elements(report_.m, report_.n)), {}, {}};
    emu_name_matrix(set.a.get(), "A", static_cast<uint64_t>(report_.k));
    emu_name_matrix(set.b.get(), "B", static_cast<uint64_t>(report_.k));
    emu_name_matrix(set.c.get(), "C", static_cast<uint64_t>(report_.n));
    set.problem = {set.a.get(), set.b.get(), set.c.get(), report_.m, report_.n, report_.k};
    set.launch = options_.impostor.empty() ? variant_.prepare(set.problem) : impostor(set.problem);
    sets_.push_back(std::move(set));
  }

  // Kernels that do not compute: a comparison that lets one of them pass is broken.
  Launch impostor(const Problem& p) const {
    const size_t count = elements(report_.m, report_.n);
    if (options_.impostor == "zeros") return [=] { fill_bf16(p.c, count, 0); };
    if (options_.impostor == "nan") return [=] { fill_bf16(p.c, count, 0x7FFF); };
    return [] {};
  }

  // Poisons C and shared memory, runs the kernel once and returns the milliseconds it took.
  double first_launch() {
    const BufferSet& set = sets_[0];
    poison_result(set);
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

  void poison_result(const BufferSet& set) const {
    cuda_check(cudaMemset(set.c.get(), kPoison & 0xFF, elements(report_.m, report_.n) * sizeof(uint16_t)),
               "poison C");
  }

  // The last to write C is the kernel, whose result is looked at again. What only the first launch stores is missing then.
  void launch_again() {
    poison_result(sets_[0]);
    sets_[0].launch();
    cuda_check(cudaDeviceSynchronize(), "run the kernel");
  }

  std::vector<uint16_t> download(const BufferSet& set) const {
    std::vector<uint16_t> bits(elements(report_.m, report_.n));
    cuda_check(cudaMemcpy(bits.data(), set.c.get(), bits.size() * sizeof(uint16_t), cudaMemcpyDeviceToHost),
               "copy C to the host");
    return bits;
  }

  void judge(const std::vector<uint16_t>& got) {
    const int m = report_.m, n = report_.n, k = report_.k;
    GemmAnswer& answer = report_.answer.emplace();
    answer.hash = matrix_hash(got, m, n);
    answer.known = answer.hash == options_.known;
    answer.elements = elements(m, n);
    if (answer.known) return;
    constexpr double kCpuLimit = 1 << 30;  // multiplications that the CPU does in about a second
    const bool on_cpu = device_.emulator || static_cast<double>(m) * n * k < kCpuLimit;
    const std::vector<float> want = on_cpu
                                        ? reference_on_cpu(a_, b_, m, n, k)
                                        : reference_on_gpu(sets_[0].problem.a, sets_[0].problem.b, m, n, k);
    const Result result{got, want, m, n, tolerance_for(k, options_.data == Data::kIntegers)};
    const Tile& tile = report_.tile;
    answer.comparison = compare(result);
    answer.diagnosis = classify(result, answer.comparison, {a_, b_, m, n, k, tile.bm, tile.bn, tile.bk});
    if (answer.diagnosis.id == "partly-written")
      answer.diagnosis.reason += " " + about_hole(first_hole(result, tile.bm, tile.bn));
    answer.map = tile_map(result, tile.bm, tile.bn);
  }

  // Which elements nobody has stored, and who has stored those beside them, as far as the emulator has seen it.
  std::string about_hole(const Hole& hole) const {
    const auto span = [](const char* what, int begin, int count) {
      const std::string first = what + std::string(count == 1 ? " " : "s ") + std::to_string(begin);
      return count == 1 ? first : first + " to " + std::to_string(begin + count - 1);
    };
    const std::string words =
        "Nobody has stored " + span("row", hole.row, hole.rows) + ", " + span("column", hole.col, hole.cols);
    const std::pair<int, int> beside[] = {{hole.row - 1, hole.col},
                                          {hole.row, hole.col - 1},
                                          {hole.row + hole.rows, hole.col},
                                          {hole.row, hole.col + hole.cols}};
    for (const auto& [row, col] : beside) {
      if (row < 0 || col < 0 || row >= report_.m || col >= report_.n || !emu_writer_of) continue;
      const size_t at = static_cast<size_t>(row) * static_cast<size_t>(report_.n) + static_cast<size_t>(col);
      if (const char* writer = emu_writer_of(sets_[0].problem.c + at))
        return words + "; (" + std::to_string(row) + ", " + std::to_string(col) + ") beside it is from " +
               writer + ".";
    }
    return words + ".";
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
    report_.times = {"wall clock of the emulation", true, samples};
    if (options_.repeat > 1) launch_again();
  }

  void time_on_gpu() {
    constexpr double kWarmUpMs = 100;
    const size_t set_bytes = (a_.size() + b_.size() + elements(report_.m, report_.n)) * sizeof(uint16_t);
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
      report_.times = {"CUDA events", false, samples};
    }
    launch_again();
  }

  void race_cublas(const std::function<void(int)>& launch, int rounds) {
    std::vector<Problem> problems;
    for (const BufferSet& set : sets_) problems.push_back(set.problem);
    CublasLt cublas(report_.m, report_.n, report_.k);
    std::vector<Racer> rivals;
    for (int i = 0; i < cublas.algorithms(); ++i) {
      if (!cublas.launch(i, problems[0])) continue;
      rivals.push_back({cublas.name(i), [&cublas, &problems, i](int at) {
                          if (!cublas.launch(i, problems[static_cast<size_t>(at) % problems.size()]))
                            throw std::runtime_error(cublas.name(i) + " ran once, and does not any more");
                        }});
    }
    if (rivals.empty()) throw std::runtime_error("none of cuBLASLt's algorithms runs for these sizes");
    Racer ours{report_.lesson, launch};
    const Heat heat = options_.cool ? Heat::cool : Heat::sustained;
    const Racer& best = rivals[race(heat, ours, rivals, rounds)];
    report_.times = {"CUDA events", false, column(ours.readings, &Reading::ms)};
    report_.cublas = {heat, static_cast<int>(rivals.size()), best.name, ours.readings, best.readings};
  }

  int explain_failure(const KernelError& error) {
    const std::string todo = open_todo();
    return todo.empty() ? finish(kWrong, "error", error.what()) : finish(kTodo, "todo", todo);
  }

  int finish(int code, const char* verdict, const std::string& classification) {
    report_.verdict = verdict;
    report_.classification = classification;
    return code;
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
    const std::string text = report_.json();
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
  GemmReport report_;
  FILE* out_ = stdout;
  std::vector<uint16_t> a_, b_;
  std::vector<BufferSet> sets_;
  FILE* json_file_ = nullptr;
};

}  // namespace

int gemm_main(int argc, char** argv, const GemmLesson& lesson) {
  if (emu_declare_lesson) emu_declare_lesson();
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
