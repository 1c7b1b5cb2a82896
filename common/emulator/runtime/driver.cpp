// The driver calls that runtime programs reach through cudaGetDriverEntryPoint or cuGetProcAddress, above all
// those that encode tensor maps.
#include <algorithm>
#include <cstring>

#include "emulator/machine/tensor_map.hpp"
#include "emulator/runtime/driver.hpp"
#include "rules/limits.hpp"

using namespace emu::runtime;
using namespace rules;

namespace {

// Elements of several bytes: one byte of every element at a time, the last first, because it reaches furthest.
template <class T>
CUresult fill(CUdeviceptr address, T value, size_t count, CUstream stream) {
  if (address % sizeof value) return CUDA_ERROR_INVALID_VALUE;
  return apart([&] {
    cudaError_t error = cudaSuccess;
    for (size_t i = sizeof value; i-- > 0 && error == cudaSuccess;)
      error = cudaMemset2DAsync(pointer(address + i), sizeof value, value >> 8 * i & 0xFF, 1, count, stream);
    return error;
  });
}

CUresult tensor_map_result(const char* call, int code, const std::string& why) {
  if (code != emu::kTensorMapSuccess)
    explain(static_cast<cudaError_t>(code), call, why, std::string("the rules: CUDA Driver API, ") + call);
  return static_cast<CUresult>(code);
}

// The arguments that the calls of all modes have.
rules::TensorMapArguments arguments_of(CUtensorMapDataType type, cuuint32_t rank, const void* address,
                                       CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                       CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill fill) {
  rules::TensorMapArguments a;
  a.type = type;
  a.rank = rank;
  a.address = reinterpret_cast<uint64_t>(address);
  a.interleave = interleave;
  a.swizzle = swizzle;
  a.l2_promotion = l2_promotion;
  a.oob_fill = fill;
  return a;
}

// The arrays of a call's arguments, as the rules take them.
class Arrays {
 public:
  Arrays(const CUtensorMap* map, cuuint32_t rank)
      : dimensions_(std::min(rank, 5u)) {  // another rank is refused by its rule
    given(map, "tensorMap");
  }
  template <class From, class To>
  void take(const From* from, unsigned less, const char* parameter, To* to) {
    static_assert(sizeof(From) == sizeof(To), "the driver's types are those of the rules");
    const unsigned count = dimensions_ > less ? dimensions_ - less : 0;
    if ((count || !less) && given(from, parameter)) std::copy_n(from, count, to);
  }
  // Empty, or an explanation where the call needs an array and gets NULL.
  const std::string& why() const { return why_; }

 private:
  unsigned dimensions_;
  std::string why_;

  bool given(const void* pointer, const char* parameter) {
    if (!pointer && why_.empty())
      why_ = std::string(parameter) + " = NULL: the driver reads or writes there; pass the array";
    return pointer != nullptr;
  }
};

// Of the memory that a map is encoded for; 0: it is none of the device's.
uint32_t allocation_of(uint64_t address) {
  Context& context = Context::instance();
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  return context.memory().serial_at(address);
}

// What the driver takes although it is hardly meant.
void advise(const char* call, const rules::TensorMapArguments& arguments) {
  for (const rules::Broken& broken : rules::broken_rules(arguments)) {
    emu::Finding f(emu::Id::tensor_map_unchecked);
    f.title = broken.what + ": " + broken.rule;
    f.where = call;
    f.why = std::string("the driver accepts this map all the same; ") + broken.manual;
    f.hint = broken.fix;
    emu::Report::instance().add(f);
  }
}

CUresult encode(const char* call, CUtensorMap* map, const rules::TensorMapArguments& a,
                const Arrays& arrays) {
  static_assert(sizeof(CUtensorMap) == emu::kTensorMapBytes, "a tensor map is 128 opaque bytes");
  std::string why = arrays.why();
  const int code = why.empty() ? emu::encode_tensor_map(map, a, &why, allocation_of(a.address))
                               : emu::kTensorMapInvalidValue;
  if (code == emu::kTensorMapSuccess) advise(call, a);
  return tensor_map_result(call, code, why);
}

// There is one device and one context; any non-null value names it.
const CUcontext kContext = reinterpret_cast<CUcontext>(uintptr_t{1});

struct EntryPoint {
  const char* name;
  void* function;
};

}  // namespace

extern "C" {

CUresult cuInit(unsigned int flags) {
  return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  return apart([&] { return cudaDriverGetVersion(version); });
}

CUresult cuDeviceGetCount(int* count) {
  return apart([&] { return cudaGetDeviceCount(count); });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (!name || length < 1) return CUDA_ERROR_INVALID_VALUE;
  std::strncpy(name, kEmulatorName, static_cast<size_t>(length) - 1);
  name[length - 1] = '\0';
  return CUDA_SUCCESS;
}

// The attributes of driver and runtime have the same numbers.
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return apart([&] { return cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device); });
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  size_t free = 0;
  return apart([&] { return cudaMemGetInfo(&free, bytes); });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  if (!context) return CUDA_ERROR_INVALID_VALUE;
  *context = kContext;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return context == kContext || !context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return cuDeviceGet(device, 0);
}

CUresult cuCtxSynchronize() {
  return apart([] { return cudaDeviceSynchronize(); });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return device == 0 ? cuCtxGetCurrent(context) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  if (!address || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return apart([&] { return cudaMalloc(reinterpret_cast<void**>(address), bytes); });
}

CUresult cuMemFree(CUdeviceptr address) {
  return apart([&] { return cudaFree(pointer(address)); });
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return apart([&] {
    return device_call([&](Context& c) {
      const emu::Allocation* a = c.memory().find(address, 1);
      if (!a) return cudaErrorInvalidValue;
      if (base) *base = a->address;
      if (bytes) *bytes = a->bytes;
      return cudaSuccess;
    });
  });
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return apart([&] { return cudaMemcpy(pointer(to), from, bytes, cudaMemcpyHostToDevice); });
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return apart([&] { return cudaMemcpy(to, pointer(from), bytes, cudaMemcpyDeviceToHost); });
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return apart([&] { return cudaMemcpy(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice); });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return apart([&] { return cudaMemcpyAsync(pointer(to), from, bytes, cudaMemcpyHostToDevice, stream); });
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return apart([&] { return cudaMemcpyAsync(to, pointer(from), bytes, cudaMemcpyDeviceToHost, stream); });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return apart(
      [&] { return cudaMemcpyAsync(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice, stream); });
}

CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, CUstream stream) {
  return apart([&] { return cudaMemsetAsync(pointer(address), value, bytes, stream); });
}

CUresult cuMemsetD16Async(CUdeviceptr address, unsigned short value, size_t count, CUstream stream) {
  return fill(address, value, count, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, size_t count, CUstream stream) {
  return fill(address, value, count, stream);
}

CUresult cuMemsetD8(CUdeviceptr address, unsigned char value, size_t bytes) {
  return apart([&] { return cudaMemset(pointer(address), value, bytes); });
}

CUresult cuMemsetD16(CUdeviceptr address, unsigned short value, size_t count) {
  return fill(address, value, count, nullptr);
}

CUresult cuMemsetD32(CUdeviceptr address, unsigned value, size_t count) {
  return fill(address, value, count, nullptr);
}

CUresult cuStreamSynchronize(CUstream stream) {
  return apart([&] { return cudaStreamSynchronize(stream); });
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  cudaPointerAttributes a;
  CUresult asked = apart([&] { return cudaPointerGetAttributes(&a, pointer(address)); });
  if (asked != CUDA_SUCCESS) return asked;
  if (!data || a.type == cudaMemoryTypeUnregistered) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(data) =
          a.type == cudaMemoryTypeHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<void**>(data) = a.devicePointer;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!a.hostPointer) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<void**>(data) = a.hostPointer;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<bool*>(data) = a.type == cudaMemoryTypeManaged;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(data) = 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(data) = kContext;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2_promotion,
                                CUtensorMapFloatOOBfill fill) {
  rules::TensorMapArguments a = arguments_of(type, rank, address, interleave, swizzle, l2_promotion, fill);
  Arrays arrays(map, rank);
  arrays.take(sizes, 0, "globalDim", a.size);
  arrays.take(box, 0, "boxDim", a.box);
  arrays.take(element_strides, 0, "elementStrides", a.element_stride);
  arrays.take(strides, 1, "globalStrides", a.stride_bytes);
  return encode("cuTensorMapEncodeTiled", map, a, arrays);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* sizes, const cuuint64_t* strides, const int* lower_corner,
                                 const int* upper_corner, cuuint32_t channels_per_pixel,
                                 cuuint32_t pixels_per_column, const cuuint32_t* element_strides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill fill) {
  rules::TensorMapArguments a = arguments_of(type, rank, address, interleave, swizzle, l2_promotion, fill);
  a.im2col = true;
  a.channels_per_pixel = channels_per_pixel;
  a.pixels_per_column = pixels_per_column;
  Arrays arrays(map, rank);
  arrays.take(sizes, 0, "globalDim", a.size);
  arrays.take(strides, 1, "globalStrides", a.stride_bytes);
  arrays.take(lower_corner, 2, "pixelBoxLowerCorner", a.lower_corner);
  arrays.take(upper_corner, 2, "pixelBoxUpperCorner", a.upper_corner);
  arrays.take(element_strides, 0, "elementStrides", a.element_stride);
  return encode("cuTensorMapEncodeIm2col", map, a, arrays);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  std::string why;
  const uint64_t to = reinterpret_cast<uint64_t>(address);
  const int code = emu::replace_tensor_map_address(map, to, &why, allocation_of(to));
  return tensor_map_result("cuTensorMapReplaceAddress", code, why);
}

CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status);

}  // extern "C"

namespace {

// By base name, without the _v2 of the symbol behind it.
const EntryPoint kEntryPoints[] = {
    {"cuInit", reinterpret_cast<void*>(cuInit)},
    {"cuDriverGetVersion", reinterpret_cast<void*>(cuDriverGetVersion)},
    {"cuGetProcAddress", reinterpret_cast<void*>(cuGetProcAddress)},
    {"cuGetErrorName", reinterpret_cast<void*>(cuGetErrorName)},
    {"cuGetErrorString", reinterpret_cast<void*>(cuGetErrorString)},
    {"cuDeviceGetCount", reinterpret_cast<void*>(cuDeviceGetCount)},
    {"cuDeviceGet", reinterpret_cast<void*>(cuDeviceGet)},
    {"cuDeviceGetName", reinterpret_cast<void*>(cuDeviceGetName)},
    {"cuDeviceGetAttribute", reinterpret_cast<void*>(cuDeviceGetAttribute)},
    {"cuDeviceTotalMem", reinterpret_cast<void*>(cuDeviceTotalMem)},
    {"cuCtxGetCurrent", reinterpret_cast<void*>(cuCtxGetCurrent)},
    {"cuCtxSetCurrent", reinterpret_cast<void*>(cuCtxSetCurrent)},
    {"cuCtxGetDevice", reinterpret_cast<void*>(cuCtxGetDevice)},
    {"cuCtxSynchronize", reinterpret_cast<void*>(cuCtxSynchronize)},
    {"cuCtxCreate", reinterpret_cast<void*>(cuCtxCreate)},
    {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(cuDevicePrimaryCtxRetain)},
    {"cuDevicePrimaryCtxRelease", reinterpret_cast<void*>(cuDevicePrimaryCtxRelease)},
    {"cuMemAlloc", reinterpret_cast<void*>(cuMemAlloc)},
    {"cuMemFree", reinterpret_cast<void*>(cuMemFree)},
    {"cuMemGetAddressRange", reinterpret_cast<void*>(cuMemGetAddressRange)},
    {"cuMemcpyHtoD", reinterpret_cast<void*>(cuMemcpyHtoD)},
    {"cuMemcpyDtoH", reinterpret_cast<void*>(cuMemcpyDtoH)},
    {"cuMemcpyDtoD", reinterpret_cast<void*>(cuMemcpyDtoD)},
    {"cuMemcpyHtoDAsync", reinterpret_cast<void*>(cuMemcpyHtoDAsync)},
    {"cuMemcpyDtoHAsync", reinterpret_cast<void*>(cuMemcpyDtoHAsync)},
    {"cuMemcpyDtoDAsync", reinterpret_cast<void*>(cuMemcpyDtoDAsync)},
    {"cuMemsetD8", reinterpret_cast<void*>(cuMemsetD8)},
    {"cuMemsetD16", reinterpret_cast<void*>(cuMemsetD16)},
    {"cuMemsetD32", reinterpret_cast<void*>(cuMemsetD32)},
    {"cuMemsetD8Async", reinterpret_cast<void*>(cuMemsetD8Async)},
    {"cuMemsetD16Async", reinterpret_cast<void*>(cuMemsetD16Async)},
    {"cuMemsetD32Async", reinterpret_cast<void*>(cuMemsetD32Async)},
    {"cuStreamSynchronize", reinterpret_cast<void*>(cuStreamSynchronize)},
    {"cuPointerGetAttribute", reinterpret_cast<void*>(cuPointerGetAttribute)},
    {"cuModuleLoadData", reinterpret_cast<void*>(cuModuleLoadData)},
    {"cuModuleLoadDataEx", reinterpret_cast<void*>(cuModuleLoadDataEx)},
    {"cuModuleLoadFatBinary", reinterpret_cast<void*>(cuModuleLoadFatBinary)},
    {"cuModuleUnload", reinterpret_cast<void*>(cuModuleUnload)},
    {"cuModuleGetFunction", reinterpret_cast<void*>(cuModuleGetFunction)},
    {"cuModuleGetGlobal", reinterpret_cast<void*>(cuModuleGetGlobal)},
    {"cuFuncSetAttribute", reinterpret_cast<void*>(cuFuncSetAttribute)},
    {"cuLaunchKernel", reinterpret_cast<void*>(cuLaunchKernel)},
    {"cuCtxDestroy", reinterpret_cast<void*>(cuCtxDestroy)},
    {"cuCtxPushCurrent", reinterpret_cast<void*>(cuCtxPushCurrent)},
    {"cuCtxPopCurrent", reinterpret_cast<void*>(cuCtxPopCurrent)},
    {"cuMemGetInfo", reinterpret_cast<void*>(cuMemGetInfo)},
    {"cuMemAllocPitch", reinterpret_cast<void*>(cuMemAllocPitch)},
    {"cuMemAllocAsync", reinterpret_cast<void*>(cuMemAllocAsync)},
    {"cuMemFreeAsync", reinterpret_cast<void*>(cuMemFreeAsync)},
    {"cuMemAllocManaged", reinterpret_cast<void*>(cuMemAllocManaged)},
    {"cuMemHostAlloc", reinterpret_cast<void*>(cuMemHostAlloc)},
    {"cuMemAllocHost", reinterpret_cast<void*>(cuMemAllocHost)},
    {"cuMemFreeHost", reinterpret_cast<void*>(cuMemFreeHost)},
    {"cuMemHostGetDevicePointer", reinterpret_cast<void*>(cuMemHostGetDevicePointer)},
    {"cuMemcpy", reinterpret_cast<void*>(cuMemcpy)},
    {"cuMemcpyAsync", reinterpret_cast<void*>(cuMemcpyAsync)},
    {"cuStreamCreateWithPriority", reinterpret_cast<void*>(cuStreamCreateWithPriority)},
    {"cuStreamCreate", reinterpret_cast<void*>(cuStreamCreate)},
    {"cuStreamDestroy", reinterpret_cast<void*>(cuStreamDestroy)},
    {"cuStreamQuery", reinterpret_cast<void*>(cuStreamQuery)},
    {"cuStreamWaitEvent", reinterpret_cast<void*>(cuStreamWaitEvent)},
    {"cuEventCreate", reinterpret_cast<void*>(cuEventCreate)},
    {"cuEventDestroy", reinterpret_cast<void*>(cuEventDestroy)},
    {"cuEventRecord", reinterpret_cast<void*>(cuEventRecord)},
    {"cuEventQuery", reinterpret_cast<void*>(cuEventQuery)},
    {"cuEventSynchronize", reinterpret_cast<void*>(cuEventSynchronize)},
    {"cuEventElapsedTime", reinterpret_cast<void*>(cuEventElapsedTime)},
    {"cuFuncGetAttribute", reinterpret_cast<void*>(cuFuncGetAttribute)},
    {"cuFuncSetCacheConfig", reinterpret_cast<void*>(cuFuncSetCacheConfig)},
    {"cuFuncGetName", reinterpret_cast<void*>(cuFuncGetName)},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor",
     reinterpret_cast<void*>(cuOccupancyMaxActiveBlocksPerMultiprocessor)},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
     reinterpret_cast<void*>(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)},
    {"cuOccupancyMaxPotentialBlockSize", reinterpret_cast<void*>(cuOccupancyMaxPotentialBlockSize)},
    {"cuOccupancyMaxPotentialBlockSizeWithFlags",
     reinterpret_cast<void*>(cuOccupancyMaxPotentialBlockSizeWithFlags)},
    {"cuOccupancyAvailableDynamicSMemPerBlock",
     reinterpret_cast<void*>(cuOccupancyAvailableDynamicSMemPerBlock)},
    {"cuOccupancyMaxActiveClusters", reinterpret_cast<void*>(cuOccupancyMaxActiveClusters)},
    {"cuLaunchKernelEx", reinterpret_cast<void*>(cuLaunchKernelEx)},
    {"cuLaunchCooperativeKernel", reinterpret_cast<void*>(cuLaunchCooperativeKernel)},
    {"cuMemcpy2DAsync", reinterpret_cast<void*>(cuMemcpy2DAsync)},
    {"cuMemcpy2D", reinterpret_cast<void*>(cuMemcpy2D)},
    {"cuMemcpy2DUnaligned", reinterpret_cast<void*>(cuMemcpy2DUnaligned)},
    {"cuMemcpy3DAsync", reinterpret_cast<void*>(cuMemcpy3DAsync)},
    {"cuMemcpy3D", reinterpret_cast<void*>(cuMemcpy3D)},
    {"cuMemsetD2D8Async", reinterpret_cast<void*>(cuMemsetD2D8Async)},
    {"cuMemsetD2D16Async", reinterpret_cast<void*>(cuMemsetD2D16Async)},
    {"cuMemsetD2D32Async", reinterpret_cast<void*>(cuMemsetD2D32Async)},
    {"cuMemsetD2D8", reinterpret_cast<void*>(cuMemsetD2D8)},
    {"cuMemsetD2D16", reinterpret_cast<void*>(cuMemsetD2D16)},
    {"cuMemsetD2D32", reinterpret_cast<void*>(cuMemsetD2D32)},
    {"cuMemHostRegister", reinterpret_cast<void*>(cuMemHostRegister)},
    {"cuMemHostUnregister", reinterpret_cast<void*>(cuMemHostUnregister)},
    {"cuMemHostGetFlags", reinterpret_cast<void*>(cuMemHostGetFlags)},
    {"cuDeviceGetUuid", reinterpret_cast<void*>(cuDeviceGetUuid)},
    {"cuDeviceGetPCIBusId", reinterpret_cast<void*>(cuDeviceGetPCIBusId)},
    {"cuDeviceCanAccessPeer", reinterpret_cast<void*>(cuDeviceCanAccessPeer)},
    {"cuDevicePrimaryCtxSetFlags", reinterpret_cast<void*>(cuDevicePrimaryCtxSetFlags)},
    {"cuDevicePrimaryCtxGetState", reinterpret_cast<void*>(cuDevicePrimaryCtxGetState)},
    {"cuDevicePrimaryCtxReset", reinterpret_cast<void*>(cuDevicePrimaryCtxReset)},
    {"cuCtxGetFlags", reinterpret_cast<void*>(cuCtxGetFlags)},
    {"cuCtxSetFlags", reinterpret_cast<void*>(cuCtxSetFlags)},
    {"cuCtxGetApiVersion", reinterpret_cast<void*>(cuCtxGetApiVersion)},
    {"cuCtxGetLimit", reinterpret_cast<void*>(cuCtxGetLimit)},
    {"cuCtxSetLimit", reinterpret_cast<void*>(cuCtxSetLimit)},
    {"cuCtxGetCacheConfig", reinterpret_cast<void*>(cuCtxGetCacheConfig)},
    {"cuCtxSetCacheConfig", reinterpret_cast<void*>(cuCtxSetCacheConfig)},
    {"cuCtxGetStreamPriorityRange", reinterpret_cast<void*>(cuCtxGetStreamPriorityRange)},
    {"cuStreamGetPriority", reinterpret_cast<void*>(cuStreamGetPriority)},
    {"cuStreamGetFlags", reinterpret_cast<void*>(cuStreamGetFlags)},
    {"cuStreamGetId", reinterpret_cast<void*>(cuStreamGetId)},
    {"cuStreamGetCtx", reinterpret_cast<void*>(cuStreamGetCtx)},
    {"cuStreamIsCapturing", reinterpret_cast<void*>(cuStreamIsCapturing)},
    {"cuLaunchHostFunc", reinterpret_cast<void*>(cuLaunchHostFunc)},
    {"cuStreamAddCallback", reinterpret_cast<void*>(cuStreamAddCallback)},
    {"cuEventRecordWithFlags", reinterpret_cast<void*>(cuEventRecordWithFlags)},
    {"cuFuncGetParamInfo", reinterpret_cast<void*>(cuFuncGetParamInfo)},
    {"cuKernelGetParamInfo", reinterpret_cast<void*>(cuKernelGetParamInfo)},
    {"cuKernelGetName", reinterpret_cast<void*>(cuKernelGetName)},
    {"cuFuncGetModule", reinterpret_cast<void*>(cuFuncGetModule)},
    {"cuFuncLoad", reinterpret_cast<void*>(cuFuncLoad)},
    {"cuFuncIsLoaded", reinterpret_cast<void*>(cuFuncIsLoaded)},
    {"cuDeviceGetDefaultMemPool", reinterpret_cast<void*>(cuDeviceGetDefaultMemPool)},
    {"cuDeviceGetMemPool", reinterpret_cast<void*>(cuDeviceGetMemPool)},
    {"cuDeviceSetMemPool", reinterpret_cast<void*>(cuDeviceSetMemPool)},
    {"cuMemAllocFromPoolAsync", reinterpret_cast<void*>(cuMemAllocFromPoolAsync)},
    {"cuMemPoolTrimTo", reinterpret_cast<void*>(cuMemPoolTrimTo)},
    {"cuMemPoolSetAttribute", reinterpret_cast<void*>(cuMemPoolSetAttribute)},
    {"cuModuleLoad", reinterpret_cast<void*>(cuModuleLoad)},
    {"cuModuleGetLoadingMode", reinterpret_cast<void*>(cuModuleGetLoadingMode)},
    {"cuLibraryLoadData", reinterpret_cast<void*>(cuLibraryLoadData)},
    {"cuLibraryLoadFromFile", reinterpret_cast<void*>(cuLibraryLoadFromFile)},
    {"cuLibraryUnload", reinterpret_cast<void*>(cuLibraryUnload)},
    {"cuLibraryGetModule", reinterpret_cast<void*>(cuLibraryGetModule)},
    {"cuLibraryGetKernel", reinterpret_cast<void*>(cuLibraryGetKernel)},
    {"cuLibraryGetGlobal", reinterpret_cast<void*>(cuLibraryGetGlobal)},
    {"cuKernelGetFunction", reinterpret_cast<void*>(cuKernelGetFunction)},
    {"cuKernelGetAttribute", reinterpret_cast<void*>(cuKernelGetAttribute)},
    {"cuKernelSetAttribute", reinterpret_cast<void*>(cuKernelSetAttribute)},
    {"cuTensorMapEncodeTiled", reinterpret_cast<void*>(cuTensorMapEncodeTiled)},
    {"cuTensorMapEncodeIm2col", reinterpret_cast<void*>(cuTensorMapEncodeIm2col)},
    {"cuTensorMapReplaceAddress", reinterpret_cast<void*>(cuTensorMapReplaceAddress)},
};

void* find_entry_point(const char* symbol) {
  for (const EntryPoint& e : kEntryPoints)
    if (std::strcmp(e.name, symbol) == 0) return e.function;
  return nullptr;
}

}  // namespace

extern "C" {

// As the driver does, a name that is not there is no error: *function is null and the status says so.
CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t,
                          CUdriverProcAddressQueryResult* status) {
  if (!symbol || !function || version < 2000) return CUDA_ERROR_INVALID_VALUE;
  *function = find_entry_point(symbol);
  if (status) *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int,
                                             unsigned long long, cudaDriverEntryPointQueryResult* status) {
  return host_call([&](Context&) {
    if (!symbol || !function) return cudaErrorInvalidValue;
    *function = find_entry_point(symbol);
    if (status) *status = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
  });
}

// Deprecated in CUDA 13, whose header still maps it to the per-thread name.
cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function, unsigned long long flags,
                                         cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}

}  // extern "C"

EMU_PER_THREAD(cudaGetDriverEntryPointByVersion, _ptsz)
