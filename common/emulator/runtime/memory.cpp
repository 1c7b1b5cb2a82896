// Device, pinned and managed memory.
#include <fstream>
#include <list>

#include "emulator/checker/checker.hpp"
#include "emulator/runtime/context.hpp"
#include "emulator/runtime/handles.hpp"

using namespace emu::runtime;

namespace {

constexpr size_t kPitch = 512;  // rows of cudaMallocPitch start on this boundary

// Bytes this machine could still give, so that a large request fails instead of ending the process. 0: unknown.
uint64_t machine_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word)
    if (word == "MemAvailable:") {
      uint64_t kibibytes = 0;
      file >> kibibytes;
      return kibibytes << 10;
    }
  return 0;
}

bool too_large(uint64_t bytes) {
  if (bytes < (64u << 20)) return false;
  uint64_t available = machine_memory();
  return available && bytes > available;
}

std::string next_name(const char* call) {
  static int number = 0;
  return std::string(call) + " #" + std::to_string(++number);
}

cudaError_t allocate(Context& context, void** pointer, size_t bytes, const char* call) {
  if (!pointer) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  uint64_t address = too_large(bytes) ? 0 : context.memory().allocate(bytes, next_name(call));
  if (!address)
    return explain(cudaErrorMemoryAllocation, call,
                   std::to_string(bytes) + " bytes are more than this machine has left",
                   "use smaller sizes on the emulator");
  *pointer = reinterpret_cast<void*>(address);
  return cudaSuccess;
}

cudaError_t allocate_host(Context& context, void** pointer, size_t bytes, const char* call) {
  if (!pointer) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (!too_large(bytes)) *pointer = emu::allocate_host_memory(context.memory(), bytes, next_name(call));
  return *pointer ? cudaSuccess : cudaErrorMemoryAllocation;
}

bool is_host(const emu::Allocation& a) {
  return reinterpret_cast<uint64_t>(a.host) == a.address;
}

const emu::Allocation* allocation_at(Context& context, const void* pointer) {
  auto& all = context.memory().allocations();
  auto it = all.find(reinterpret_cast<uint64_t>(pointer));
  return it == all.end() ? nullptr : &it->second;
}

bool made_by(const emu::Allocation& a, const char* call) {
  return a.name.rfind(call, 0) == 0;
}

// Module variables are not for cudaFree.
cudaError_t release(Context& context, void* pointer) {
  if (!pointer) return cudaSuccess;
  const emu::Allocation* a = allocation_at(context, pointer);
  if (!a || !made_by(*a, "cudaMalloc") || made_by(*a, "cudaMallocHost")) return cudaErrorInvalidValue;
  release_allocation(context.memory(), *a);
  return cudaSuccess;
}

// Pools that a program makes are names: all memory is the device's.
struct Pool {};
std::list<Pool>& own_pools() {
  static std::list<Pool> pools;
  return pools;
}
cudaMemPool_t current_pool = nullptr;  // null: the default one
bool valid_pool(cudaMemPool_t pool) {
  if (pool == default_pool()) return true;
  for (Pool& p : own_pools())
    if (reinterpret_cast<cudaMemPool_t>(&p) == pool) return true;
  return false;
}

}  // namespace

void emu::runtime::release_allocation(emu::GlobalMemory& memory, const emu::Allocation& a) {
  if (is_host(a) && !made_by(a, "cudaHostRegister"))
    emu::free_host_memory(memory, a.host);
  else
    memory.release(a.address);
}

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return device_call([&](Context& c) { return allocate(c, pointer, bytes, "cudaMalloc"); });
}

cudaError_t cudaFree(void* pointer) {
  return device_call([&](Context& c) { return release(c, pointer); });
}

// What a program says of its memory (emulator/names.hpp).
void emu_name_memory(const void* device_memory, const char* name, uint64_t columns, uint64_t element_bytes) {
  host_call([&](Context& c) {
    c.memory().name_matrix(reinterpret_cast<uint64_t>(device_memory), name, columns, element_bytes);
    return cudaSuccess;
  });
}

// Who wrote a byte of device memory in the last launch, in words that last until the next call; null: nobody that is known of.
const char* emu_writer_of(const void* device_memory) {
  static std::string words;
  device_call([&](Context&) {
    emu::check::Checker* checker = emu::Device::instance().checker();
    words = checker ? checker->writer(reinterpret_cast<uint64_t>(device_memory)) : "";
    return cudaSuccess;
  });
  return words.empty() ? nullptr : words.c_str();
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return device_call([&](Context& c) {
    return valid_stream(stream) ? allocate(c, pointer, bytes, "cudaMallocAsync")
                                : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return device_call([&](Context& c) {
    return valid_stream(stream) ? release(c, pointer) : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return device_call([&](Context& c) {
    if (!valid_stream(stream) || !valid_pool(pool)) return cudaErrorInvalidResourceHandle;
    return allocate(c, pointer, bytes, "cudaMallocFromPoolAsync");
  });
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return device_call([&](Context& c) { return allocate_host(c, pointer, bytes, "cudaMallocHost"); });
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  return device_call([&](Context& c) {
    constexpr unsigned kKnown = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    if (flags & ~kKnown) return cudaErrorInvalidValue;
    return allocate_host(c, pointer, bytes, "cudaHostAlloc");
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  return device_call([&](Context& c) {
    if (!pointer) return cudaSuccess;
    const emu::Allocation* a = allocation_at(c, pointer);
    if (!a || !(made_by(*a, "cudaMallocHost") || made_by(*a, "cudaHostAlloc"))) return cudaErrorInvalidValue;
    release_allocation(c.memory(), *a);
    return cudaSuccess;
  });
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  return device_call([&](Context& c) {
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return cudaErrorInvalidValue;
    if (bytes == 0) return cudaErrorInvalidValue;
    return allocate_host(c, pointer, bytes, "cudaMallocManaged");
  });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return device_call([&](Context& c) {
    if (!pitch || width > SIZE_MAX - kPitch) return cudaErrorInvalidValue;
    *pitch = (width + kPitch - 1) / kPitch * kPitch;
    if (height && *pitch > SIZE_MAX / height) return cudaErrorMemoryAllocation;
    return allocate(c, pointer, *pitch * height, "cudaMallocPitch");
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  return device_call([&](Context& c) {
    if (!pitched || extent.width > SIZE_MAX - kPitch) return cudaErrorInvalidValue;
    pitched->pitch = (extent.width + kPitch - 1) / kPitch * kPitch;
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    uint64_t rows = 0, bytes = 0;
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows) ||
        __builtin_mul_overflow(rows, pitched->pitch, &bytes))
      return cudaErrorMemoryAllocation;
    return allocate(c, &pitched->ptr, bytes, "cudaMalloc3D");
  });
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int) {
  return device_call([&](Context& c) {
    if (!pointer || bytes == 0) return cudaErrorInvalidValue;
    auto begin = reinterpret_cast<uint64_t>(pointer);
    for (auto& [address, a] : c.memory().allocations())
      if (address < begin + bytes && begin < address + a.bytes) return cudaErrorHostMemoryAlreadyRegistered;
    c.memory().add_host_range(pointer, bytes, next_name("cudaHostRegister"));
    return cudaSuccess;
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return device_call([&](Context& c) {
    const emu::Allocation* a = allocation_at(c, pointer);
    if (!a || !is_host(*a) || !made_by(*a, "cudaHostRegister")) return cudaErrorHostMemoryNotRegistered;
    return c.memory().release(a->address) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
  });
}

// Pinned memory has one address for both sides.
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  return device_call([&](Context& c) {
    if (!device || flags != 0) return cudaErrorInvalidValue;
    const emu::Allocation* a = c.memory().find(reinterpret_cast<uint64_t>(host), 1);
    if (!a || !is_host(*a)) return cudaErrorInvalidValue;
    *device = host;
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* host) {
  return device_call([&](Context& c) {
    const emu::Allocation* a = c.memory().find(reinterpret_cast<uint64_t>(host), 1);
    if (!flags || !a || !is_host(*a)) return cudaErrorInvalidValue;
    *flags = cudaHostAllocMapped;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return device_call([&](Context& c) {
    if (!free || !total) return cudaErrorInvalidValue;
    *total = c.memory().capacity();
    *free = *total - c.memory().bytes_in_use();
    if (uint64_t machine = machine_memory()) *free = std::min<size_t>(*free, machine);
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return device_call([&](Context& c) {
    if (!attributes) return cudaErrorInvalidValue;
    *attributes = {};
    auto address = reinterpret_cast<uint64_t>(pointer);
    const emu::Allocation* a = c.memory().find(address, 1);
    attributes->device = 0;
    attributes->type = cudaMemoryTypeUnregistered;
    if (!a) {
      if (emu::Device::instance().owns(address)) return cudaErrorInvalidValue;
      attributes->device = -2;  // cudaInvalidDeviceId: plain host memory belongs to no device
      attributes->hostPointer = const_cast<void*>(pointer);
      return cudaSuccess;
    }
    attributes->devicePointer = const_cast<void*>(pointer);
    if (!is_host(*a)) {
      attributes->type = cudaMemoryTypeDevice;
      return cudaSuccess;
    }
    bool managed = !made_by(*a, "cudaHost") && !made_by(*a, "cudaMallocHost");
    attributes->type = managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
    attributes->hostPointer = const_cast<void*>(pointer);
    return cudaSuccess;
  });
}

// ---- memory pools; frees give memory back at once, so there is nothing to trim or tune

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return host_call([&](Context&) {
    if (device != 0) return cudaErrorInvalidDevice;
    if (!pool) return cudaErrorInvalidValue;
    *pool = default_pool();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  const cudaError_t asked = cudaDeviceGetDefaultMemPool(pool, device);
  if (asked == cudaSuccess && current_pool) *pool = current_pool;
  return asked;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return host_call([&](Context&) {
    if (!pool || !properties || properties->allocType != cudaMemAllocationTypePinned)
      return cudaErrorInvalidValue;
    if (properties->location.type != cudaMemLocationTypeDevice || properties->location.id != 0)
      return cudaErrorInvalidDevice;
    own_pools().emplace_back();
    *pool = reinterpret_cast<cudaMemPool_t>(&own_pools().back());
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return host_call([&](Context&) {
    if (pool == default_pool() || !valid_pool(pool)) return cudaErrorInvalidValue;
    if (current_pool == pool) current_pool = nullptr;
    own_pools().remove_if(
        [&](const Pool& p) { return reinterpret_cast<cudaMemPool_t>(const_cast<Pool*>(&p)) == pool; });
    return cudaSuccess;
  });
}

// There is one device, and it has access.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, size_t count) {
  return host_call([&](Context&) {
    if (!valid_pool(pool) || (count && !access)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; ++i)
      if (access[i].location.id != 0) return cudaErrorInvalidDevice;
    return cudaSuccess;
  });
}
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  return host_call([&](Context&) {
    if (!flags || !location || !valid_pool(pool)) return cudaErrorInvalidValue;
    *flags = location->id == 0 ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return device_call([&](Context& c) {
    if (!valid_pool(pool) || !value) return cudaErrorInvalidValue;
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies:
      case cudaMemPoolReuseAllowOpportunistic:
      case cudaMemPoolReuseAllowInternalDependencies:
        *static_cast<int*>(value) = 1;
        return cudaSuccess;
      case cudaMemPoolAttrReleaseThreshold:
        *static_cast<uint64_t*>(value) = 0;
        return cudaSuccess;
      case cudaMemPoolAttrReservedMemCurrent:
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemCurrent:
      case cudaMemPoolAttrUsedMemHigh:
        *static_cast<uint64_t*>(value) = c.memory().bytes_in_use();
        return cudaSuccess;
      default:
        return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return host_call([&](Context&) {
    if (device != 0) return cudaErrorInvalidDevice;
    if (!valid_pool(pool)) return cudaErrorInvalidValue;
    current_pool = pool;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return host_call([&](Context&) { return valid_pool(pool) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return host_call([&](Context&) {
    if (!valid_pool(pool) || !value) return cudaErrorInvalidValue;
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies:
      case cudaMemPoolReuseAllowOpportunistic:
      case cudaMemPoolReuseAllowInternalDependencies:
      case cudaMemPoolAttrReleaseThreshold:
        return cudaSuccess;
      default:
        return cudaErrorInvalidValue;
    }
  });
}

}  // extern "C"

EMU_PER_THREAD(cudaMallocAsync, _ptsz)
EMU_PER_THREAD(cudaFreeAsync, _ptsz)
EMU_PER_THREAD(cudaMallocFromPoolAsync, _ptsz)
