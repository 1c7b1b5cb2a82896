// EMU_NAME_SHARED and EMU_NAME_PARAMETERS: a report speaks the program's names, for each instance of a template its own. On a GPU
// the kernel that waits in vain is not started.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "emulator/names.hpp"
#include "program.cuh"

template <int kStages>
struct Smem {
  alignas(1024) float tile[kStages][64];
  uint64_t full_bar[kStages], done_bar;
};

__device__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ void wait(uint64_t* bar) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n@!done bra AGAIN;\n}" ::
          "r"(shared_address(bar))
      : "memory");
}

// out[i] = stage of the tile that thread i finds. With `hang`, the last barrier expects an arrival that nobody makes.
template <int kStages>
__global__ void stages(float* out, int hang) {
  extern __shared__ __align__(1024) unsigned char bytes[];
  Smem<kStages>& smem = *reinterpret_cast<Smem<kStages>*>(bytes);
  EMU_NAME_SHARED(smem, tile, full_bar, done_bar);
  EMU_NAME_PARAMETERS(out, hang);
  if (threadIdx.x == 0)
    for (int s = 0; s < kStages; ++s)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&smem.full_bar[s])),
                   "r"(s == kStages - 1 && hang ? 2 : 1)
                   : "memory");
  __syncthreads();
  for (int s = 0; s < kStages; ++s) {
    smem.tile[s][threadIdx.x] = static_cast<float>(s);
    __syncthreads();
    if (threadIdx.x == 0)
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&smem.full_bar[s]))
                   : "memory");
    wait(&smem.full_bar[s]);
  }
  out[threadIdx.x] = smem.tile[threadIdx.x % kStages][threadIdx.x];
}

template <int kStages>
void launch(int hang) {
  float* out = to_device(std::vector<float>(64, -1.0f));
  stages<kStages><<<1, 64, sizeof(Smem<kStages>)>>>(out, hang);
  OK(cudaDeviceSynchronize());
  const std::vector<float> got = to_host(out, 64);
  for (int i = 0; i < 64; ++i) expect("stage", i, got[i], i % kStages);
}

// What the emulator writes about a launch that hangs.
std::string report_of(char* self, const char* which) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  const pid_t id = fork();
  if (id == 0) {
    dup2(ends[1], 2);
    execl("/proc/self/exe", self, which, static_cast<char*>(nullptr));
    _exit(9);
  }
  close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(n));
  close(ends[0]);
  waitpid(id, nullptr, 0);
  return text;
}

int main(int argc, char** argv) {
  if (argc == 2) {
    argv[1][0] == '2' ? launch<2>(1) : launch<4>(1);
    return 0;
  }
  cudaDeviceProp properties;
  OK(cudaGetDeviceProperties(&properties, 0));
  if (std::strstr(properties.name, "emulator")) {
    const struct { const char *which, *name; } cases[] = {{"2", "full_bar[1]"}, {"4", "full_bar[3]"}};
    for (const auto& c : cases) {
      const std::string text = report_of(argv[0], c.which);
      expect("deadlock", c.which[0] - '0', text.find("deadlock") != std::string::npos, true);
      expect(c.name, 0, text.find(c.name) != std::string::npos, true);
      expect("initialised for 2 at named.cu", 0,
             text.find("initialised for 2 at named.cu:") != std::string::npos, true);
      if (failures()) std::printf("%s", text.c_str());
    }
  }
  launch<2>(0);
  launch<4>(0);
  return finish("named");
}
