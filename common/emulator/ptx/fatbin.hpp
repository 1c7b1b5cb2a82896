// The fat binary nvcc puts into an object: which code it holds, and the PTX text among it.
// The format is not documented; the layout here was read from objects made by nvcc 12 and 13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emu {

// One piece of code in the container.
struct FatbinEntry {
  enum Kind : uint16_t { ptx = 1, cubin = 2, lto_ir = 8 };
  uint16_t kind = 0;
  uint32_t architecture = 0;  // 90 for sm_90 and sm_90a alike
  uint64_t flags = 0;
  size_t payload = 0;  // offset in the container
  size_t payload_bytes = 0;
  size_t compressed_bytes = 0;  // of the payload; 0: it is not compressed
  uint64_t text_bytes = 0;      // once decompressed
};

constexpr uint64_t kFatbinLz4 = 0x2000, kFatbinZstd = 0x8000, kFatbinArchSpecific = 0x100000,
                   kFatbinFamily = 0x200000;

// The entries of a container of at most `available` bytes. Throws Fault ("fat-binary") when it is damaged.
std::vector<FatbinEntry> fatbin_entries(const uint8_t* container, size_t available);

// The PTX text that fits compute capability 9.0 best: sm_90a, then sm_90, then the nearest older one.
// Throws Fault ("fat-binary") when the container is damaged, holds no such PTX, or holds it compressed and the library
// that decompresses it is not there.
std::string ptx_of_fatbin(const uint8_t* container, size_t available);

// As above for what __cudaRegisterFatBinary gets: a wrapper in this process. It points at a container, or, behind
// nvcc's device linker, at those of all the objects that were linked (-rdc=true): one text for each.
std::vector<std::string> ptx_of_wrapper(const void* wrapper);

}  // namespace emu
