// cuBLASLt as the yardstick. The library is loaded when it is asked for; nothing links it.
#pragma once

#include <functional>
#include <memory>

#include "host/gemm_program.hpp"

namespace lab {

// cuBLASLt's fastest algorithm for one problem size, among its first 8 heuristics, 64 MiB of workspace.
class CublasLt {
 public:
  // Loads the library from CUBLASLT_LIBRARY (a path) or the loader's search path, and prepares for sizes m, n, k.
  // Throws std::runtime_error when it cannot be had, or was not there when this program was built.
  CublasLt(int m, int n, int k);
  ~CublasLt();

  // Times every algorithm on `problems` (buffer sets to rotate through) and keeps the fastest. Returns how many ran.
  int choose(const std::vector<Problem>& problems);

  // Starts C = A * B^T with the algorithm chosen.
  void launch(const Problem& problem);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lab
