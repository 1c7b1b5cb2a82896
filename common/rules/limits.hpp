// What the device can hold: the numbers of compute capability 9.0 (CUDA Programming Guide, table of technical
// specifications), with the 132 multiprocessors of an H100 or H200 SXM.
#pragma once

namespace rules {

constexpr int kWarpSize = 32;
constexpr int kMultiprocessors = 132;
constexpr int kMaxThreadsPerBlock = 1024;
constexpr int kMaxBlockDim[3] = {1024, 1024, 64};
constexpr int kMaxGridDim[3] = {2147483647, 65535, 65535};
constexpr int kMaxThreadsPerMultiprocessor = 2048;
constexpr int kMaxBlocksPerMultiprocessor = 32;
constexpr int kRegistersPerBlock = 65536;
constexpr int kSharedPerBlock = 48 * 1024;        // without asking
constexpr int kSharedPerBlockOptin = 227 * 1024;  // after cudaFuncSetAttribute
constexpr int kSharedPerMultiprocessor = 228 * 1024;
constexpr int kReservedSharedPerBlock = 1024;
constexpr int kSharedUnit = 128;
constexpr int kConstantBytes = 64 * 1024;
constexpr int kMaxParameterBytes = 32764;
constexpr int kL2Bytes = 50 * 1024 * 1024;
constexpr int kPortableClusterSize = 8;
constexpr int kMaxClusterSize = 16;
constexpr int kCoresPerCluster = 16;  // multiprocessors that one cluster may spread over

// By this name a program knows that it runs on the emulator.
constexpr const char* kEmulatorName = "TMA workbook emulator (CPU)";

}  // namespace rules
