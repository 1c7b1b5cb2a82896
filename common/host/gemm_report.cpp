#include "host/gemm_report.hpp"

#include "json/json.hpp"

namespace lab {
namespace {

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

unsigned long long wide(uint64_t value) {
  return value;
}

}  // namespace

void GemmReport::print_header(FILE* out) const {
  std::fprintf(out, "%s: %s\n", lesson.c_str(), title.c_str());
  std::fprintf(out, "  device   %s\n", device.c_str());
  std::fprintf(out, "  problem  C[%d, %d] = A[%d, %d] * B[%d, %d]^T, %s data, seed %llu\n", m, n, m, k, n, k,
               data == Data::kBell ? "bell-shaped" : "integer", wide(seed));
}

void GemmReport::print_kernel(FILE* out) const {
  const std::string registers = kernel->registers > 0 ? std::to_string(kernel->registers) : "n/a";
  std::fprintf(
      out,
      "  kernel   tile %dx%dx%d, %d stage%s, %.1f KiB of shared memory per CTA, registers per thread: %s\n",
      tile.bm, tile.bn, tile.bk, stages, stages == 1 ? "" : "s", kernel->smem_bytes / 1024.0,
      registers.c_str());
  if (kernel->local_bytes > 0) {
    std::fprintf(out, "           %llu bytes of local memory per thread: its registers do not suffice\n",
                 wide(kernel->local_bytes));
  }
}

void GemmReport::print_answer(FILE* out) const {
  const Comparison& c = answer->comparison;
  if (answer->known) {
    std::fprintf(out, "  result   right: equal to a result that was compared with the reference (%s)\n",
                 answer->hash.c_str());
  } else if (answer->right()) {
    std::fprintf(out, "  result   right: %llu elements, largest error %.3g\n", wide(answer->elements),
                 c.max_error);
  } else {
    std::fprintf(out, "  result   wrong: %llu of %llu elements (%s)\n    %s\n%s", wide(c.mismatches),
                 wide(answer->elements), answer->diagnosis.id.c_str(), answer->diagnosis.reason.c_str(),
                 answer->map.c_str());
    std::fprintf(out, "    the first of them, as (row, column):\n%s", describe_mismatches(c).c_str());
  }
}

void GemmReport::print_times(FILE* out) const {
  const Statistics time = statistics(times->ms);
  if (times->emulated) {
    std::fprintf(out, "  time     %.0f ms to emulate (the CPU's wall clock, says nothing about a GPU)\n",
                 time.median);
    return;
  }
  std::fprintf(out, "  time     %.4f ms (median of %d, %.4f to %.4f), %.1f TFLOP/s\n", time.median,
               time.samples, time.min, time.max, tflops(time.median));
  if (!cublas) return;
  const Statistics other = statistics(column(cublas->theirs, &Reading::ms)),
                   ratio = statistics(cublas->ratios());
  std::fprintf(out, "  cuBLASLt %.4f ms, %.1f TFLOP/s; this kernel reaches %.3f of it (%.3f to %.3f), %s\n",
               other.median, tflops(other.median), ratio.median, ratio.min, ratio.max, name_of(cublas->heat));
  std::fprintf(out, "           %s, the fastest of %d\n", cublas->algorithm.c_str(), cublas->algorithms);
}

std::vector<double> GemmYardstick::ratios() const {
  std::vector<double> out;
  for (size_t i = 0; i < ours.size(); ++i) out.push_back(theirs[i].ms / ours[i].ms);
  return out;
}

void GemmReport::print_verdict(FILE* out) const {
  if (verdict == "todo") std::fprintf(out, "  result   %s\n", classification.c_str());
  if (verdict == "error") std::fprintf(out, "  result   error: %s\n", classification.c_str());
  if (classification == "unstable")
    std::fprintf(out, "  result   wrong: a later launch gave another result than the first (unstable)\n");
}

std::string GemmReport::json() const {
  json::Object o;
  o.add("lesson", lesson);
  o.add("variant", variant);
  o.add("device", device);
  o.add("m", m);
  o.add("n", n);
  o.add("k", k);
  o.add("seed", seed);
  o.add("tile", std::to_string(tile.bm) + "x" + std::to_string(tile.bn) + "x" + std::to_string(tile.bk));
  o.add("stages", stages);
  if (kernel) {
    o.add("registers", kernel->registers);
    o.add("ctas_per_sm", kernel->ctas_per_sm);
    o.add("smem_bytes", kernel->smem_bytes);
    o.add("local_bytes", kernel->local_bytes);
  }
  if (answer) {
    o.add("result_hash", answer->hash);
    o.add("compared_with", answer->known ? "known result" : "reference");
    if (!answer->known) {
      o.add("max_error", answer->comparison.max_error);
      o.add("mismatches", answer->comparison.mismatches);
    }
    if (!answer->right()) {
      o.add("reason", answer->diagnosis.reason);
      o.add("map", answer->map);
    }
  }
  if (times) {
    const Statistics time = statistics(times->ms);
    if (cublas) o.add("cublas_algorithms", cublas->algorithms);
    o.add("clock", times->clock);
    o.add("ms_samples", spaced(times->ms));
    o.add("ms_median", time.median);
    o.add("ms_min", time.min);
    o.add("ms_max", time.max);
    o.add("samples", time.samples);
    o.add("tflops", tflops(time.median));
  }
  if (times && cublas) {
    const Statistics other = statistics(column(cublas->theirs, &Reading::ms)),
                     ratio = statistics(cublas->ratios());
    o.add("state", name_of(cublas->heat));
    o.add("cublas_algorithm", cublas->algorithm);
    o.add("cublas_ms_samples", spaced(column(cublas->theirs, &Reading::ms)));
    o.add("mhz_samples", spaced(column(cublas->ours, &Reading::mhz)));
    o.add("cublas_mhz_samples", spaced(column(cublas->theirs, &Reading::mhz)));
    o.add("watts_samples", spaced(column(cublas->ours, &Reading::watts)));
    o.add("cublas_watts_samples", spaced(column(cublas->theirs, &Reading::watts)));
    o.add("cublas_ms_median", other.median);
    o.add("cublas_tflops", tflops(other.median));
    o.add("ratio_median", ratio.median);
    o.add("ratio_min", ratio.min);
    o.add("ratio_max", ratio.max);
  }
  o.add("verdict", verdict);
  o.add("classification", classification);
  return o.text() + "\n";
}

}  // namespace lab
