// More of the driver: copies and fills of two and three dimensions, and what it tells of devices, contexts, streams and kernels.
#include <cstring>

#include "emulator/runtime/driver.hpp"
#include "emulator/runtime/handles.hpp"

using namespace emu::runtime;

namespace {

// One side of a copy: where it begins, and its pitches.
struct Rows {
  size_t x, y, z;
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  size_t pitch, height;
  const void* base() const { return type == CU_MEMORYTYPE_HOST ? host : pointer(device); }
};

CUresult copy_rows(const Rows& from, const Rows& to, size_t width, size_t height, size_t depth,
                   CUstream stream) {
  if (from.array || to.array) return CUDA_ERROR_NOT_SUPPORTED;
  const auto pitched = [&](const Rows& s) {
    const size_t pitch = s.pitch ? s.pitch : width;
    cudaPitchedPtr p;
    p.ptr = const_cast<void*>(s.base());
    p.pitch = p.xsize = pitch;
    p.ysize = s.height ? s.height : height;
    return p;
  };
  const auto is_host = [](const Rows& s) { return s.type == CU_MEMORYTYPE_HOST; };
  cudaMemcpy3DParms p = {};
  p.srcPtr = pitched(from);
  p.dstPtr = pitched(to);
  p.srcPos = {from.x, from.y, from.z};
  p.dstPos = {to.x, to.y, to.z};
  p.extent = {width, height, depth};
  const bool any = from.type == CU_MEMORYTYPE_UNIFIED || to.type == CU_MEMORYTYPE_UNIFIED;
  p.kind = any             ? cudaMemcpyDefault
           : is_host(from) ? (is_host(to) ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
           : is_host(to)   ? cudaMemcpyDeviceToHost
                           : cudaMemcpyDeviceToDevice;
  return apart([&] { return cudaMemcpy3DAsync(&p, stream); });
}

// Elements of 2 or 4 bytes, row by row.
template <class T>
CUresult fill_rows(CUdeviceptr address, size_t pitch, T value, size_t width, size_t height, CUstream stream) {
  return apart([&] {
    return device_call([&](Context& c) {
      if (!valid_stream(stream)) return cudaErrorInvalidResourceHandle;
      if (address % sizeof(T) || (height > 1 && pitch < width * sizeof(T))) return cudaErrorInvalidValue;
      for (size_t y = 0; y < height; ++y) {
        std::byte* row = c.memory().at(address + y * pitch, width * sizeof(T));
        if (!row) return cudaErrorInvalidValue;
        for (size_t x = 0; x < width; ++x) std::memcpy(row + x * sizeof(T), &value, sizeof(T));
      }
      return cudaSuccess;
    });
  });
}

}  // namespace

extern "C" {

// ---- copies of areas
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* p, CUstream stream) {
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  return copy_rows(
      {p->srcXInBytes, p->srcY, 0, p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcPitch, 0},
      {p->dstXInBytes, p->dstY, 0, p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstPitch, 0},
      p->WidthInBytes, p->Height, 1, stream);
}
CUresult cuMemcpy2D(const CUDA_MEMCPY2D* p) {
  return cuMemcpy2DAsync(p, nullptr);
}
CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* p) {
  return cuMemcpy2DAsync(p, nullptr);
}

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* p, CUstream stream) {
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  return copy_rows({p->srcXInBytes, p->srcY, p->srcZ, p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray,
                    p->srcPitch, p->srcHeight},
                   {p->dstXInBytes, p->dstY, p->dstZ, p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray,
                    p->dstPitch, p->dstHeight},
                   p->WidthInBytes, p->Height, p->Depth, stream);
}
CUresult cuMemcpy3D(const CUDA_MEMCPY3D* p) {
  return cuMemcpy3DAsync(p, nullptr);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
  return fill_rows(to, pitch, value, width, height, stream);
}
CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream stream) {
  return fill_rows(to, pitch, value, width, height, stream);
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                            CUstream stream) {
  return fill_rows(to, pitch, value, width, height, stream);
}
CUresult cuMemsetD2D8(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return fill_rows(to, pitch, value, width, height, nullptr);
}
CUresult cuMemsetD2D16(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return fill_rows(to, pitch, value, width, height, nullptr);
}
CUresult cuMemsetD2D32(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height) {
  return fill_rows(to, pitch, value, width, height, nullptr);
}

CUresult cuMemHostRegister(void* host, size_t bytes, unsigned flags) {
  return apart([&] { return cudaHostRegister(host, bytes, flags); });
}
CUresult cuMemHostUnregister(void* host) {
  return apart([&] { return cudaHostUnregister(host); });
}
CUresult cuMemHostGetFlags(unsigned* flags, void* host) {
  return apart([&] { return cudaHostGetFlags(flags, host); });
}

// ---- the device and its context
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (!uuid) return CUDA_ERROR_INVALID_VALUE;
  cudaDeviceProp properties;
  const CUresult asked = apart([&] { return cudaGetDeviceProperties(&properties, device); });
  if (asked == CUDA_SUCCESS) std::memcpy(uuid, &properties.uuid, sizeof *uuid);
  return asked;
}
CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  return apart([&] { return cudaDeviceGetPCIBusId(text, length, device); });
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return apart([&] { return cudaDeviceCanAccessPeer(can, device, peer); });
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned) {
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (flags) *flags = 0;
  if (active) *active = 1;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return device == 0 ? apart([] { return cudaDeviceReset(); }) : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuCtxGetFlags(unsigned* flags) {
  return apart([&] { return cudaGetDeviceFlags(flags); });
}
CUresult cuCtxSetFlags(unsigned) {
  return CUDA_SUCCESS;
}
CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = 3020;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return apart([&] { return cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit)); });
}
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return apart([&] { return cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value); });
}
CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return apart([&] { return cudaDeviceGetCacheConfig(reinterpret_cast<cudaFuncCache*>(config)); });
}
CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return apart([&] { return cudaDeviceSetCacheConfig(static_cast<cudaFuncCache>(config)); });
}
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return apart([&] { return cudaDeviceGetStreamPriorityRange(least, greatest); });
}
CUresult cuProfilerStart() {
  return CUDA_SUCCESS;
}
CUresult cuProfilerStop() {
  return CUDA_SUCCESS;
}

// ---- streams
CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return apart([&] { return cudaStreamGetPriority(stream, priority); });
}
CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  return apart([&] { return cudaStreamGetFlags(stream, flags); });
}
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return apart([&] { return cudaStreamGetId(stream, id); });
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return valid_stream(stream) ? cuCtxGetCurrent(context) : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return apart(
      [&] { return cudaStreamIsCapturing(stream, reinterpret_cast<cudaStreamCaptureStatus*>(status)); });
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return apart([&] { return cudaLaunchHostFunc(stream, function, data); });
}
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function, void* data, unsigned flags) {
  return apart([&] {
    return cudaStreamAddCallback(stream, reinterpret_cast<cudaStreamCallback_t>(function), data, flags);
  });
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return apart([&] { return cudaEventRecordWithFlags(event, stream, flags); });
}

// ---- kernels
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  const Kernel* kernel = Context::instance().find_kernel(function);
  if (!kernel || !kernel->program) return CUDA_ERROR_INVALID_HANDLE;
  const auto& params = kernel->program->params;
  if (!offset || index >= params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = params[index].offset;
  if (bytes) *bytes = params[index].bytes;
  return CUDA_SUCCESS;
}
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
  return cuFuncGetParamInfo(reinterpret_cast<CUfunction>(kernel), index, offset, bytes);
}
CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return cuFuncGetName(name, reinterpret_cast<CUfunction>(kernel));
}
CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  const Kernel* kernel = Context::instance().find_kernel(function);
  if (!kernel || !kernel->binary) return CUDA_ERROR_INVALID_HANDLE;
  if (!module) return CUDA_ERROR_INVALID_VALUE;
  *module = reinterpret_cast<CUmodule>(kernel->binary);
  return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction function) {
  return Context::instance().find_kernel(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  if (!state) return CUDA_ERROR_INVALID_VALUE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return cuFuncLoad(function);
}

// ---- memory pools
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return apart([&] { return cudaDeviceGetDefaultMemPool(pool, device); });
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return apart([&] { return cudaDeviceGetMemPool(pool, device); });
}
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return apart([&] { return cudaDeviceSetMemPool(device, pool); });
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return apart(
      [&] { return cudaMallocFromPoolAsync(reinterpret_cast<void**>(address), bytes, pool, stream); });
}
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes) {
  return apart([&] { return cudaMemPoolTrimTo(pool, bytes); });
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return apart([&] { return cudaMemPoolSetAttribute(pool, static_cast<cudaMemPoolAttr>(attribute), value); });
}

}  // extern "C"
