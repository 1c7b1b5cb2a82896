// Programs that use the driver alone: contexts, streams, events, memory, modules, functions, occupancy and launches.
#include <cuda.h>
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>

#include "quiet.hpp"
#include "runtime_support.hpp"

using namespace runtime_test;

namespace {

// out[tid] = 3 * tid; a CTA of at most 256 threads, with 1 KiB of static shared memory.
const std::string kPtx =
    ".version 8.6\n.target sm_90a\n.address_size 64\n.global .align 4 .u32 factor = 3;\n"
    ".visible .entry scale(.param .u64 out)\n.maxntid 256, 1, 1\n{\n.shared .align 16 .b8 tile[1024];\n.reg .b32 %r<4>;\n"
    ".reg .b64 %rd<4>;\nld.param.u64 %rd1, [out];\nmov.u32 %r3, tile;\nmov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd1, %rd1, %rd2;\nld.global.u32 %r2, [factor];\nmul.lo.u32 %r1, %r1, %r2;\n"
    "st.global.u32 [%rd1], %r1;\nret;\n}\n";

#define WORKS(call) REQUIRE((call) == CUDA_SUCCESS)

struct Loaded {
  CUmodule module = nullptr;
  CUfunction scale = nullptr;
  Loaded() {
    WORKS(cuInit(0));
    WORKS(cuModuleLoadData(&module, kPtx.c_str()));
    WORKS(cuModuleGetFunction(&scale, module, "scale"));
  }
  ~Loaded() { cuModuleUnload(module); }
  int attribute(CUfunction_attribute a) const {
    int value = -1;
    WORKS(cuFuncGetAttribute(&value, a, scale));
    return value;
  }
};

}  // namespace

TEST_CASE("driver: a program from its context to its result") {
  CUdevice device;
  CUcontext context = nullptr, current = nullptr;
  int count = 0, major = 0, minor = 0;
  size_t free = 0, total = 0;
  WORKS(cuInit(0));
  WORKS(cuDeviceGetCount(&count));
  CHECK(count == 1);
  WORKS(cuDeviceGet(&device, 0));
  WORKS(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  WORKS(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  CHECK(10 * major + minor == 90);
#if CUDA_VERSION >= 13000
  WORKS(cuCtxCreate(&context, nullptr, 0, device));
#else
  WORKS(cuCtxCreate(&context, 0, device));
#endif
  WORKS(cuCtxPushCurrent(context));
  WORKS(cuCtxPopCurrent(&current));
  CHECK(current == context);
  WORKS(cuMemGetInfo(&free, &total));
  CHECK(free <= total);

  Loaded m;
  CUstream stream;
  CUevent begin, end;
  WORKS(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  WORKS(cuEventCreate(&begin, CU_EVENT_DEFAULT));
  WORKS(cuEventCreate(&end, CU_EVENT_DEFAULT));
  CUdeviceptr out = 0, copy = 0;
  int* host = nullptr;
  WORKS(cuMemAlloc(&out, 256 * sizeof(int)));
  WORKS(cuMemAllocAsync(&copy, 256 * sizeof(int), stream));
  WORKS(cuMemAllocHost(reinterpret_cast<void**>(&host), 256 * sizeof(int)));
  void* arguments[] = {&out};
  WORKS(cuEventRecord(begin, stream));
  WORKS(cuLaunchKernel(m.scale, 1, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr));
  WORKS(cuEventRecord(end, stream));
  WORKS(cuStreamWaitEvent(stream, end, 0));
  WORKS(cuMemcpyAsync(copy, out, 256 * sizeof(int), stream));
  WORKS(cuMemcpyDtoHAsync(host, copy, 256 * sizeof(int), stream));
  WORKS(cuStreamSynchronize(stream));
  WORKS(cuStreamQuery(stream));
  WORKS(cuEventQuery(end));
  CHECK(host[255] == 765);
  float ms = -1;
  WORKS(cuEventElapsedTime(&ms, begin, end));
  CHECK(ms >= 0);
  WORKS(cuMemFreeAsync(copy, stream));
  WORKS(cuMemFree(out));
  WORKS(cuMemFreeHost(host));
  WORKS(cuEventDestroy(begin));
  WORKS(cuEventDestroy(end));
  WORKS(cuStreamDestroy(stream));
  WORKS(cuCtxDestroy(context));
}

TEST_CASE("driver: what a function says of itself, and how many fit on a multiprocessor") {
  Loaded m;
  CHECK(m.attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) == 256);
  CHECK(m.attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) == 1024);
  CHECK(m.attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION) == 90);
  WORKS(cuFuncSetAttribute(m.scale, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
  CHECK(m.attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) == 100000);
  CHECK(cuFuncSetAttribute(m.scale, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20) !=
        CUDA_SUCCESS);
  const char* name = nullptr;
  WORKS(cuFuncGetName(&name, m.scale));
  CHECK(std::string(name) == "scale");
  int blocks = 0, grid = 0, block = 0;
  WORKS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, m.scale, 256, 0));
  CHECK(blocks == 8);  // 2048 threads
  WORKS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, m.scale, 256, 100000));
  CHECK(blocks == 2);  // 227 KiB
  WORKS(cuOccupancyMaxPotentialBlockSize(&grid, &block, m.scale, nullptr, 0, 0));
  CHECK(block == 256);
  CHECK(grid == 8 * 132);
  WORKS(cuOccupancyMaxPotentialBlockSize(&grid, &block, m.scale, nullptr, 0, 100));
  CHECK(block == 64);  // 32 CTAs fill the threads of a multiprocessor; 96 and 100 do not divide them
}

TEST_CASE("driver: launches with attributes, of all CTAs together, and of a library's kernel") {
  Loaded m;
  CUdeviceptr out = 0;
  WORKS(cuMemAlloc(&out, 64 * sizeof(int)));
  void* arguments[] = {&out};
  const auto last = [&] {
    int got[64];
    WORKS(cuMemcpyDtoH(got, out, sizeof got));
    WORKS(cuMemsetD8(out, 0, sizeof got));
    return got[63];
  };
  CUlaunchAttribute cluster = {};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim = {2, 1, 1};
  CUlaunchConfig config = {};
  config.gridDimX = 2;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 64;
  WORKS(cuLaunchKernelEx(&config, m.scale, arguments, nullptr));
  CHECK(last() == 189);
  config.attrs = &cluster;
  config.numAttrs = 1;
  int clusters = 0;
  WORKS(cuOccupancyMaxActiveClusters(&clusters, m.scale, &config));
  CHECK(clusters > 0);
  config.gridDimX = 3;
  CHECK(cuLaunchKernelEx(&config, m.scale, arguments, nullptr) !=
        CUDA_SUCCESS);  // no whole number of clusters
  WORKS(cuLaunchCooperativeKernel(m.scale, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments));
  CHECK(last() == 189);

  CUlibrary library;
  CUkernel kernel;
  CUfunction function;
  CUdeviceptr factor = 0;
  size_t bytes = 0;
  WORKS(cuLibraryLoadData(&library, kPtx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  WORKS(cuLibraryGetKernel(&kernel, library, "scale"));
  WORKS(cuKernelGetFunction(&function, kernel));
  WORKS(cuLibraryGetGlobal(&factor, &bytes, library, "factor"));
  WORKS(cuMemsetD32(factor, 10, 1));
  WORKS(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(last() == 630);
  WORKS(cuLibraryUnload(library));
}

TEST_CASE("driver: a module comes from a file, and every function is found by its name") {
  const std::string path = std::string(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp") + "/driver." +
                           std::to_string(getpid()) + ".ptx";
  std::ofstream(path) << kPtx;
  CUmodule module;
  WORKS(cuModuleLoad(&module, path.c_str()));
  std::remove(path.c_str());
  WORKS(cuModuleUnload(module));
  CHECK(cuModuleLoad(&module, path.c_str()) == CUDA_ERROR_FILE_NOT_FOUND);
  for (const char* name :
       {"cuCtxCreate", "cuCtxDestroy", "cuStreamCreate", "cuEventRecord", "cuMemAllocHost", "cuMemcpy",
        "cuFuncGetAttribute", "cuOccupancyMaxPotentialBlockSize", "cuLaunchKernelEx",
        "cuLaunchCooperativeKernel", "cuModuleLoad", "cuLibraryLoadData", "cuKernelGetFunction"}) {
    CAPTURE(name);
    void* function = nullptr;
    WORKS(cuGetProcAddress(name, &function, 12040, 0, nullptr));
    CHECK(function != nullptr);
  }
}
