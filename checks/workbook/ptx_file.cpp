// ptx_file FILE: what kernels a PTX file has, and which of them cannot be executed, each with its line.
// ptx_file FILE --block 128 [--grid X,Y,Z] [--cluster X,Y,Z] [--shared BYTES] [--kernel NAME] ARGUMENT...: launches one of them. An
// ARGUMENT for each parameter: a number; f32:1024, a buffer of as many elements 0, 1, 2, ...; f32:1024=0.5, all of them 0.5; or
// hex:00ff, the bytes as they are.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "emulator/numerics/formats.hpp"
#include "emulator/runtime/device.hpp"

namespace {

using namespace emu;

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  std::printf("%s\n  try    %s\n", what.c_str(), hint.c_str());
  std::exit(2);
}

std::string signature(const Function& f) {
  std::string text = f.name + "(";
  for (const Variable& p : f.params) {
    text += text.back() == '(' ? "" : ", ";
    text += name_of(p.type);
    text += p.bytes > size_of(p.type) ? "[" + std::to_string(p.bytes / size_of(p.type)) + "]" : "";
  }
  return text + ")";
}

// The kernels, each with what refuses it. True: none is refused.
bool list(const LoadedModule& module) {
  bool all = true;
  for (const Function& f : module.module().functions) {
    if (!f.is_entry || !f.has_body) continue;
    const Finding* refusal = module.refusal(f.name);
    all = all && !refusal;
    std::printf("line %-5d %s: %s\n", f.ptx_line, signature(f).c_str(), refusal ? "cannot run" : "can run");
    if (refusal) std::printf("  %s (%s)\n", refusal->title.c_str(), refusal->where.c_str());
  }
  return all;
}

bool is_real(Type t) {
  return t == Type::f16 || t == Type::bf16 || t == Type::f32 || t == Type::f64;
}

// The bytes of a number as a value of the type; what stands for bits takes integers, and reals where there is a '.'.
std::string bytes_of(const std::string& text, Type type) {
  const unsigned size = size_of(type);
  char* end = nullptr;
  uint64_t bits = 0;
  const bool real = is_real(type) || (text.find('.') != std::string::npos && !is_integer(type) && size >= 4);
  if (real) {
    const double v = std::strtod(text.c_str(), &end);
    const auto single = static_cast<float>(v);
    if (size == 8)
      std::memcpy(&bits, &v, 8);
    else if (size == 4)
      std::memcpy(&bits, &single, 4);
    else
      bits = type == Type::f16 ? F16::round(v) : BF16::round(v);
  } else {
    bits = text[0] == '-' ? static_cast<uint64_t>(std::strtoll(text.c_str(), &end, 0))
                          : std::strtoull(text.c_str(), &end, 0);
  }
  if (text.empty() || *end || size == 0 || size > 8)
    refuse(text + " is no value of type " + name_of(type), "a number, TYPE:COUNT for a buffer, or hex:BYTES");
  return std::string(reinterpret_cast<const char*>(&bits), size);
}

std::string shown(const char* bytes, Type type) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, size_of(type));
  char text[40];
  double v = 0;
  float single = 0;
  if (type == Type::f64) std::memcpy(&v, bytes, 8);
  if (type == Type::f32) std::memcpy(&single, bytes, 4), v = single;
  if (type == Type::f16) v = F16::widen(static_cast<uint16_t>(bits));
  if (type == Type::bf16) v = BF16::widen(static_cast<uint16_t>(bits));
  if (is_real(type))
    std::snprintf(text, sizeof text, "%.7g", v);
  else if (is_signed(type))
    std::snprintf(text, sizeof text, "%lld",
                  static_cast<long long>(bits << (64 - 8 * size_of(type))) >> (64 - 8 * size_of(type)));
  else
    std::snprintf(text, sizeof text, is_integer(type) ? "%llu" : "0x%llx",
                  static_cast<unsigned long long>(bits));
  return text;
}

struct Buffer {
  size_t argument;
  std::string text;
  Type type;
  CUdeviceptr address;
  std::string before;
};

// One parameter's bytes; a buffer is allocated and filled.
std::string argument(const std::string& text, const Variable& p, size_t index, std::vector<Buffer>& buffers) {
  const std::string place = "argument " + std::to_string(index + 1) + ", " + text + ": ";
  if (text.rfind("hex:", 0) == 0) {
    std::string bytes;
    for (size_t i = 4; i + 1 < text.size(); i += 2)
      bytes += static_cast<char>(std::strtoul(text.substr(i, 2).c_str(), nullptr, 16));
    if (bytes.size() != p.bytes)
      refuse(place + "the parameter has " + std::to_string(p.bytes) + " bytes",
             "two digits for each of them");
    return bytes;
  }
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    if (p.bytes != size_of(p.type))
      refuse(place + "the parameter is a struct of " + std::to_string(p.bytes) + " bytes",
             "hex: and two digits for each of them");
    return bytes_of(text, p.type);
  }
  Buffer b;
  b.argument = index + 1;
  b.type = type_from(text.substr(0, colon));
  char* end = nullptr;
  const uint64_t count = std::strtoull(text.c_str() + colon + 1, &end, 0);
  const bool alike = *end == '=';
  const unsigned size = size_of(b.type);
  if (p.bytes != 8 || size == 0 || size > 8 || count == 0 || count > (uint64_t{1} << 32) || (*end && !alike))
    refuse(place + "no buffer", p.bytes != 8
                                    ? "a number: the parameter has " + std::to_string(p.bytes) + " bytes"
                                    : "TYPE:COUNT or TYPE:COUNT=VALUE, such as f32:1024 or u8:4096=0");
  b.text = text.substr(0, alike ? static_cast<size_t>(end - text.c_str()) : text.size());
  for (uint64_t i = 0; i < count; ++i) b.before += bytes_of(alike ? end + 1 : std::to_string(i), b.type);
  if (cuMemAlloc(&b.address, b.before.size()) != CUDA_SUCCESS)
    refuse(place + "no memory for it", "a smaller buffer");
  cuMemcpyHtoD(b.address, b.before.data(), b.before.size());
  buffers.push_back(b);
  return std::string(reinterpret_cast<const char*>(&b.address), 8);
}

void show(const Buffer& b) {
  std::string now(b.before.size(), '\0');
  if (cuMemcpyDtoH(now.data(), b.address, now.size()) != CUDA_SUCCESS) return;
  const size_t size = size_of(b.type), count = now.size() / size;
  size_t changed = 0;
  for (size_t i = 0; i < count; ++i) changed += now.compare(i * size, size, b.before, i * size, size) != 0;
  std::printf("argument %zu, %s: %zu changed:", b.argument, b.text.c_str(), changed);
  for (size_t i = 0; i < count && i < 8; ++i)
    std::printf(" %s", shown(now.data() + i * size, b.type).c_str());
  std::printf(count > 8 ? " ...\n" : "\n");
}

struct Launch {
  unsigned grid[3] = {1, 1, 1}, block[3] = {0, 1, 1}, cluster[3] = {0, 1, 1};
  unsigned shared = 0;
  std::string kernel;
  std::vector<std::string> arguments;
};

void sizes(const std::string& text, unsigned (&out)[3]) {
  const int found = std::sscanf(text.c_str(), "%u,%u,%u", &out[0], &out[1], &out[2]);
  if (found < 1) refuse(text + " is no size", "X, or X,Y,Z");
}

Launch read(int count, char** words) {
  Launch l;
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    if (word.rfind("--", 0) != 0) {
      l.arguments.push_back(word);
      continue;
    }
    const std::string value = i + 1 < count ? words[++i] : "";
    if (word == "--grid")
      sizes(value, l.grid);
    else if (word == "--block")
      sizes(value, l.block);
    else if (word == "--cluster")
      sizes(value, l.cluster);
    else if (word == "--shared")
      l.shared = static_cast<unsigned>(std::strtoul(value.c_str(), nullptr, 0));
    else if (word == "--kernel")
      l.kernel = value;
    else
      refuse("what is " + word + "?",
             "--grid, --block, --cluster, --shared, --kernel, and an argument for each parameter");
  }
  return l;
}

const Function& chosen(const Launch& l, const LoadedModule& module) {
  std::vector<const Function*> entries;
  for (const Function& f : module.module().functions)
    if (f.is_entry && f.has_body && (l.kernel.empty() || f.name == l.kernel)) entries.push_back(&f);
  if (entries.empty())
    refuse(l.kernel.empty() ? "the file has no kernel" : "the file has no kernel " + l.kernel,
           "a name of the list");
  if (entries.size() > 1)
    refuse("the file has " + std::to_string(entries.size()) + " kernels", "--kernel NAME");
  return *entries[0];
}

int launch(const Launch& l, const Function& f, const std::string& text) {
  if (l.arguments.size() != f.params.size())
    refuse(signature(f) + " has " + std::to_string(f.params.size()) + " parameters, and " +
               std::to_string(l.arguments.size()) + " arguments are given",
           "one for each: a number, TYPE:COUNT for a buffer, or hex:BYTES");
  if (l.block[0] == 0) refuse("how many threads has a block?", "--block 128");
  CUmodule module;
  CUfunction function;
  CUdevice device;
  CUcontext context;
  cuInit(0);
  cuDeviceGet(&device, 0);
  cuDevicePrimaryCtxRetain(&context, device);
  cuCtxSetCurrent(context);
  if (cuModuleLoadData(&module, text.c_str()) != CUDA_SUCCESS ||
      cuModuleGetFunction(&function, module, f.name.c_str()) != CUDA_SUCCESS)
    return 1;
  if (l.shared > 48 * 1024)
    cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(l.shared));
  std::vector<Buffer> buffers;
  std::vector<std::string> bytes;
  std::vector<void*> pointers;
  for (size_t i = 0; i < f.params.size(); ++i)
    bytes.push_back(argument(l.arguments[i], f.params[i], i, buffers));
  for (std::string& b : bytes) pointers.push_back(b.data());
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {l.cluster[0], l.cluster[1], l.cluster[2]};
  CUlaunchConfig config{};
  config.gridDimX = l.grid[0], config.gridDimY = l.grid[1], config.gridDimZ = l.grid[2];
  config.blockDimX = l.block[0], config.blockDimY = l.block[1], config.blockDimZ = l.block[2];
  config.sharedMemBytes = l.shared;
  config.attrs = &attribute;
  config.numAttrs = l.cluster[0] ? 1 : 0;
  CUresult result = cuLaunchKernelEx(&config, function, pointers.data(), nullptr);
  if (result == CUDA_SUCCESS) result = cuCtxSynchronize();
  if (result != CUDA_SUCCESS) {
    const char* name = nullptr;
    cuGetErrorName(result, &name);
    std::printf("%s: %s\n", f.name.c_str(), name ? name : "?");
    return 1;
  }
  for (const Buffer& b : buffers) show(b);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  std::ifstream file(count > 1 ? words[1] : "", std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  try {
    const LoadedModule& module = Device::instance().load({text});
    const Launch l = read(count, words);
    if (count <= 2) return list(module) ? 0 : 1;
    return launch(l, chosen(l, module), text);
  } catch (const Fault& fault) {
    Report::instance().add(fault.finding());
    return 1;
  }
}
