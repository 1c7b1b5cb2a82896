// printf from the device: every conversion, many arguments, order within a thread. The output is captured and
// compared line by line.
#include <unistd.h>

#include <string>

#include "program.cuh"

__global__ void speak(const char* name, float f) {
  if (threadIdx.x == 0)
    printf("int %d, negative %d, unsigned %u, hex %x %#X\n", 42, -7, 4000000000u, 255, 255);
  __syncthreads();
  if (threadIdx.x == 1)
    printf("long %lld, size %llu, char %c, percent %%\n", -1234567890123ll, 1ull << 40, 'q');
  __syncthreads();
  if (threadIdx.x == 2) printf("float %.3f, double %10.4e, general %g\n", f, 2.0 / 3.0, 1e-7);
  __syncthreads();
  if (threadIdx.x == 3) printf("string %s, padded [%-6s] [%6d] [%06d]\n", "hello", "ab", 12, 12);
  __syncthreads();
  if (threadIdx.x == 4)
    printf("%s of block %d says %d %d %d %d %d %d %d %d\n", name, blockIdx.x, 1, 2, 3, 4, 5, 6, 7, 8);
  __syncthreads();
  if (threadIdx.x == 5) printf("no arguments\n");
}

__global__ void count(int* result) {
  *result = printf("%d%d%d\n", 1, 2, 3);
}

const char* const kWant =
    "int 42, negative -7, unsigned 4000000000, hex ff 0XFF\n"
    "long -1234567890123, size 1099511627776, char q, percent %\n"
    "float 1.500, double 6.6667e-01, general 1e-07\n"
    "string hello, padded [ab    ] [    12] [000012]\n"
    "warp of block 0 says 1 2 3 4 5 6 7 8\n"
    "no arguments\n"
    "123\n";

int main() {
  char* name = to_device(std::vector<char>{'w', 'a', 'r', 'p', 0});
  int* result = to_device(std::vector<int>(1));

  std::FILE* file = std::tmpfile();
  std::fflush(stdout);
  int terminal = dup(1);
  dup2(fileno(file), 1);
  speak<<<1, 32>>>(name, 1.5f);
  OK(cudaDeviceSynchronize());
  count<<<1, 1>>>(result);
  OK(cudaDeviceSynchronize());
  std::fflush(stdout);
  dup2(terminal, 1);

  std::rewind(file);
  std::string got;
  for (int c; (c = std::fgetc(file)) != EOF;) got += static_cast<char>(c);
  if (got != kWant) {
    std::printf("got:\n%swant:\n%s", got.c_str(), kWant);
    ++failures();
  }
  expect("printf returns its number of arguments", 0, to_host(result, 1)[0], 3);
  return finish("printing");
}
