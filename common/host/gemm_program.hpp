// What every lesson program does around its kernel: command line, inputs, launch, comparison, timing, report.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>  // printf, for a reader who looks at values
#include <vector>

#include "host/bf16.hpp"
#include "host/function.hpp"

namespace lab {

// One multiplication C = A * B^T on the device. a: m x k, b: n x k, c: m x n, all row-major bf16 without
// padding. n and k are multiples of 8; each matrix has fewer than 2^31 elements.
struct Problem {
  const bf16* a;
  const bf16* b;
  bf16* c;
  int m, n, k;

  // Number of bm x bn tiles of C, the grid of a kernel with one CTA per tile.
  unsigned tiles(int bm, int bn) const {
    return static_cast<unsigned>((m + bm - 1) / bm) * static_cast<unsigned>((n + bn - 1) / bn);
  }
};

// Launches the kernel on the default stream; all preparation is done. May be called many times.
using Launch = Function<void()>;

struct Tile {
  int bm, bn, bk;
};

// One kernel of a lesson.
struct Variant {
  // The command line option that selects it, such as "--bulk" or "--stages 2"; "" for the lesson's own kernel.
  const char* option;
  const char* help;  // what the option does, one line
  const void* kernel;
  size_t smem_bytes;                         // dynamic shared memory per CTA
  Function<Launch(const Problem&)> prepare;  // once for each set of buffers: tensor maps, packing
  Tile tile = {};                            // 0: the lesson's
  int stages = 0;                            // 0: the lesson's
};

struct GemmLesson {
  const char* name;   // "01_thread_copy"
  const char* title;  // one line
  Tile tile;
  int stages;
  std::vector<Variant> variants;  // the first is the lesson's own
  // Which variant runs when the command line names none: an index into `variants`. Empty: the first.
  Function<size_t(int m, int n, int k)> pick = {};
  bool takes_sms = false;  // the grid follows the number of multiprocessors, so --sms has a meaning
};

// Runs the program. Returns its exit code: 0 right, 1 wrong, 2 bad arguments or environment, 3 a TODO is
// still open, 77 no usable device. Messages go to stdout (results) and stderr (errors).
int gemm_main(int argc, char** argv, const GemmLesson& lesson);

}  // namespace lab
