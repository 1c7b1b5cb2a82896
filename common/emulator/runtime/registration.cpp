// What nvcc's host code calls before main: each object file announces its fat binary, kernels and variables.
// Signatures: crt/host_runtime.h of the toolkit, which can only be included by nvcc's own output.
#include "emulator/runtime/context.hpp"

using namespace emu::runtime;

namespace {

Binary* binary(void** handle) {
  return reinterpret_cast<Binary*>(handle);
}

void add_symbol(void** handle, const void* key, const char* name, void** managed) {
  Symbol s;
  s.name = name;
  s.binary = binary(handle);
  s.managed_pointer = managed;
  Context::instance().symbols[key] = s;
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  Binary b;
  b.wrapper = wrapper;
  Context& context = Context::instance();
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  context.binaries.push_back(b);
  return reinterpret_cast<void**>(&context.binaries.back());
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  Context& context = Context::instance();
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  context.finish_launch();
  Binary* b = binary(handle);
  for (auto it = context.kernel_of.begin(); it != context.kernel_of.end();)
    it = it->second->binary == b ? context.kernel_of.erase(it) : std::next(it);
  for (auto it = context.symbols.begin(); it != context.symbols.end();)
    it = it->second.binary == b ? context.symbols.erase(it) : std::next(it);
  context.kernels.remove_if([&](const Kernel& k) { return k.binary == b; });
  if (b->module) emu::Device::instance().unload(*b->module);
  context.binaries.remove_if([&](const Binary& other) { return &other == b; });
}

void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* device_name, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  Context& context = Context::instance();
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  Kernel k;
  k.name = device_name;
  k.binary = binary(handle);
  context.kernels.push_back(k);
  Kernel* kernel = &context.kernels.back();
  context.kernel_of.emplace(host_function,
                            kernel);  // a template's kernel may be in several objects: the first counts
  context.kernel_of.emplace(kernel, kernel);
}

void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* device_name, int, size_t, int,
                       int) {
  std::lock_guard<std::recursive_mutex> lock(Context::instance().mutex);
  add_symbol(handle, host_variable, device_name, nullptr);
}

void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*, const char* device_name, int, size_t,
                              int, int) {
  std::lock_guard<std::recursive_mutex> lock(Context::instance().mutex);
  add_symbol(handle, host_pointer, device_name, host_pointer);
}

// Called before the host touches a managed variable, which has an address only when its module is loaded.
char __cudaInitModule(void**) {
  Context& context = Context::instance();
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  context.load_modules();
  return 1;
}

}  // extern "C"
