#include "host/cublaslt.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/cuda_check.hpp"
#include "host/device_buffer.hpp"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

namespace lab {
namespace {

constexpr size_t kWorkspaceBytes = size_t{64} << 20;
constexpr int kHeuristics = 8;

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string("cuBLASLt cannot ") + what + ": status " + std::to_string(status));
  }
}

void* load_library() {
  if (const char* path = std::getenv("CUBLASLT_LIBRARY")) {
    if (void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return library;
    throw std::runtime_error(std::string("--cublas: cannot load CUBLASLT_LIBRARY: ") + dlerror());
  }
  const std::string major = std::to_string(CUBLAS_VER_MAJOR);
  for (const std::string& name : {"libcublasLt.so." + major, std::string("libcublasLt.so")}) {
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  throw std::runtime_error("--cublas: no libcublasLt.so." + major +
                           " on the loader's search path; set CUBLASLT_LIBRARY to the file");
}

}  // namespace

struct CublasLt::State {
  void* library = load_library();
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> candidates;
  std::shared_ptr<char> workspace = device_buffer<char>(kWorkspaceBytes);

  template <class F>
  F* find(const char* name) const {
    void* symbol = dlsym(library, name);
    if (symbol == nullptr) throw std::runtime_error(std::string("--cublas: the library has no ") + name);
    return reinterpret_cast<F*>(symbol);
  }
#define LAB_CUBLAS(name) find<decltype(name)>(#name)

  cublasStatus_t run(const Problem& p, size_t algorithm) const {
    const float one = 1, zero = 0;  // column-major view: C^T (n x m) = B (transposed, k x n) * A^T (k x m)
    return matmul(handle, operation, &one, p.b, b, p.a, a, &zero, p.c, c, p.c, c, &candidates[algorithm].algo,
                  workspace.get(), kWorkspaceBytes, nullptr);
  }
  decltype(&cublasLtMatmul) matmul = LAB_CUBLAS(cublasLtMatmul);
};

CublasLt::CublasLt(int m, int n, int k) : state_(std::make_unique<State>()) {
  State& s = *state_;
  check(s.LAB_CUBLAS(cublasLtCreate)(&s.handle), "start");
  check(s.LAB_CUBLAS(cublasLtMatmulDescCreate)(&s.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "describe the product");
  const cublasOperation_t transpose = CUBLAS_OP_T;
  check(s.LAB_CUBLAS(cublasLtMatmulDescSetAttribute)(s.operation, CUBLASLT_MATMUL_DESC_TRANSA, &transpose,
                                                     sizeof transpose),
        "describe the product");
  const auto layout = s.LAB_CUBLAS(cublasLtMatrixLayoutCreate);
  check(layout(&s.b, CUDA_R_16BF, k, n, k), "describe B");
  check(layout(&s.a, CUDA_R_16BF, k, m, k), "describe A");
  check(layout(&s.c, CUDA_R_16BF, n, m, n), "describe C");
  check(s.LAB_CUBLAS(cublasLtMatmulPreferenceCreate)(&s.preference), "state a preference");
  check(s.LAB_CUBLAS(cublasLtMatmulPreferenceSetAttribute)(
            s.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes, sizeof kWorkspaceBytes),
        "state a preference");
  s.candidates.resize(kHeuristics);
  int found = 0;
  check(s.LAB_CUBLAS(cublasLtMatmulAlgoGetHeuristic)(s.handle, s.operation, s.b, s.a, s.c, s.c, s.preference,
                                                     kHeuristics, s.candidates.data(), &found),
        "find an algorithm");
  s.candidates.resize(found);
  if (found == 0) throw std::runtime_error("cuBLASLt has no algorithm for these sizes");
}

CublasLt::~CublasLt() {
  State& s = *state_;
  s.LAB_CUBLAS(cublasLtMatmulPreferenceDestroy)(s.preference);
  s.LAB_CUBLAS(cublasLtMatrixLayoutDestroy)(s.a);
  s.LAB_CUBLAS(cublasLtMatrixLayoutDestroy)(s.b);
  s.LAB_CUBLAS(cublasLtMatrixLayoutDestroy)(s.c);
  s.LAB_CUBLAS(cublasLtMatmulDescDestroy)(s.operation);
  s.LAB_CUBLAS(cublasLtDestroy)(s.handle);
}

int CublasLt::algorithms() const {
  return static_cast<int>(state_->candidates.size());
}

std::string CublasLt::name(int algorithm) const {
  const State& s = *state_;
  const auto get = s.LAB_CUBLAS(cublasLtMatmulAlgoConfigGetAttribute);
  const auto& algo = s.candidates[static_cast<size_t>(algorithm)].algo;
  const auto value = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto zero) {
    size_t written = 0;
    get(&algo, attribute, &zero, sizeof zero, &written);
    return std::to_string(zero);
  };
  return "heuristic " + std::to_string(algorithm) + ": algorithm " + value(CUBLASLT_ALGO_CONFIG_ID, 0) +
         " tile " + value(CUBLASLT_ALGO_CONFIG_TILE_ID, 0u) + " stages " +
         value(CUBLASLT_ALGO_CONFIG_STAGES_ID, 0u) + " split-K " + value(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 0) +
         " swizzling " + value(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 0u) + " custom " +
         value(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 0u) + " inner " +
         value(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, uint16_t{0}) + " cluster " +
         value(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, uint16_t{0});
}

bool CublasLt::launch(int algorithm, const Problem& problem) {
  return state_->run(problem, static_cast<size_t>(algorithm)) == CUBLAS_STATUS_SUCCESS;
}

}  // namespace lab

#else

namespace lab {

struct CublasLt::State {};
CublasLt::CublasLt(int, int, int) {
  throw std::runtime_error(
      "--cublas: this program was built without cublasLt.h; install the toolkit's cuBLAS headers");
}
CublasLt::~CublasLt() = default;
int CublasLt::algorithms() const {
  return 0;
}
std::string CublasLt::name(int) const {
  return "";
}
bool CublasLt::launch(int, const Problem&) {
  return false;
}

}  // namespace lab

#endif
