// The fat binary reader against containers made here, whole and damaged.
#include "emulator/ptx/fatbin.hpp"

#include <doctest/doctest.h>

#include "emulator/findings/report.hpp"
#include "runtime_support.hpp"

namespace {

using emu::FatbinEntry;
using runtime_test::Bytes;
using runtime_test::container;
using runtime_test::contains;
using runtime_test::Entry;
using runtime_test::put;

Entry ptx(uint32_t architecture, uint64_t flags, const std::string& text) {
  return runtime_test::ptx_entry(architecture, flags, text);
}
Entry cubin(uint32_t architecture) {
  return runtime_test::cubin_entry(architecture);
}

std::string read(const Bytes& bytes) {
  return emu::ptx_of_fatbin(bytes.data(), bytes.size());
}

// The message of the refusal; empty when there is none.
std::string refusal(const Bytes& bytes) {
  try {
    read(bytes);
  } catch (const emu::Fault& fault) {
    CHECK(fault.finding().id == "fat-binary");
    return fault.what();
  }
  return "";
}

constexpr uint64_t kSpecific = emu::kFatbinArchSpecific, kFamily = emu::kFatbinFamily;
const std::string kText = "\n\n.version 9.0\n.target sm_90a\n.address_size 64\n";

}  // namespace

TEST_CASE("fatbin: the PTX beside machine code is found, up to its final zero byte") {
  CHECK(read(container({ptx(90, kSpecific, kText), cubin(90)})) == kText);
  CHECK(read(container({cubin(90), ptx(90, kSpecific, kText)})) == kText);
}

TEST_CASE("fatbin: entries after the headers' own sizes are listed with kind and architecture") {
  Bytes bytes = container({ptx(80, 0, "old"), cubin(90)});
  auto entries = emu::fatbin_entries(bytes.data(), bytes.size());
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].kind == FatbinEntry::ptx);
  CHECK(entries[0].architecture == 80);
  CHECK(entries[0].payload == 16 + 80);
  CHECK(entries[0].payload_bytes == 8);
  CHECK(entries[1].kind == FatbinEntry::cubin);
  CHECK(entries[1].payload == 16 + 80 + 8 + 64);
}

TEST_CASE("fatbin: of several PTX entries the one that fits compute capability 9.0 best is taken") {
  Entry a90 = ptx(90, kSpecific, "90a"), plain90 = ptx(90, 0, "90"), older = ptx(80, 0, "80");
  Entry newer = ptx(100, 0, "100"), other = ptx(86, kSpecific, "86a"), family = ptx(100, kFamily, "100f");
  CHECK(read(container({plain90, a90})) == "90a");
  CHECK(read(container({a90, plain90})) == "90a");
  CHECK(read(container({older, plain90, newer})) == "90");
  CHECK(read(container({newer, older, other, family})) == "80");
}

TEST_CASE("fatbin: without PTX that fits, the refusal lists what there is and how to compile") {
  std::string message = refusal(container({cubin(90), ptx(100, 0, "100"), ptx(120, kSpecific, "120a")}));
  CHECK(contains(message, "machine code for sm_90, PTX for sm_100, PTX for sm_120a"));
  CHECK(contains(message, "-gencode arch=compute_90a,code=[compute_90a,sm_90a]"));
  CHECK(contains(refusal(container({})), "it carries nothing"));
}

namespace {

// A text of up to 255 bytes as an LZ4 block of literals, and as a Zstandard frame of one raw block.
std::string lz4_of(const std::string& text) {
  return std::string(1, '\xF0') + static_cast<char>(text.size() - 15) + text;
}
std::string zstd_of(const std::string& text) {
  const size_t block = text.size() << 3 | 1;
  return std::string("\x28\xB5\x2F\xFD\x20") + static_cast<char>(text.size()) + static_cast<char>(block) +
         static_cast<char>(block >> 8) + '\0' + text;
}

Entry compressed(uint64_t how, const std::string& payload, uint64_t text_bytes) {
  Entry e = ptx(90, kSpecific | how, payload);
  e.compressed = static_cast<uint32_t>(payload.size());
  e.text_bytes = text_bytes;
  return e;
}

// False where the library is not there, which a refusal must then say.
bool has_library(const Entry& e) {
  const std::string message = refusal(container({e}));
  if (!contains(message, "is not there")) return true;
  CHECK(contains(message, "install lib"));
  CHECK(contains(message, "--no-compress"));
  return false;
}

}  // namespace

TEST_CASE("fatbin: compressed PTX is read through the system's library, or its package is named") {
  const std::string text = kText + '\0';
  for (const Entry& e : {compressed(emu::kFatbinLz4, lz4_of(text), text.size()),
                         compressed(emu::kFatbinZstd, zstd_of(text), text.size())})
    if (has_library(e)) CHECK(read(container({cubin(90), e})) == kText);
}

TEST_CASE("fatbin: compressed PTX that is damaged is refused") {
  const std::string text = kText + '\0';
  for (uint64_t how : {emu::kFatbinLz4, emu::kFatbinZstd}) {
    const std::string whole = how == emu::kFatbinLz4 ? lz4_of(text) : zstd_of(text);
    if (!has_library(compressed(how, whole, text.size()))) continue;
    CHECK(contains(refusal(container({compressed(how, whole, text.size() + 1)})), "damaged"));
    CHECK(contains(refusal(container({compressed(how, whole, text.size() - 1)})), "damaged"));
    CHECK(contains(refusal(container({compressed(how, whole, uint64_t{1} << 40)})), "1099511627776 bytes"));
    for (size_t length = 1; length < whole.size(); ++length)
      CHECK(contains(refusal(container({compressed(how, whole.substr(0, length), text.size())})), "damaged"));
  }
}

TEST_CASE("fatbin: each contradiction of the headers is named") {
  const Bytes good = container({ptx(90, kSpecific, kText)});
  auto damaged = [&](size_t at, auto value) {
    Bytes bytes = good;
    put(bytes, at, value);
    return refusal(bytes);
  };
  CHECK(contains(damaged(0, uint32_t{0x12345678}), "0x12345678 instead of 0xba55ed50"));
  CHECK(contains(damaged(4, uint16_t{7}), "version is 7"));
  CHECK(contains(damaged(6, uint16_t{8}), "header claims 8 bytes"));
  CHECK(contains(damaged(8, uint64_t{1} << 63), "entries claim 9223372036854775808 bytes"));
  CHECK(contains(damaged(16 + 4, uint32_t{0}), "entry 0 claims a header of 0 bytes"));
  CHECK(contains(damaged(16 + 4, uint32_t{1} << 30), "entry 0 claims a header of 1073741824 bytes"));
  CHECK(contains(damaged(16 + 8, ~uint64_t{0}), "entry 0 claims 18446744073709551615 bytes"));
  CHECK(contains(damaged(16 + 16, uint32_t{4096}), "more compressed bytes than it holds"));
  CHECK(contains(damaged(16 + 16, uint32_t{5}), "do not name"));
  Bytes endless = good;
  for (size_t i = 16 + 80; i < endless.size(); ++i) endless[i] = 'x';
  CHECK(contains(refusal(endless), "the PTX text has no end"));
}

TEST_CASE("fatbin: every truncation is refused") {
  Bytes bytes = container({ptx(90, kSpecific, kText), cubin(90)});
  while (!bytes.empty()) {
    bytes.pop_back();
    Bytes exact(bytes);  // no slack behind the end, so that a sanitizer sees a read past it
    exact.shrink_to_fit();
    CHECK(refusal(exact) != "");
  }
}

TEST_CASE("fatbin: every change of one byte gives a text or a refusal") {
  Bytes bytes = container({cubin(90), ptx(90, kSpecific, kText), ptx(80, 0, "old")});
  bytes.shrink_to_fit();
  int texts = 0, refusals = 0;
  for (uint8_t& byte : bytes) {
    uint8_t original = byte;
    for (int value = 0; value < 256; ++value) {
      byte = static_cast<uint8_t>(value);
      try {
        texts += read(bytes).size() < bytes.size();
      } catch (const emu::Fault&) {
        ++refusals;
      }
    }
    byte = original;
  }
  CHECK(texts + refusals == static_cast<int>(bytes.size()) * 256);
  CHECK(refusals > 0);
  CHECK(read(bytes) == kText);
}

TEST_CASE("fatbin: a wrapper in the program's data leads to its container") {
  static Bytes built = container({ptx(90, kSpecific, kText)});
  alignas(8) static uint8_t stored[1024];
  REQUIRE(built.size() <= sizeof stored);
  std::memcpy(stored, built.data(), built.size());
  static uint64_t wrapper[3];
  wrapper[0] = 0x1'466243B1ull;
  wrapper[1] = reinterpret_cast<uint64_t>(stored);
  CHECK(emu::ptx_of_wrapper(wrapper) == std::vector<std::string>{kText});

  // What the device linker makes: a list of the linked objects' containers behind it.
  static uint64_t objects[] = {wrapper[1], wrapper[1], 0};
  wrapper[0] = 0x2'466243B1ull;
  wrapper[2] = reinterpret_cast<uint64_t>(objects);
  CHECK(emu::ptx_of_wrapper(wrapper) == std::vector<std::string>{kText, kText});
  wrapper[2] = 16;
  CHECK_THROWS_WITH_AS(emu::ptx_of_wrapper(wrapper), doctest::Contains("has no end"), emu::Fault);

  wrapper[0] = 0x1'00000000ull;
  CHECK_THROWS_WITH_AS(emu::ptx_of_wrapper(wrapper), doctest::Contains("wrapper begins with 0x0"),
                       emu::Fault);
  wrapper[0] = 0x3'466243B1ull;
  CHECK_THROWS_WITH_AS(emu::ptx_of_wrapper(wrapper), doctest::Contains("wrapper has version 3"), emu::Fault);
  wrapper[0] = 0x1'466243B1ull;
  wrapper[1] = 16;
  CHECK_THROWS_WITH_AS(emu::ptx_of_wrapper(wrapper), doctest::Contains("points outside the program"),
                       emu::Fault);
  CHECK_THROWS_WITH_AS(emu::ptx_of_wrapper(nullptr), doctest::Contains("there is no wrapper"), emu::Fault);
}
