// cuBLASLt as the yardstick. The library is loaded when it is asked for; nothing links it.
#pragma once

#include <memory>
#include <string>

#include "host/gemm_program.hpp"

namespace lab {

// cuBLASLt's algorithms for one problem size: its first 8 heuristics with 64 MiB of workspace, those of them that run.
class CublasLt {
 public:
  // Loads the library from CUBLASLT_LIBRARY (a path) or the loader's search path, and prepares for sizes m, n, k.
  // Throws std::runtime_error when it cannot be had, or was not there when this program was built.
  CublasLt(int m, int n, int k);
  ~CublasLt();

  int algorithms() const;  // how many there are, not all of which need run
  // "heuristic 3: algorithm 66, tile 128x256 (id 21), cluster 2x1x1 (id 3), ..."
  std::string name(int algorithm) const;
  // Starts C = A * B^T. False when this algorithm does not run at this size.
  bool launch(int algorithm, const Problem& problem);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lab
