// The runtime calls of ordinary programs: what they do, and what they answer to mistakes. Answers are those of the
// CUDA runtime manual; nothing here ends the device's work (see faults.cpp for that).
#include <cuda.h>
#include <doctest/doctest.h>

#include "emulator/runtime/context.hpp"
#include "host/entry_point.hpp"
#include "quiet.hpp"
#include "runtime_support.hpp"

using namespace runtime_test;

namespace {

// A program with one kernel that stores 42 + tid, and a few variables.
struct Program {
  Registered code{
      ".global .align 4 .u32 number = 7;\n"
      ".global .align 4 .b8 untouched[16];\n"
      ".const .align 8 .f64 factor = 0d3FF8000000000000;\n"
      ".global .align 4 .u32 both = 5;\n"
      ".global .align 8 .u64 pointer = number;\n" +
      kernel_text("store",
                  "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd1, %rd1, %rd2;\n"
                  "add.u32 %r1, %r1, 42;\nst.global.u32 [%rd1], %r1;\n") +
      kernel_text("bounded", "", ".maxntid 64, 1, 1\n") +
      kernel_text("clustered", "", ".reqnctapercluster 2, 1, 1\n") +
      ".visible .entry tile(.param .u64 out) {\n.shared .align 16 .b8 buffer[1024];\n.reg .b32 %r<2>;\n"
      "mov.u32 %r1, buffer;\nret;\n}\n"};
  const void* store = code.kernel("store");
  const void* bounded = code.kernel("bounded");
  const void* clustered = code.kernel("clustered");
  const void* tile = code.kernel("tile");
  const void* missing = code.kernel("missing");
  void* number = code.variable("number");
  void* untouched = code.variable("untouched");
  void* factor = code.variable("factor");
  void* pointer = code.variable("pointer");
  int* both = nullptr;

  emu_test::QuietReport quiet;

  Program() { code.managed("both", reinterpret_cast<void**>(&both)); }
  static Program& instance() {
    static Program& p = *new Program;
    return p;
  }
};

cudaError_t launch(const void* kernel, dim3 grid, dim3 block, size_t shared = 0, void* out = nullptr) {
  void* args[] = {&out};
  return cudaLaunchKernel(kernel, grid, block, args, shared, nullptr);
}

struct Buffer {
  int* pointer = nullptr;
  explicit Buffer(size_t ints) {
    CHECK(cudaMalloc(reinterpret_cast<void**>(&pointer), ints * sizeof(int)) == cudaSuccess);
  }
  ~Buffer() { cudaFree(pointer); }
};

}  // namespace

TEST_CASE("cudaLaunchKernel runs the registered kernel and copies its arguments") {
  Program& p = Program::instance();
  Buffer b(32);
  CHECK(launch(p.store, 1, 32, 0, b.pointer) == cudaSuccess);
  int got[32] = {};
  CHECK(cudaMemcpy(got, b.pointer, sizeof got, cudaMemcpyDeviceToHost) == cudaSuccess);
  for (int i = 0; i < 32; ++i) CHECK(got[i] == 42 + i);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("cudaLaunchKernel answers impossible shapes as the GPU does, and says why") {
  Program& p = Program::instance();
  Buffer b(1024);
  CHECK(launch(p.store, dim3(0), dim3(1), 0, b.pointer) == cudaErrorInvalidValue);
  CHECK(launch(p.store, dim3(1, 65536), dim3(1), 0, b.pointer) == cudaErrorInvalidValue);
  CHECK(launch(p.store, dim3(1), dim3(0), 0, b.pointer) == cudaErrorInvalidValue);
  CHECK(launch(p.store, dim3(1), dim3(1025), 0, b.pointer) == cudaErrorInvalidValue);
  CHECK(launch(p.store, dim3(1), dim3(64, 32), 0, b.pointer) == cudaErrorInvalidValue);
  CHECK(contains(emu::runtime::last_explanation(), "(64,32,1)"));
  CHECK(launch(p.store, dim3(1), dim3(1, 1, 65), 0, b.pointer) == cudaErrorInvalidValue);
  CHECK(launch(p.store, dim3(1), dim3(1024), 0, b.pointer) == cudaSuccess);
  CHECK(launch(p.bounded, dim3(1), dim3(65), 0, b.pointer) == cudaErrorInvalidValue);
  CHECK(contains(emu::runtime::last_explanation(), "__launch_bounds__"));
  CHECK(launch(p.bounded, dim3(1), dim3(64), 0, b.pointer) == cudaSuccess);
  CHECK(launch(p.clustered, dim3(3), dim3(1), 0, b.pointer) == cudaErrorInvalidClusterSize);
  CHECK(launch(p.missing, dim3(1), dim3(1), 0, b.pointer) == cudaErrorInvalidDeviceFunction);
  CHECK(launch(&p, dim3(1), dim3(1), 0, b.pointer) == cudaErrorInvalidDeviceFunction);
  CHECK(cudaLaunchKernel(p.store, 1, 1, nullptr, 0, nullptr) == cudaErrorInvalidValue);
  void* args[] = {&b.pointer};
  CHECK(cudaLaunchKernel(p.store, 1, 1, args, 0, reinterpret_cast<cudaStream_t>(args)) ==
        cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE(
    "cudaLaunchKernel: more than 48 KiB of shared memory must be asked for, more than 227 KiB never works") {
  Program& p = Program::instance();
  Buffer b(32);
  CHECK(launch(p.tile, 1, 1, 47 * 1024, b.pointer) == cudaSuccess);
  CHECK(launch(p.tile, 1, 1, 47 * 1024 + 1, b.pointer) == cudaErrorInvalidValue);
  CHECK(contains(emu::runtime::last_explanation(), "cudaFuncAttributeMaxDynamicSharedMemorySize"));
  CHECK(cudaFuncSetAttribute(p.tile, cudaFuncAttributeMaxDynamicSharedMemorySize, 226 * 1024 + 1) ==
        cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(p.tile, cudaFuncAttributeMaxDynamicSharedMemorySize, 226 * 1024) == cudaSuccess);
  CHECK(launch(p.tile, 1, 1, 226 * 1024, b.pointer) == cudaSuccess);
  CHECK(launch(p.tile, 1, 1, 226 * 1024 + 1, b.pointer) == cudaErrorInvalidValue);
  cudaFuncAttributes a;
  CHECK(cudaFuncGetAttributes(&a, p.tile) == cudaSuccess);
  CHECK(a.sharedSizeBytes == 1024);
  CHECK(a.maxDynamicSharedSizeBytes == 226 * 1024);
  CHECK(a.maxThreadsPerBlock == 1024);
  CHECK(a.numRegs == 0);
  CHECK(a.constSizeBytes == 8);
  CHECK(cudaFuncGetAttributes(&a, p.bounded) == cudaSuccess);
  CHECK(a.maxThreadsPerBlock == 64);
  CHECK(cudaFuncGetAttributes(&a, p.missing) == cudaErrorInvalidDeviceFunction);
  cudaGetLastError();
}

TEST_CASE("cudaOccupancyMaxActiveBlocksPerMultiprocessor counts threads, blocks and shared memory") {
  Program& p = Program::instance();
  auto blocks = [&](const void* kernel, int threads, size_t shared) {
    int n = -1;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, kernel, threads, shared) == cudaSuccess);
    return n;
  };
  CHECK(blocks(p.store, 32, 0) == 32);
  CHECK(blocks(p.store, 128, 0) == 16);
  CHECK(blocks(p.store, 1000, 0) == 2);
  CHECK(blocks(p.store, 128, 100 * 1024) == 2);  // 2 x (100 + 1) KiB of 228
  CHECK(blocks(p.store, 128, 113 * 1024) == 2);
  CHECK(blocks(p.store, 128, 114 * 1024) == 1);
  CHECK(blocks(p.store, 128, 227 * 1024) == 1);
  CHECK(blocks(p.store, 128, 228 * 1024) == 0);
  CHECK(blocks(p.bounded, 128, 0) == 0);
}

TEST_CASE("cudaLaunchKernelExC takes clusters, and refuses attributes it cannot honour") {
  Program& p = Program::instance();
  Buffer b(32);
  void* args[] = {&b.pointer};
  cudaLaunchAttribute attribute = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = 4;
  config.blockDim = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  auto with_cluster = [&](const void* kernel, unsigned x) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = x;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    return cudaLaunchKernelExC(&config, kernel, args);
  };
  CHECK(with_cluster(p.store, 3) == cudaErrorInvalidClusterSize);
  CHECK(contains(emu::runtime::last_explanation(), "no multiple of the cluster"));
  CHECK(with_cluster(p.clustered, 4) == cudaErrorInvalidClusterSize);
  config.gridDim = 16;
  CHECK(with_cluster(p.store, 16) == cudaErrorInvalidClusterSize);
  CHECK(cudaFuncSetAttribute(p.store, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) == cudaSuccess);
  CHECK(with_cluster(p.store, 16) == cudaSuccess);
  CHECK(with_cluster(p.clustered, 2) == cudaSuccess);
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  CHECK(cudaLaunchKernelExC(&config, p.store, args) == cudaSuccess);
  attribute.id = cudaLaunchAttributeDeviceUpdatableKernelNode;
  CHECK(cudaLaunchKernelExC(&config, p.store, args) == cudaErrorNotSupported);
  CHECK(contains(emu::runtime::last_explanation(), "launch attribute 13"));
  CHECK(cudaLaunchKernelExC(nullptr, p.store, args) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("cudaMalloc gives poisoned, aligned memory; cudaFree takes each pointer once") {
  void* p = nullptr;
  CHECK(cudaMalloc(&p, 1000) == cudaSuccess);
  CHECK(reinterpret_cast<uintptr_t>(p) % 256 == 0);
  uint32_t word = 0;
  CHECK(cudaMemcpy(&word, p, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(word == 0x7FFF7FFFu);
  CHECK(cudaFree(static_cast<char*>(p) + 4) == cudaErrorInvalidValue);
  CHECK(cudaFree(p) == cudaSuccess);
  CHECK(cudaFree(p) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(&word, p, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  CHECK(cudaMalloc(&p, 0) == cudaSuccess);
  CHECK(p == nullptr);
  CHECK(cudaMalloc(&p, size_t{1} << 60) == cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(nullptr, 4) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("cudaMemcpy refuses a direction that does not fit, and bytes outside an allocation") {
  Buffer a(16), b(16);
  int host[32] = {1, 2, 3};
  CHECK(cudaMemcpy(a.pointer, host, 64, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpy(a.pointer, host, 68, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(contains(emu::runtime::last_explanation(), "not inside one allocation"));
  CHECK(cudaMemcpy(host, host + 8, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(contains(emu::runtime::last_explanation(), "is host memory"));
  CHECK(cudaMemcpy(a.pointer, b.pointer, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(contains(emu::runtime::last_explanation(), "is device memory"));
  CHECK(cudaMemcpy(b.pointer, a.pointer, 64, cudaMemcpyDefault) == cudaSuccess);
  int back[3] = {};
  CHECK(cudaMemcpy(back, b.pointer, sizeof back, cudaMemcpyDefault) == cudaSuccess);
  CHECK(back[2] == 3);
  CHECK(cudaMemcpy(host, host + 8, 0, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpy(host, a.pointer, 4, static_cast<cudaMemcpyKind>(7)) == cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemcpy2D(host, 4, a.pointer, 8, 8, 2, cudaMemcpyDeviceToHost) == cudaErrorInvalidPitchValue);
  CHECK(cudaMemcpy2D(host, 8, a.pointer, 48, 8, 2, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(cudaMemcpy2D(host, 8, a.pointer, 60, 8, 2, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemset(a.pointer, 0x11, 65) == cudaErrorInvalidValue);
  CHECK(cudaMemset(a.pointer, 0x11, 64) == cudaSuccess);
  CHECK(cudaMemcpy(back, a.pointer, sizeof back, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(back[2] == 0x11111111);
  CHECK(cudaMemset(host, 0, 4) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("cudaPointerGetAttributes tells device, pinned, managed and plain memory apart") {
  void *device = nullptr, *pinned = nullptr, *managed = nullptr;
  int plain = 0;
  CHECK(cudaMalloc(&device, 64) == cudaSuccess);
  CHECK(cudaMallocHost(&pinned, 64) == cudaSuccess);
  CHECK(cudaMallocManaged(&managed, 64, cudaMemAttachGlobal) == cudaSuccess);
  auto type = [](const void* p) {
    cudaPointerAttributes a;
    CHECK(cudaPointerGetAttributes(&a, p) == cudaSuccess);
    return a.type;
  };
  CHECK(type(static_cast<char*>(device) + 63) == cudaMemoryTypeDevice);
  CHECK(type(pinned) == cudaMemoryTypeHost);
  CHECK(type(managed) == cudaMemoryTypeManaged);
  CHECK(type(&plain) == cudaMemoryTypeUnregistered);
  CHECK(cudaHostRegister(&plain, sizeof plain, cudaHostRegisterDefault) == cudaSuccess);
  CHECK(type(&plain) == cudaMemoryTypeHost);
  CHECK(cudaHostRegister(&plain, sizeof plain, 0) == cudaErrorHostMemoryAlreadyRegistered);
  CHECK(cudaFree(&plain) == cudaErrorInvalidValue);
  CHECK(cudaHostUnregister(&plain) == cudaSuccess);
  CHECK(cudaHostUnregister(&plain) == cudaErrorHostMemoryNotRegistered);
  CHECK(cudaFreeHost(device) == cudaErrorInvalidValue);
  CHECK(cudaFree(pinned) == cudaErrorInvalidValue);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  CHECK(cudaFree(managed) == cudaSuccess);
  CHECK(cudaFree(device) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("module variables hold their initial values, zeros, and addresses of one another") {
  Program& p = Program::instance();
  int number = 0, untouched[4] = {1, 1, 1, 1};
  double factor = 0;
  void *address = nullptr, *pointer = nullptr;
  CHECK(cudaMemcpyFromSymbol(&number, p.number, 4, 0, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(number == 7);
  CHECK(cudaMemcpyFromSymbol(untouched, p.untouched, 16, 0, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(untouched[3] == 0);
  CHECK(cudaMemcpyFromSymbol(&factor, p.factor, 8, 0, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(factor == 1.5);
  CHECK(cudaGetSymbolAddress(&address, p.number) == cudaSuccess);
  CHECK(cudaMemcpyFromSymbol(&pointer, p.pointer, 8, 0, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(pointer == address);
  CHECK(cudaMemcpyToSymbol(p.untouched, &number, 4, 12, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpyToSymbol(p.untouched, &number, 4, 13, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(contains(emu::runtime::last_explanation(), "untouched"));
  size_t bytes = 0;
  CHECK(cudaGetSymbolSize(&bytes, p.untouched) == cudaSuccess);
  CHECK(bytes == 16);
  CHECK(cudaGetSymbolSize(&bytes, &number) == cudaErrorInvalidSymbol);
  CHECK(cudaFree(address) == cudaErrorInvalidValue);
  CHECK(__cudaInitModule(p.code.handle()) == 1);
  REQUIRE(p.both != nullptr);
  CHECK(*p.both == 5);
  cudaGetLastError();
}

TEST_CASE("streams and events: dead handles are refused, times come from recorded events only") {
  cudaStream_t stream = nullptr;
  cudaEvent_t a = nullptr, b = nullptr, untimed = nullptr;
  float ms = -1;
  CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -3) == cudaSuccess);
  int priority = 0;
  unsigned flags = 0;
  CHECK(cudaStreamGetPriority(stream, &priority) == cudaSuccess);
  CHECK(priority == -3);
  CHECK(cudaStreamGetFlags(stream, &flags) == cudaSuccess);
  CHECK(flags == cudaStreamNonBlocking);
  CHECK(cudaStreamCreateWithFlags(&stream, 77) == cudaErrorInvalidValue);
  CHECK(cudaEventCreate(&a) == cudaSuccess);
  CHECK(cudaEventCreate(&b) == cudaSuccess);
  CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming) == cudaSuccess);
  CHECK(cudaEventRecord(a, stream) == cudaSuccess);
  CHECK(cudaEventElapsedTime(&ms, a, b) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventRecord(b, stream) == cudaSuccess);
  CHECK(cudaEventElapsedTime(&ms, a, b) == cudaSuccess);
  CHECK(ms >= 0);
  CHECK(cudaEventRecord(untimed, stream) == cudaSuccess);
  CHECK(cudaEventElapsedTime(&ms, a, untimed) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamWaitEvent(stream, a, 0) == cudaSuccess);
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaErrorNotSupported);
  CHECK(contains(emu::runtime::last_explanation(), "stream capture"));
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventDestroy(a) == cudaSuccess);
  CHECK(cudaEventRecord(a, nullptr) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventDestroy(b) == cudaSuccess);
  CHECK(cudaEventDestroy(untimed) == cudaSuccess);
  CHECK(cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("cudaGetLastError forgets, cudaPeekAtLastError does not, success does not overwrite") {
  CHECK(cudaSetDevice(5) == cudaErrorInvalidDevice);
  CHECK(cudaSetDevice(0) == cudaSuccess);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("error names and texts of runtime and driver") {
  CHECK(std::string(cudaGetErrorName(cudaErrorIllegalAddress)) == "cudaErrorIllegalAddress");
  CHECK(std::string(cudaGetErrorString(cudaErrorIllegalAddress)) ==
        "an illegal memory access was encountered");
  CHECK(std::string(cudaGetErrorName(cudaSuccess)) == "cudaSuccess");
  CHECK(std::string(cudaGetErrorString(static_cast<cudaError_t>(12345))) == "unrecognized error code");
  const char* text = nullptr;
  CHECK(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text) == CUDA_SUCCESS);
  CHECK(std::string(text) == "CUDA_ERROR_INVALID_VALUE");
  CHECK(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text) == CUDA_SUCCESS);
  CHECK(std::string(text) == "invalid argument");
  CHECK(cuGetErrorString(static_cast<CUresult>(12345), &text) == CUDA_ERROR_INVALID_VALUE);
  CHECK(text == nullptr);
}

TEST_CASE("device properties and attributes describe one device of compute capability 9.0") {
  int count = 0, value = 0;
  CHECK(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(count == 1);
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0) == cudaSuccess);
  CHECK(std::string(p.name) == "TMA workbook emulator (CPU)");
  CHECK(p.major == 9);
  CHECK(p.minor == 0);
  CHECK(cudaGetDeviceProperties(&p, 1) == cudaErrorInvalidDevice);
  auto attribute = [&](cudaDeviceAttr a) {
    CHECK(cudaDeviceGetAttribute(&value, a, 0) == cudaSuccess);
    return value;
  };
  CHECK(attribute(cudaDevAttrMultiProcessorCount) == p.multiProcessorCount);
  CHECK(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) == 232448);
  CHECK(p.sharedMemPerBlockOptin == 232448);
  CHECK(attribute(cudaDevAttrMaxThreadsPerMultiProcessor) == 2048);
  CHECK(attribute(cudaDevAttrClusterLaunch) == 1);
  CHECK(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(250), 0) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("cudaGetDriverEntryPoint finds cuTensorMapEncodeTiled, and says so when a name is not there") {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  CHECK(lab::driver_entry_point("cuTensorMapEncodeTiled", &function, &status) == cudaSuccess);
  CHECK(status == cudaDriverEntryPointSuccess);
  CHECK(function == reinterpret_cast<void*>(cuTensorMapEncodeTiled));
  CHECK(lab::driver_entry_point("cuNoSuchCall", &function, &status) == cudaSuccess);
  CHECK(status == cudaDriverEntryPointSymbolNotFound);
  CHECK(function == nullptr);
  CUdriverProcAddressQueryResult found;
  CHECK(cuGetProcAddress("cuGetErrorName", &function, 12000, 0, &found) == CUDA_SUCCESS);
  CHECK(function == reinterpret_cast<void*>(cuGetErrorName));
  CHECK(found == CU_GET_PROC_ADDRESS_SUCCESS);
}

TEST_CASE("cuTensorMapEncodeTiled writes a map, or names the broken rule") {
  Buffer b(64 * 64);
  CUtensorMap map;
  cuuint64_t size[2] = {64, 64}, stride[1] = {256};
  cuuint32_t box[2] = {32, 8}, step[2] = {1, 1};
  auto encode = [&] {
    return cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, b.pointer, size, stride, box,
                                  step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  CHECK(encode() == CUDA_SUCCESS);
  box[1] = 257;
  CHECK(encode() == CUDA_ERROR_INVALID_VALUE);
  CHECK(contains(emu::runtime::last_explanation(), "cuTensorMapEncodeTiled"));
  CHECK(contains(emu::runtime::last_explanation(), "257"));
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE(
    "cuTensorMapEncodeTiled refuses NULL for an array it needs, and needs no strides for one dimension") {
  CUtensorMap map;
  const cuuint64_t size[2] = {64, 64}, stride[1] = {256};
  const cuuint32_t box[2] = {32, 8}, step[2] = {1, 1};
  const auto encode = [](CUtensorMap* to, cuuint32_t rank, const cuuint64_t* sizes, const cuuint64_t* strides,
                         const cuuint32_t* boxes, const cuuint32_t* steps) {
    return cuTensorMapEncodeTiled(to, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, rank, nullptr, sizes, strides, boxes,
                                  steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  CHECK(encode(&map, 2, size, stride, box, step) == CUDA_SUCCESS);
  CHECK(encode(nullptr, 2, size, stride, box, step) == CUDA_ERROR_INVALID_VALUE);
  CHECK(contains(emu::runtime::last_explanation(), "tensorMap = NULL"));
  CHECK(encode(&map, 2, nullptr, stride, box, step) == CUDA_ERROR_INVALID_VALUE);
  CHECK(encode(&map, 2, size, nullptr, box, step) == CUDA_ERROR_INVALID_VALUE);
  CHECK(contains(emu::runtime::last_explanation(), "globalStrides = NULL"));
  CHECK(encode(&map, 2, size, stride, nullptr, step) == CUDA_ERROR_INVALID_VALUE);
  CHECK(encode(&map, 2, size, stride, box, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(encode(&map, 1, size, nullptr, box, step) == CUDA_SUCCESS);
  CHECK(encode(&map, 6, size, stride, box, step) == CUDA_ERROR_INVALID_VALUE);  // reads no more than is there
}

TEST_CASE("a tensor map that the driver takes and nobody means is encoded, and advice says why") {
  CUtensorMap map;
  const cuuint64_t size[2] = {64, 64}, stride[1] = {128};  // of floats: half a row
  const cuuint32_t box[2] = {32, 8}, step[2] = {1, 1};
  emu::Report& report = emu::Report::instance();
  report.clear();
  CHECK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, nullptr, size, stride, box, step,
                               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                               CU_TENSOR_MAP_L2_PROMOTION_NONE,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  REQUIRE(report.findings().size() == 1);
  CHECK(report.findings()[0].id == "tensor-map-unchecked");
  CHECK(report.errors() == 0);
  CHECK(contains(report.findings()[0].title, "globalStrides[0] = 128"));
  report.clear();
}

TEST_CASE("cudaDeviceReset frees memory and gives variables their initial values again") {
  Program& p = Program::instance();
  int* pointer = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&pointer), 64) == cudaSuccess);
  int number = 99;
  CHECK(cudaMemcpyToSymbol(p.number, &number, 4, 0, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaDeviceReset() == cudaSuccess);
  CHECK(cudaMemcpyFromSymbol(&number, p.number, 4, 0, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(number == 7);
  CHECK(cudaFree(pointer) == cudaErrorInvalidValue);
  Buffer b(32);
  CHECK(launch(p.store, 1, 32, 0, b.pointer) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("__cudaUnregisterFatBinary takes a program's kernels and variables away") {
  Registered other(".global .u32 gone = 3;\n" + kernel_text("leave", ""));
  const void* kernel = other.kernel("leave");
  void* gone = other.variable("gone");
  Buffer b(1);
  CHECK(launch(kernel, 1, 1, 0, b.pointer) == cudaSuccess);
  __cudaUnregisterFatBinary(other.handle());
  CHECK(launch(kernel, 1, 1, 0, b.pointer) == cudaErrorInvalidDeviceFunction);
  void* address = nullptr;
  CHECK(cudaGetSymbolAddress(&address, gone) == cudaErrorInvalidSymbol);
  cudaGetLastError();
}

TEST_CASE("cuModuleLoadData: a module of PTX text, its kernels, variables and end") {
  const std::string ptx =
      ".version 8.6\n.target sm_90a\n.address_size 64\n.global .align 4 .u32 base = 40;\n" +
      kernel_text("add", "ld.global.u32 %r1, [base];\nadd.u32 %r1, %r1, 2;\nst.global.u32 [%rd1], %r1;");
  CUmodule module = nullptr;
  CUfunction add = nullptr, none = nullptr;
  REQUIRE(cuModuleLoadData(&module, ptx.c_str()) == CUDA_SUCCESS);
  CHECK(cuModuleGetFunction(&add, module, "add") == CUDA_SUCCESS);
  CHECK(cuModuleGetFunction(&none, module, "subtract") == CUDA_ERROR_NOT_FOUND);
  CUdeviceptr base = 0;
  size_t bytes = 0;
  CHECK(cuModuleGetGlobal(&base, &bytes, module, "base") == CUDA_SUCCESS);
  CHECK(bytes == 4);
  CHECK(cuModuleGetGlobal(&base, &bytes, module, "nothing") == CUDA_ERROR_NOT_FOUND);
  Buffer b(1);
  void* arguments[] = {&b.pointer};
  CHECK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr) == CUDA_SUCCESS);
  int got = 0;
  CHECK(cudaMemcpy(&got, b.pointer, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(got == 42);
  const int other = 1;
  CHECK(cuMemcpyHtoD(base, &other, 4) == CUDA_SUCCESS);
  size_t size = sizeof b.pointer;
  void* packed[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &b.pointer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                    CU_LAUNCH_PARAM_END};
  CHECK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, packed) == CUDA_SUCCESS);
  CHECK(cudaMemcpy(&got, b.pointer, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(got == 3);
  CHECK(cuLaunchKernel(add, 1, 1, 1, 4096, 1, 1, 0, nullptr, arguments, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
  CHECK(cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr) != CUDA_SUCCESS);
}

TEST_CASE("cuModuleLoadData answers with a code to what it cannot load, and the device goes on") {
  Program::instance();
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, ".version 8.6\n.target sm_90a\n.visible .entry k() { mov.u32 %r1 5; }") ==
        CUDA_ERROR_INVALID_PTX);
  CHECK(emu::runtime::last_explanation().find("5") != std::string::npos);
  CHECK(cuModuleLoadData(&module,
                         ".version 8.6\n.target sm_90a\n.global .b8 a[2147483647];\n.global .b8 b[2];\n") ==
        CUDA_ERROR_INVALID_PTX);
  CHECK(emu::runtime::last_explanation().find("more than 2 GiB, up to b") != std::string::npos);
  CHECK(cuModuleLoadData(&module, "nonsense") == CUDA_ERROR_INVALID_PTX);
  CHECK(cuModuleLoadData(&module, "\177ELF...") == CUDA_ERROR_NO_BINARY_FOR_GPU);
  CHECK(cuModuleLoadData(nullptr, "") == CUDA_ERROR_INVALID_VALUE);
  CHECK(module == nullptr);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}
