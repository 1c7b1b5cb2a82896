// What the programs about im2col share: the map, its copies, cases that survive a fault of the GPU, and pixels in print.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "record.cuh"

namespace record {

// The arguments of cuTensorMapEncodeIm2col. Dimensions are C, W, H, D, N without those that the rank has not; corners are
// W, H, D.
struct Im2colArguments : AnyMapArguments {
  Im2colArguments() { rank = 4; }
  int lower[3] = {0, 0, 0}, upper[3] = {0, 0, 0};
  uint32_t channels = 8, pixels = 1;
};

inline int encode(CUtensorMap* map, const Im2colArguments& a) {
  using Encode =
      CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                   const int*, const int*, cuuint32_t, cuuint32_t, const cuuint32_t*, CUtensorMapInterleave,
                   CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  static Encode function = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    check(lab::driver_entry_point("cuTensorMapEncodeIm2col", &entry, &found), "driver_entry_point");
    if (!entry) check(cudaErrorNotSupported, "cuTensorMapEncodeIm2col");
    return reinterpret_cast<Encode>(entry);
  }();
  return static_cast<int>(function(
      map, static_cast<CUtensorMapDataType>(a.type), a.rank, const_cast<void*>(a.address), a.size,
      a.stride_bytes, a.lower, a.upper, a.channels, a.pixels, a.step,
      static_cast<CUtensorMapInterleave>(a.interleave), static_cast<CUtensorMapSwizzle>(a.swizzle),
      static_cast<CUtensorMapL2promotion>(a.l2_promotion), static_cast<CUtensorMapFloatOOBfill>(a.oob_fill)));
}

// ---- cases

struct Case {
  std::string name;
  std::function<std::string()> body;  // exits when the GPU reports an error
};

// Prints "name: result" for each. They run in a child process; when one ends it, that one is "refused" and the next runs in
// another.
inline void run_cases(const std::vector<Case>& cases) {
  for (size_t next = 0; next < cases.size();) {
    std::fflush(stdout);
    int ends[2];
    if (pipe(ends) != 0) std::exit(1);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      for (size_t i = next; i < cases.size(); ++i) {
        const std::string line = cases[i].body() + "\n";
        if (write(ends[1], line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(1);
      }
      _exit(0);
    }
    close(ends[1]);
    std::FILE* results = fdopen(ends[0], "r");
    std::string line;
    for (int c; (c = std::fgetc(results)) != EOF;) {
      if (c != '\n') {
        line += static_cast<char>(c);
        continue;
      }
      std::printf("%s: %s\n", cases[next++].name.c_str(), line.c_str());
      line.clear();
    }
    std::fclose(results);
    waitpid(child, nullptr, 0);
    if (next < cases.size()) std::printf("%s: refused\n", cases[next++].name.c_str());
  }
}

// The same numbers everywhere.
class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed) {}
  int between(int low, int high) {
    state_ = state_ * 1664525u + 1013904223u;
    return low + static_cast<int>((state_ >> 8) % static_cast<uint32_t>(high - low + 1));
  }
  bool once_in(int n) { return between(1, n) == 1; }

 private:
  uint32_t state_;
};

// ---- one copy

struct Offsets {
  int c[3] = {0, 0, 0};
};

__device__ inline void im2col_load(uint32_t dst, const CUtensorMap* map, int rank, Corner at, Offsets by,
                                   uint32_t bar) {
  const auto w = static_cast<uint16_t>(by.c[0]), h = static_cast<uint16_t>(by.c[1]),
             d = static_cast<uint16_t>(by.c[2]);
#define RECORD_IM2COL(dim, list, offsets)                                                                \
  asm volatile("cp.async.bulk.tensor." dim                                                               \
               ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {" list           \
               "}], [%7], {" offsets "};" ::"r"(dst),                                                    \
               "l"(map), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4]), "r"(bar), \
               "h"(w), "h"(h), "h"(d)                                                                    \
               : "memory")
  if (rank == 3) RECORD_IM2COL("3d", "%2, %3, %4", "%8");
  if (rank == 4) RECORD_IM2COL("4d", "%2, %3, %4, %5", "%8, %9");
  if (rank == 5) RECORD_IM2COL("5d", "%2, %3, %4, %5, %6", "%8, %9, %10");
#undef RECORD_IM2COL
}

struct PixelCopy {
  int rank;
  Corner at;
  Offsets by;
  __device__ void operator()(uint32_t dst, const CUtensorMap* map, uint32_t bar) const {
    im2col_load(dst, map, rank, at, by, bar);
  }
};

inline Loaded im2col_load(const CUtensorMap& map, int rank, Corner at, Offsets by, uint32_t offset) {
  return load(map, PixelCopy{rank, at, by}, offset);
}

// ---- names

inline std::string list(const int* values, uint32_t count) {
  std::string text = "(";
  for (uint32_t i = 0; i < count; ++i) text += (i ? "," : "") + std::to_string(values[i]);
  return text + ")";
}

inline std::string describe(const Im2colArguments& a) {
  static const char* const kDimensions[] = {"", "", "", "CWN", "CWHN", "CWHDN"};
  std::string text;
  for (uint32_t i = 0; i < a.rank; ++i)
    text += (i ? " " : "") + std::string(1, kDimensions[a.rank][i]) + std::to_string(a.size[i]);
  text += " box " + list(a.lower, a.rank - 2) + list(a.upper, a.rank - 2) + " " + std::to_string(a.pixels) +
          "x" + std::to_string(a.channels);
  bool steps = false;
  int step[5];
  for (uint32_t i = 0; i < a.rank; ++i) {
    steps = steps || a.step[i] != 1;
    step[i] = static_cast<int>(a.step[i]);
  }
  if (steps) text += " step " + list(step, a.rank);
  if (a.swizzle) text += std::string(" ") + swizzle_name(a.swizzle);
  if (a.oob_fill) text += " nan";
  return text;
}

// ---- a tensor whose pixels can be told apart

// Elements of one channel count `pitch` apart from pixel to pixel: whole 16-byte chunks.
inline uint32_t pixel_pitch(const Im2colArguments& a, uint32_t element_bytes) {
  const uint32_t chunk = 16 / element_bytes;
  return (static_cast<uint32_t>(a.size[0]) + chunk - 1) / chunk * chunk;
}
// Pixels are numbered in memory order: W, H, D, N.
inline uint32_t pixel_count(const Im2colArguments& a) {
  uint64_t count = 1;
  for (uint32_t i = 1; i < a.rank; ++i) count *= a.size[i];
  return static_cast<uint32_t>(count);
}
inline void make_dense(Im2colArguments& a, uint32_t element_bytes) {
  uint64_t stride = uint64_t{pixel_pitch(a, element_bytes)} * element_bytes;
  for (uint32_t i = 0; i + 1 < a.rank; ++i) {
    a.stride_bytes[i] = stride;
    stride *= a.size[i + 1];
  }
}

// Where the element `k` of row `row` of a tile at `offset` lies in the window, in bytes.
inline uint32_t place_in_window(const Im2colArguments& a, uint32_t element_bytes, uint32_t offset,
                                uint32_t row, uint32_t k) {
  static const uint32_t kBits[] = {0, 0x10, 0x30, 0x70};
  const uint32_t pitch = a.swizzle ? 16u << a.swizzle : a.channels * element_bytes;
  const uint32_t at = offset + row * pitch + k * element_bytes;
  return at ^ ((at >> 3) & kBits[a.swizzle]);
}

// Numbers that follow each other, as runs: 4 5 6 is "4-6".
class Runs {
 public:
  void add(const std::string& kind, long value) {
    if (!kind_.empty() && kind == kind_ && value == last_ + 1) {
      last_ = value;
      return;
    }
    end();
    kind_ = kind;
    first_ = last_ = value;
  }
  std::string text() {
    end();
    return text_;
  }

 private:
  void end() {
    if (kind_.empty()) return;
    text_ += " ";
    if (kind_ == "fill")
      text_ += "." + (last_ > first_ ? std::to_string(last_ - first_ + 1) : "");
    else {
      text_ += std::to_string(first_) + (last_ > first_ ? "-" + std::to_string(last_) : "");
      if (kind_ != "pixel") text_ += kind_;
    }
    kind_.clear();
  }
  std::string text_, kind_;
  long first_ = 0, last_ = 0;
};

// The pixels that arrived, row by row: their numbers in the tensor, "." for fill, "n?" for row n when it is anything else.
// The tensor holds 1, 2, 3, ... in 16-bit elements.
inline std::string pixels_of(const Im2colArguments& a, const Loaded& loaded, int first_channel,
                             uint32_t offset) {
  const uint16_t fill = a.oob_fill ? 0x7FF7 : 0;
  const uint32_t pitch = pixel_pitch(a, 2);
  const int channels = static_cast<int>(a.size[0]);
  Runs runs;
  for (uint32_t row = 0; row < a.pixels; ++row) {
    long pixel = -1;
    bool filled = true, right = true;
    for (uint32_t k = 0; k < a.channels; ++k) {
      const uint32_t at = place_in_window(a, 2, offset, row, k);
      if (at + 2 > kWindowBytes) break;
      const uint16_t value = loaded.at<uint16_t>(at, 0);
      const int c = first_channel + static_cast<int>(k);
      filled = filled && value == fill;
      const bool inside = c >= 0 && c < channels;
      if (inside && pixel < 0 && value) pixel = (value - 1 - c) / static_cast<int>(pitch);
      const long want = inside ? pixel * pitch + c + 1 : fill;
      right = right && value == want;
    }
    if (filled)
      runs.add("fill", row);
    else if (right)
      runs.add("pixel", pixel);
    else
      runs.add("?", row);
  }
  return runs.text();
}

}  // namespace record
