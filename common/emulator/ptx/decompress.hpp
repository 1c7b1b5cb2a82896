// Compressed device code: LZ4 and Zstandard, through the system's own libraries, which are looked for when a program
// needs one. So nothing has to be linked, and a program that keeps its PTX as it is needs neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace emu {

enum class Compression { lz4, zstandard };

const char* name_of(Compression c);

// `bytes` of LZ4 block or Zstandard frames as the text of `size` bytes that they hold. False, with the reason in `why`,
// where they hold no such text; then `missing` names the package where the library is not there.
bool decompress(Compression c, const uint8_t* data, size_t bytes, size_t size, std::string& text,
                std::string& why, std::string& missing);

}  // namespace emu
