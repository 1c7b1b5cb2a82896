// What every lesson program does around its kernel: command line, inputs, launch, comparison, timing, report.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace lab {

// One multiplication C = A * B^T on the device. a: m x k, b: n x k, c: m x n, all row-major bf16 without
// padding. n and k are multiples of 8; each matrix has fewer than 2^31 elements.
struct Problem {
  const __nv_bfloat16* a;
  const __nv_bfloat16* b;
  __nv_bfloat16* c;
  int m, n, k;

  // Number of bm x bn tiles of C, the grid of a kernel with one CTA a tile.
  unsigned tiles(int bm, int bn) const {
    return static_cast<unsigned>((m + bm - 1) / bm) * static_cast<unsigned>((n + bn - 1) / bn);
  }
};

// Launches the kernel on the default stream; all preparation is done. May be called many times.
using Launch = std::function<void()>;

// One kernel of a lesson.
struct Variant {
  const char*
      option;  // the command line option that selects it, such as "--bulk"; "" for the lesson's own kernel
  const char* help;  // what the option does, one line
  const void* kernel;
  size_t smem_bytes;                              // dynamic shared memory a CTA
  std::function<Launch(const Problem&)> prepare;  // once for each set of buffers: tensor maps, packing
};

struct GemmLesson {
  const char* name;   // "01_thread_copy"
  const char* title;  // one line
  struct {
    int bm, bn, bk;
  } tile;
  int stages;
  std::vector<Variant> variants;  // the first is the lesson's own
};

// Runs the program. Returns its exit code: 0 right, 1 wrong, 2 bad arguments or environment, 3 a TODO is
// still open, 77 no usable device. Messages go to stdout (results) and stderr (errors).
int gemm_main(int argc, char** argv, const GemmLesson& lesson);

}  // namespace lab
