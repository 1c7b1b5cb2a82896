#include "emulator/ptx/decompress.hpp"

#include <dlfcn.h>

#include <climits>

namespace emu {
namespace {

struct Library {
  const char *name, *file, *package;
  void* open() const { return dlopen(file, RTLD_NOW | RTLD_LOCAL); }
};

const Library& library_of(Compression c) {
  static const Library lz4{"LZ4", "liblz4.so.1", "liblz4-1 (Debian, Ubuntu) or lz4-libs (Fedora)"};
  static const Library zstandard{"Zstandard", "libzstd.so.1",
                                 "libzstd1 (Debian, Ubuntu) or libzstd (Fedora)"};
  return c == Compression::lz4 ? lz4 : zstandard;
}

// The signatures are part of the libraries' stable interface (lz4.h, zstd.h).
using Lz4Decompress = int (*)(const char*, char*, int, int);
using ZstdDecompress = size_t (*)(void*, size_t, const void*, size_t);

}  // namespace

const char* name_of(Compression c) {
  return library_of(c).name;
}

bool decompress(Compression c, const uint8_t* data, size_t bytes, size_t size, std::string& text,
                std::string& why, std::string& missing) {
  const Library& library = library_of(c);
  void* opened = library.open();
  void* function =
      opened ? dlsym(opened, c == Compression::lz4 ? "LZ4_decompress_safe" : "ZSTD_decompress") : nullptr;
  if (!function) {
    const char* said = dlerror();
    why = said ? said : library.file;
    missing = library.package;
    return false;
  }
  if (bytes > INT_MAX || size > INT_MAX) {
    why = "it is larger than 2 GiB";
    return false;
  }
  text.assign(size, '\0');
  size_t got = 0;
  if (c == Compression::lz4) {
    const int n = reinterpret_cast<Lz4Decompress>(function)(reinterpret_cast<const char*>(data), text.data(),
                                                            static_cast<int>(bytes), static_cast<int>(size));
    got = n < 0 ? SIZE_MAX : static_cast<size_t>(n);
  } else {
    got = reinterpret_cast<ZstdDecompress>(function)(text.data(), size, data,
                                                     bytes);  // an error is a huge number
  }
  if (got == size) return true;
  why = got < size ? "it holds " + std::to_string(got) + " bytes, not the " + std::to_string(size) +
                         " that its header names"
                   : "its bytes are no " + std::string(library.name) + " data of that size";
  return false;
}

}  // namespace emu
