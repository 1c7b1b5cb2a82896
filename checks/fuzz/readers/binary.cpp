// Fat binaries: containers of a few entries, whole, cut and changed, compressed or not.
#include <algorithm>

#include "emulator/findings/report.hpp"
#include "emulator/ptx/fatbin.hpp"
#include "emulator/runtime_support.hpp"
#include "target.hpp"

namespace readers {

using runtime_test::Bytes;

// The text as an LZ4 block, and as a Zstandard frame, each of it as it is.
static std::string as_lz4(const std::string& text) {
  std::string out(1, '\xF0');
  size_t rest = text.size() - 15;
  for (; rest >= 255; rest -= 255) out += '\xFF';
  return out + static_cast<char>(rest) + text;
}
static std::string as_zstd(const std::string& text) {
  std::string out("\x28\xB5\x2F\xFD\xA0");
  for (int i = 0; i < 4; ++i) out += static_cast<char>(text.size() >> 8 * i);
  const size_t block = text.size() << 3 | 1;
  for (int i = 0; i < 3; ++i) out += static_cast<char>(block >> 8 * i);
  return out + text;
}

void run_fat_binary(Random& random) {
  std::vector<runtime_test::Entry> entries;
  for (size_t i = random.below(4); i > 0; --i) {
    if (random.one_in(3)) {
      entries.push_back(runtime_test::cubin_entry(static_cast<uint32_t>(80 + random.below(40))));
      continue;
    }
    const std::string text = random.of(corpus()).substr(0, 2000) + std::string(1, '\0');
    entries.push_back(runtime_test::ptx_entry(random.one_in(2) ? 90 : 80,
                                              random.one_in(2) ? emu::kFatbinArchSpecific : 0, text));
    const size_t how = random.below(3);
    if (how == 0) continue;
    runtime_test::Entry& e = entries.back();
    e.payload = how == 1 ? as_lz4(text) : as_zstd(text);
    e.flags |= how == 1 ? emu::kFatbinLz4 : emu::kFatbinZstd;
    e.compressed = static_cast<uint32_t>(e.payload.size());
    e.text_bytes = text.size();
  }
  Bytes bytes = runtime_test::container(entries);
  for (size_t i = random.below(5); i > 0 && !bytes.empty(); --i) {
    const size_t at = random.below(random.one_in(2) ? bytes.size() : std::min<size_t>(bytes.size(), 96));
    switch (random.below(4)) {
      case 0:
        bytes[at] = static_cast<uint8_t>(random.bits());
        break;
      case 1:
        bytes[at] ^= static_cast<uint8_t>(1u << random.below(8));
        break;
      case 2:
        bytes.resize(at);
        break;
      default:
        if (at + 8 <= bytes.size()) runtime_test::put<uint64_t>(bytes, at, edge(random));
    }
  }
  bytes.shrink_to_fit();  // so that a sanitizer sees a read past the end
  try {
    const std::string text = emu::ptx_of_fatbin(bytes.data(), bytes.size());
    if (text.find('\0') != std::string::npos) throw Broken("the text goes on behind its end");
  } catch (const emu::Fault& fault) {
    if (fault.finding().title.empty() || fault.finding().hint.empty())
      throw Broken("a refusal that does not say what to do");
    require_json(fault.finding().json());
  }
}

}  // namespace readers
