// Programs whose kernels go wrong: each in a process of its own, which must see the same error code on both devices,
// must go on seeing it, and must not end as if nothing had happened.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "program.cuh"

#undef NDEBUG
#include <cassert>

__global__ void fail(int what, int* memory) {
  int i = static_cast<int>(threadIdx.x);
  if (what == 0) memory[i] = i;
  if (what == 1) assert(memory[i] == 12345);
  if (what == 2 && i == 40) __trap();
  if (what == 3) memory[i - (1ll << 38)] = 1;  // 1 TiB: nearer lie the windows of shared and local memory
  if (what == 4) *reinterpret_cast<int*>(reinterpret_cast<char*>(memory) + 2) = 1;
  if (what == 5) *static_cast<volatile int*>(nullptr) = 1;
}

struct Seen {
  int launch, wait, copy, last;
};

// In the child: the codes go to the pipe; the status is 0, unless somebody knows better.
int child(int what, int pipe) {
  int* memory = nullptr;
  OK(cudaMalloc(&memory, 64 * sizeof(int)));
  OK(cudaMemset(memory, 0, 64 * sizeof(int)));
  fail<<<1, 64>>>(what, memory);
  Seen s;
  s.launch = cudaGetLastError();
  s.wait = cudaDeviceSynchronize();
  int value;
  s.copy = cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost);
  s.last = cudaGetLastError();
  return write(pipe, &s, sizeof s) == sizeof s ? 0 : 9;
}

int main(int argc, char** argv) {
  if (argc == 3) return child(std::atoi(argv[1]), std::atoi(argv[2]));
  const struct {
    const char* name;
    int error;
  } cases[] = {{"nothing", cudaSuccess},
               {"assert", cudaErrorAssert},
               {"trap", cudaErrorLaunchFailure},
               {"far out of bounds", cudaErrorIllegalAddress},
               {"misaligned", cudaErrorMisalignedAddress},
               {"null pointer", cudaErrorIllegalAddress}};
  for (int what = 0; what < 6; ++what) {
    int ends[2];
    if (pipe(ends) != 0) return 2;
    pid_t id = fork();  // before this process uses the device
    if (id == 0) {
      close(ends[0]);
      std::FILE* quiet = std::freopen("/dev/null", "w", stderr);
      if (!quiet) return 9;
      std::string code = std::to_string(what), descriptor = std::to_string(ends[1]);
      execl("/proc/self/exe", argv[0], code.c_str(), descriptor.c_str(), static_cast<char*>(nullptr));
      _exit(9);
    }
    close(ends[1]);
    Seen s = {-1, -1, -1, -1};
    expect(cases[what].name, 0, read(ends[0], &s, sizeof s), static_cast<ssize_t>(sizeof s));
    close(ends[0]);
    int status = 0;
    waitpid(id, &status, 0);
    int error = cases[what].error;
    if (s.launch != cudaSuccess)
      expect(cases[what].name, 1, s.launch, error);  // a GPU may be fast enough to show it
    expect(cases[what].name, 2, s.wait, error);
    expect(cases[what].name, 3, s.copy, error);
    expect(cases[what].name, 4, s.last, error);
    cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 0));
    bool emulated = std::strstr(properties.name, "emulator") != nullptr;
    expect(cases[what].name, 5, WIFEXITED(status) ? WEXITSTATUS(status) : -1, emulated && error ? 1 : 0);
  }
  return finish("failing");
}
