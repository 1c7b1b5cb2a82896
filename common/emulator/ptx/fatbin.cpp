#include "emulator/ptx/fatbin.hpp"

#include <link.h>

#include <algorithm>
#include <cstring>

#include "emulator/findings/report.hpp"
#include "emulator/ptx/decompress.hpp"

namespace emu {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243B1, kContainerMagic = 0xBA55ED50;
constexpr size_t kWrapperBytes = 24, kContainerHeader = 16, kEntryHeader = 64;
constexpr uint64_t kLargestText = 256ull << 20;
constexpr size_t kMostObjects = 1 << 16;
constexpr const char* kBuildAdvice = "compile with -gencode arch=compute_90a,code=[compute_90a,sm_90a]";

[[noreturn]] void refuse(const std::string& title, const std::string& why, const std::string& hint) {
  Finding finding(Id::fat_binary);
  finding.title = title;
  finding.where = "the device code in this program";
  finding.why = why;
  finding.hint = hint;
  throw Fault(finding);
}

[[noreturn]] void damaged(const std::string& what) {
  refuse("the fat binary is damaged: " + what,
         "its headers contradict each other or the bytes that are there",
         std::string("build the program again; ") + kBuildAdvice);
}

template <class T>
T read(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// Readable bytes from `address` to the end of the loaded segment that holds it; 0 when none does.
size_t readable_from(const void* address) {
  struct Query {
    uintptr_t address;
    size_t bytes;
  } query{reinterpret_cast<uintptr_t>(address), 0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* q = static_cast<Query*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_R)) continue;
          if (q->address - begin < segment.p_memsz) q->bytes = segment.p_memsz - (q->address - begin);
        }
        return q->bytes ? 1 : 0;
      },
      &query);
  return query.bytes;
}

// How well an entry's architecture fits compute capability 9.0; 0: not at all. PTX for sm_NN runs on every later
// architecture, unless it is specific to one ("90a") or to a family ("100f").
int suitability(const FatbinEntry& e) {
  bool portable = !(e.flags & (kFatbinArchSpecific | kFatbinFamily));
  if (e.architecture == 90 && !(e.flags & kFatbinFamily)) return portable ? 1000 : 1001;
  return portable && e.architecture < 90 ? static_cast<int>(e.architecture) : 0;
}

std::string list_of(const std::vector<FatbinEntry>& entries) {
  if (entries.empty()) return "nothing";
  std::string text;
  for (const FatbinEntry& e : entries) {
    const char* kind = e.kind == FatbinEntry::ptx      ? "PTX"
                       : e.kind == FatbinEntry::cubin  ? "machine code"
                       : e.kind == FatbinEntry::lto_ir ? "link-time IR"
                                                       : "code of unknown kind";
    if (!text.empty()) text += ", ";
    text += std::string(kind) + " for sm_" + std::to_string(e.architecture);
    if (e.flags & kFatbinArchSpecific) text += "a";
    if (e.flags & kFatbinFamily) text += "f";
  }
  return text;
}

}  // namespace

std::vector<FatbinEntry> fatbin_entries(const uint8_t* container, size_t available) {
  if (available < kContainerHeader) damaged("it ends inside its header");
  if (read<uint32_t>(container) != kContainerMagic)
    damaged("it begins with " + hex(read<uint32_t>(container)) + " instead of " + hex(kContainerMagic));
  uint16_t version = read<uint16_t>(container + 4);
  if (version != 1) damaged("its version is " + std::to_string(version) + ", and only version 1 is known");
  size_t header = read<uint16_t>(container + 6);
  uint64_t bytes = read<uint64_t>(container + 8);
  if (header < kContainerHeader || header > available)
    damaged("its header claims " + std::to_string(header) + " bytes");
  if (bytes > available - header)
    damaged("its entries claim " + std::to_string(bytes) + " bytes where " +
            std::to_string(available - header) + " are left");

  std::vector<FatbinEntry> entries;
  size_t at = header, end = header + static_cast<size_t>(bytes);
  while (at < end) {
    std::string which = "entry " + std::to_string(entries.size());
    if (end - at < kEntryHeader) damaged(which + " ends inside its header");
    const uint8_t* p = container + at;
    size_t entry_header = read<uint32_t>(p + 4);
    uint64_t payload = read<uint64_t>(p + 8), compressed = read<uint32_t>(p + 16);
    if (entry_header < kEntryHeader || entry_header > end - at)
      damaged(which + " claims a header of " + std::to_string(entry_header) + " bytes");
    if (payload > end - at - entry_header)
      damaged(which + " claims " + std::to_string(payload) + " bytes where " +
              std::to_string(end - at - entry_header) + " are left");
    if (compressed > payload) damaged(which + " claims more compressed bytes than it holds");
    FatbinEntry e;
    e.kind = read<uint16_t>(p);
    e.architecture = read<uint32_t>(p + 28);
    e.flags = read<uint64_t>(p + 40);
    if (compressed && !(e.flags & (kFatbinLz4 | kFatbinZstd)))
      damaged(which + " is compressed in a way that its flags " + hex(e.flags) + " do not name");
    e.compressed_bytes = compressed;
    if (compressed) e.text_bytes = read<uint64_t>(p + 56);
    e.payload = at + entry_header;
    e.payload_bytes = static_cast<size_t>(payload);
    entries.push_back(e);
    at = e.payload + e.payload_bytes;
  }
  return entries;
}

namespace {

std::string decompressed(const FatbinEntry& e, const uint8_t* payload) {
  const Compression c = e.flags & kFatbinLz4 ? Compression::lz4 : Compression::zstandard;
  if (e.text_bytes > kLargestText)
    damaged("its PTX claims " + std::to_string(e.text_bytes) + " bytes once it is decompressed");
  std::string text, why, missing;
  if (decompress(c, payload, e.compressed_bytes, static_cast<size_t>(e.text_bytes), text, why, missing))
    return text;
  if (missing.empty()) damaged("its compressed PTX cannot be read: " + why);
  refuse(std::string("the program's PTX is compressed, and the library for ") + name_of(c) + " is not there",
         why, "install " + missing + ", or add --no-compress to the flags of nvcc");
}

}  // namespace

std::string ptx_of_fatbin(const uint8_t* container, size_t available) {
  std::vector<FatbinEntry> entries = fatbin_entries(container, available);
  const FatbinEntry* best = nullptr;
  for (const FatbinEntry& e : entries)
    if (e.kind == FatbinEntry::ptx && suitability(e) > (best ? suitability(*best) : 0)) best = &e;
  if (!best)
    refuse("the program carries no PTX that compute capability 9.0 can run; it carries " + list_of(entries),
           "the emulator executes PTX, not machine code", kBuildAdvice);
  const uint8_t* payload = container + best->payload;
  const std::string text = best->compressed_bytes ? decompressed(*best, payload)
                                                  : std::string(payload, payload + best->payload_bytes);
  const size_t end = text.find('\0');
  if (end == std::string::npos) damaged("the PTX text has no end");
  return text.substr(0, end);
}

std::vector<std::string> ptx_of_wrapper(const void* wrapper) {
  size_t available = wrapper ? readable_from(wrapper) : 0;
  if (available < kWrapperBytes)
    damaged("there is no wrapper at " + hex(reinterpret_cast<uintptr_t>(wrapper)));
  auto* bytes = static_cast<const uint8_t*>(wrapper);
  if (read<uint32_t>(bytes) != kWrapperMagic)
    damaged("its wrapper begins with " + hex(read<uint32_t>(bytes)) + " instead of " + hex(kWrapperMagic));
  const uint32_t version = read<uint32_t>(bytes + 4);
  if (version != 1 && version != 2)
    damaged("its wrapper has version " + std::to_string(version) + ", and only versions 1 and 2 are known");
  const auto text_at = [](uint64_t address) {
    auto* container = reinterpret_cast<const uint8_t*>(address);
    const size_t there = readable_from(container);
    if (!there) damaged("its wrapper points outside the program");
    return ptx_of_fatbin(container, there);
  };
  if (version == 1) return {text_at(read<uint64_t>(bytes + 8))};
  // Linked: machine code made by the device linker, and a list of the objects' own containers that ends with a null.
  auto* list = reinterpret_cast<const uint8_t*>(read<uint64_t>(bytes + 16));
  const size_t most = std::min(readable_from(list) / sizeof(uint64_t), kMostObjects);
  std::vector<std::string> texts;
  for (size_t i = 0;; ++i) {
    if (i == most) damaged("its list of linked objects has no end");
    const uint64_t address = read<uint64_t>(list + i * sizeof(uint64_t));
    if (!address) return texts;
    texts.push_back(text_at(address));
  }
}

}  // namespace emu
