#include "host/gpu_state.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

namespace lab {
namespace {

// The few declarations of nvml.h that are used; the header is not part of every toolkit.
using Handle = void*;
constexpr unsigned kClockSm = 1;
// nvmlFieldValue_t: one value of nvmlDeviceGetFieldValues.
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency_us;
  int type, status;
  union {
    unsigned u32;
    unsigned long long u64;
    double f64;
  } value;
};
constexpr unsigned kFieldPowerInstant = 186;  // NVML_FI_DEV_POWER_INSTANT, milliwatts as u32

struct Nvml {
  Handle device = nullptr;
  int (*clock)(Handle, unsigned, unsigned*) = nullptr;
  int (*fields)(Handle, int, FieldValue*) = nullptr;

  Nvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    int (*init)() = nullptr;
    int (*find_device)(const char*, Handle*) = nullptr;
    int ordinal = 0;
    char bus[32];
    if (!find(library, "nvmlInit_v2", init) || init() != 0) return;
    if (cudaGetDevice(&ordinal) != cudaSuccess ||
        cudaDeviceGetPCIBusId(bus, sizeof bus, ordinal) != cudaSuccess)
      return;
    if (!find(library, "nvmlDeviceGetHandleByPciBusId_v2", find_device) || find_device(bus, &device) != 0)
      return;
    find(library, "nvmlDeviceGetClockInfo", clock);
    find(library, "nvmlDeviceGetFieldValues", fields);
  }

  template <class F>
  static bool find(void* library, const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(library, name));
    return function != nullptr;
  }
};

}  // namespace

GpuState gpu_state() {
  static const Nvml nvml;
  GpuState state;
  unsigned value = 0;
  if (nvml.clock && nvml.clock(nvml.device, kClockSm, &value) == 0) state.sm_mhz = static_cast<int>(value);
  FieldValue power = {};
  power.field = kFieldPowerInstant;
  if (nvml.fields && nvml.fields(nvml.device, 1, &power) == 0 && power.status == 0)
    state.watts = power.value.u32 / 1000.0;
  return state;
}

}  // namespace lab
