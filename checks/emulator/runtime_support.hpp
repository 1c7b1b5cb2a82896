// Fat binaries made by hand, and programs made of PTX: registered with the runtime as nvcc's host code does it.
#pragma once

#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "emulator/findings/report.hpp"

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int);
char __cudaInitModule(void**);
}

namespace runtime_test {

using Bytes = std::vector<uint8_t>;

template <class T>
void put(Bytes& bytes, size_t at, T value) {
  if (bytes.size() < at + sizeof value) bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

struct Entry {
  uint16_t kind = 1;
  uint32_t architecture = 90;
  uint64_t flags = 0x11;
  std::string payload;
  uint32_t compressed = 0;
  uint32_t header = 80;
  uint64_t text_bytes = 0;  // once decompressed
};

// PTX for an architecture; flags as in fatbin.hpp.
inline Entry ptx_entry(uint32_t architecture, uint64_t flags, const std::string& text) {
  Entry e;
  e.architecture = architecture;
  e.flags |= flags;
  e.payload = text + '\0';
  return e;
}

inline Entry cubin_entry(uint32_t architecture) {
  Entry e;
  e.kind = 2;
  e.architecture = architecture;
  e.header = 64;
  e.payload = "\177ELF and machine code";
  return e;
}

// The container of these entries, as nvcc lays it out.
inline Bytes container(const std::vector<Entry>& entries) {
  Bytes body;
  for (const Entry& e : entries) {
    size_t at = body.size(), padded = (e.payload.size() + 7) / 8 * 8;
    body.resize(at + e.header + padded);
    put<uint16_t>(body, at, e.kind);
    put<uint16_t>(body, at + 2, 0x0101);
    put<uint32_t>(body, at + 4, e.header);
    put<uint64_t>(body, at + 8, padded);
    put<uint32_t>(body, at + 16, e.compressed);
    put<uint32_t>(body, at + 28, e.architecture);
    put<uint64_t>(body, at + 40, e.flags);
    put<uint64_t>(body, at + 56, e.text_bytes);
    std::memcpy(body.data() + at + e.header, e.payload.data(), e.payload.size());
  }
  Bytes all(16);
  put<uint32_t>(all, 0, 0xBA55ED50);
  put<uint16_t>(all, 4, 1);
  put<uint16_t>(all, 6, 16);
  put<uint64_t>(all, 8, body.size());
  all.insert(all.end(), body.begin(), body.end());
  return all;
}

// A program whose device code is one container; alive for the rest of the process unless unregistered. The bytes
// lie in static storage: the runtime reads no others.
class Registered {
 public:
  explicit Registered(const Bytes& bytes) {
    static uint8_t storage[64 << 10];
    static size_t used = 0;
    used = (used + 15) / 16 * 16;
    if (used + 24 + bytes.size() > sizeof storage) std::abort();
    uint8_t* wrapper = storage + used;
    uint8_t* data = wrapper + 24;
    uint64_t words[3] = {0x1'466243B1ull, reinterpret_cast<uint64_t>(data), 0};
    std::memcpy(wrapper, words, sizeof words);
    std::memcpy(data, bytes.data(), bytes.size());
    used += 24 + bytes.size();
    handle_ = __cudaRegisterFatBinary(wrapper);
  }
  explicit Registered(const std::string& body)
      : Registered(
            container({ptx_entry(90, 0x100000, ".version 8.6\n.target sm_90a\n.address_size 64\n" + body)})) {
  }

  // The returned address stands for the host function.
  const void* kernel(const char* name) {
    const void* key = std::calloc(1, 1);
    __cudaRegisterFunction(handle_, static_cast<const char*>(key), nullptr, name, -1, nullptr, nullptr,
                           nullptr, nullptr, nullptr);
    return key;
  }
  void* variable(const char* name) {
    void* key = std::malloc(1);
    __cudaRegisterVar(handle_, static_cast<char*>(key), nullptr, name, 0, 4, 0, 0);
    return key;
  }
  void managed(const char* name, void** pointer) {
    __cudaRegisterManagedVar(handle_, pointer, nullptr, name, 0, 4, 0, 0);
  }
  void** handle() const { return handle_; }

 private:
  void** handle_ = nullptr;
};

// Kernels that do one thing; out is the only parameter.
inline std::string kernel_text(const std::string& name, const std::string& body,
                               const std::string& directives = "") {
  return ".visible .entry " + name + "(.param .u64 out)\n" + directives +
         "{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [out];\n" + body +
         "\nret;\n}\n";
}

struct Ended {
  int status = -1;  // exit status; -1: killed by a signal
  std::string output, errors;
};

// Runs f in a child process that ends with exit(f()).
template <class F>
Ended in_child(F&& f) {
  std::FILE *out = std::tmpfile(), *err = std::tmpfile();
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    dup2(fileno(out), 1);
    dup2(fileno(err), 2);
    emu::Report::instance().quiet = false;
    std::exit(f());
  }
  int status = 0;
  waitpid(child, &status, 0);
  auto text = [](std::FILE* file) {
    std::string all;
    std::rewind(file);
    for (int c; (c = std::fgetc(file)) != EOF;) all += static_cast<char>(c);
    std::fclose(file);
    return all;
  };
  Ended e;
  e.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  e.output = text(out);
  e.errors = text(err);
  return e;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

}  // namespace runtime_test
