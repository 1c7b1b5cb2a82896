// The driver's contexts, streams, events, and memory that is more than cuMemAlloc: as the runtime's calls of the same
// meaning. There is one device and one context, which is always current.
#include "emulator/runtime/driver.hpp"

using namespace emu::runtime;

extern "C" {

// ---- contexts
CUresult cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice device) {
  return device == 0 ? cuCtxGetCurrent(context) : CUDA_ERROR_INVALID_DEVICE;
}

#if CUDA_VERSION >= 12050
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned flags, CUdevice device) {
  return cuCtxCreate_v2(context, flags, device);
}
#endif

CUresult cuCtxDestroy(CUcontext context) {
  return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPushCurrent(CUcontext context) {
  return cuCtxSetCurrent(context);
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return context ? cuCtxGetCurrent(context) : CUDA_SUCCESS;
}

// ---- memory
CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return apart([&] { return cudaMemGetInfo(free, total); });
}

CUresult cuMemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned) {
  return apart([&] { return cudaMallocPitch(reinterpret_cast<void**>(address), pitch, width, height); });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return apart([&] { return cudaMallocAsync(reinterpret_cast<void**>(address), bytes, stream); });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return apart([&] { return cudaFreeAsync(pointer(address), stream); });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  return apart([&] { return cudaMallocManaged(reinterpret_cast<void**>(address), bytes, flags); });
}

CUresult cuMemHostAlloc(void** host, size_t bytes, unsigned flags) {
  return apart([&] { return cudaHostAlloc(host, bytes, flags); });
}

CUresult cuMemAllocHost(void** host, size_t bytes) {
  return cuMemHostAlloc(host, bytes, 0);
}

CUresult cuMemFreeHost(void* host) {
  return apart([&] { return cudaFreeHost(host); });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* host, unsigned flags) {
  return apart([&] { return cudaHostGetDevicePointer(reinterpret_cast<void**>(address), host, flags); });
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return apart([&] { return cudaMemcpy(pointer(to), pointer(from), bytes, cudaMemcpyDefault); });
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return apart([&] { return cudaMemcpyAsync(pointer(to), pointer(from), bytes, cudaMemcpyDefault, stream); });
}

// ---- streams
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return apart([&] { return cudaStreamCreateWithPriority(stream, flags, priority); });
}

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return apart([&] { return cudaStreamCreateWithFlags(stream, flags); });
}

CUresult cuStreamDestroy(CUstream stream) {
  return apart([&] { return cudaStreamDestroy(stream); });
}

CUresult cuStreamQuery(CUstream stream) {
  return apart([&] { return cudaStreamQuery(stream); });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return apart([&] { return cudaStreamWaitEvent(stream, event, flags); });
}

// ---- events
CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return apart([&] { return cudaEventCreateWithFlags(event, flags); });
}

CUresult cuEventDestroy(CUevent event) {
  return apart([&] { return cudaEventDestroy(event); });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return apart([&] { return cudaEventRecord(event, stream); });
}

CUresult cuEventQuery(CUevent event) {
  return apart([&] { return cudaEventQuery(event); });
}

CUresult cuEventSynchronize(CUevent event) {
  return apart([&] { return cudaEventSynchronize(event); });
}

CUresult cuEventElapsedTime(float* ms, CUevent from, CUevent to) {
  return apart([&] { return cudaEventElapsedTime(ms, from, to); });
}

}  // extern "C"
