// A kernel whose first launch is right and whose second ends in a trap. gemm_main then says that the kernel went wrong
// (exit code 1), not that the command line did (2).
#include <spawn.h>
#include <sys/wait.h>

#include "host/gemm_program.hpp"
#include "program.cuh"

__device__ int launches;

// A CTA for each row of C, a thread for each column.
__global__ void gemm(const lab::bf16* a, const lab::bf16* b, lab::bf16* c, int n, int k) {
  if (blockIdx.x == 0 && threadIdx.x == 0 && launches++ > 0) __trap();
  const auto value = [](lab::bf16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); };
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += value(a[blockIdx.x * k + i]) * value(b[threadIdx.x * k + i]);
  c[blockIdx.x * n + threadIdx.x].bits = __float_as_uint(sum) >> 16;  // exact: the data are small integers
}

int main(int argc, char** argv) {
  if (argc > 1) {
    const auto prepare = [](const lab::Problem& p) -> lab::Launch {
      return [p] { gemm<<<p.m, p.n>>>(p.a, p.b, p.c, p.n, p.k); };
    };
    const void* kernel = reinterpret_cast<const void*>(gemm);
    return lab::gemm_main(
        argc, argv,
        {"failing_later", "its second launch fails", {1, 8, 16}, 1, {{"", "", kernel, 0, prepare}}});
  }
  // In a process of its own: an error stays with the process that met it.
  const char* command[] = {argv[0], "--m",    "4",        "--n",      "8", "--k",
                           "16",    "--data", "integers", "--repeat", "2", nullptr};
  pid_t child;
  int status = 0;
  expect("posix_spawn", 0,
         posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, const_cast<char**>(command), environ), 0);
  waitpid(child, &status, 0);
  expect("exit code", 0, WIFEXITED(status) ? WEXITSTATUS(status) : -1, 1);
  return finish("failing_later");
}
