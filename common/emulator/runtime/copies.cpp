// cudaMemcpy and cudaMemset in all their forms. Copies are complete when the call returns, asynchronous ones too.
#include <cstring>

#include "emulator/runtime/context.hpp"
#include "emulator/runtime/handles.hpp"

using namespace emu::runtime;

namespace {

// A pitched area: `rows` rows per slice, of which `row_bytes` bytes are meant.
struct Area {
  const void* pointer = nullptr;
  size_t pitch = 0;  // bytes from row to row
  size_t slice = 0;  // bytes from slice to slice
  const char* name = "";
};

struct Extent {
  size_t row_bytes = 0, rows = 1, slices = 1;
  bool empty() const { return row_bytes == 0 || rows == 0 || slices == 0; }
  // Bytes from the first to the last one meant; false when the number overflows.
  bool span(const Area& a, size_t* bytes) const {
    size_t by_rows = 0, by_slices = 0;
    return !__builtin_mul_overflow(rows - 1, a.pitch, &by_rows) &&
           !__builtin_mul_overflow(slices - 1, a.slice, &by_slices) &&
           !__builtin_add_overflow(by_rows, by_slices, bytes) &&
           !__builtin_add_overflow(*bytes, row_bytes, bytes);
  }
};

enum class Side { host, device, any };

// Where the emulator finds the bytes of an area; null when the area is not what the direction of the copy says.
std::byte* find(Context& context, const Area& area, const Extent& extent, Side side, const char* call) {
  size_t bytes = 0;
  if (!extent.span(area, &bytes)) return nullptr;
  auto address = reinterpret_cast<uint64_t>(area.pointer);
  std::byte* there = context.memory().at(address, bytes);
  bool on_device = emu::Device::instance().owns(address);
  if (side == Side::device ? there != nullptr : !on_device)
    return there ? there : static_cast<std::byte*>(const_cast<void*>(area.pointer));
  if (side == Side::any && there) return there;
  std::string size = std::to_string(bytes) + " bytes at " + emu::hex(address);
  if (!on_device)
    explain(cudaErrorInvalidValue, call, std::string(area.name) + " (" + size + ") is host memory",
            "give the kind of copy that fits the pointers, or cudaMemcpyDefault");
  else if (side == Side::host)
    explain(cudaErrorInvalidValue, call, std::string(area.name) + " (" + size + ") is device memory",
            "give the kind of copy that fits the pointers, or cudaMemcpyDefault");
  else
    explain(cudaErrorInvalidValue, call,
            std::string(area.name) + ": " + size + " are not inside one allocation; " +
                context.memory().describe(address),
            "copy no more than was allocated");
  return nullptr;
}

cudaError_t copy(Context& context, const Area& to, const Area& from, const Extent& extent,
                 cudaMemcpyKind kind, const char* call) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (extent.empty()) return cudaSuccess;
  if (!to.pointer || !from.pointer) return cudaErrorInvalidValue;
  if (extent.rows * extent.slices > 1 && (to.pitch < extent.row_bytes || from.pitch < extent.row_bytes))
    return cudaErrorInvalidPitchValue;
  Side to_side = kind == cudaMemcpyDefault                                            ? Side::any
                 : kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ? Side::device
                                                                                      : Side::host;
  Side from_side = kind == cudaMemcpyDefault                                            ? Side::any
                   : kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ? Side::device
                                                                                        : Side::host;
  std::byte* target = find(context, to, extent, to_side, call);
  std::byte* source = find(context, from, extent, from_side, call);
  if (!target || !source) return cudaErrorInvalidValue;
  for (size_t z = 0; z < extent.slices; ++z)
    for (size_t y = 0; y < extent.rows; ++y)
      std::memmove(target + z * to.slice + y * to.pitch, source + z * from.slice + y * from.pitch,
                   extent.row_bytes);
  return cudaSuccess;
}

cudaError_t copy_1d(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const char* call) {
  return device_call([&](Context& c) {
    return copy(c, {to, 0, 0, "the destination"}, {from, 0, 0, "the source"}, {bytes, 1, 1}, kind, call);
  });
}

cudaError_t copy_3d(const cudaMemcpy3DParms* p, const char* call) {
  return device_call([&](Context& c) -> cudaError_t {
    if (!p) return cudaErrorInvalidValue;
    if (p->srcArray || p->dstArray)
      return explain(cudaErrorNotSupported, call, "CUDA arrays are not emulated",
                     "copy between pitched pointers");
    auto area = [](const cudaPitchedPtr& base, const cudaPos& at, const char* name) {
      size_t slice = base.pitch * base.ysize;
      return Area{static_cast<const char*>(base.ptr) + at.z * slice + at.y * base.pitch + at.x, base.pitch,
                  slice, name};
    };
    return copy(c, area(p->dstPtr, p->dstPos, "the destination"), area(p->srcPtr, p->srcPos, "the source"),
                {p->extent.width, p->extent.height, p->extent.depth}, p->kind, call);
  });
}

cudaError_t fill(Context& context, const Area& area, int value, const Extent& extent, const char* call) {
  if (extent.empty()) return cudaSuccess;
  if (extent.rows * extent.slices > 1 && area.pitch < extent.row_bytes) return cudaErrorInvalidPitchValue;
  std::byte* target = find(context, area, extent, Side::device, call);
  if (!target) return cudaErrorInvalidValue;
  for (size_t z = 0; z < extent.slices; ++z)
    for (size_t y = 0; y < extent.rows; ++y)
      std::memset(target + z * area.slice + y * area.pitch, value, extent.row_bytes);
  return cudaSuccess;
}

// [offset, offset + bytes) of a variable; an error code when there is no such part.
cudaError_t part_of(Context& context, const void* symbol, size_t offset, size_t bytes, void** address) {
  Symbol* s = context.find_symbol(symbol);
  if (!s || !s->variable) return cudaErrorInvalidSymbol;
  if (offset > s->variable->bytes || bytes > s->variable->bytes - offset)
    return explain(cudaErrorInvalidValue, "a copy to or from " + s->name,
                   std::to_string(bytes) + " bytes from offset " + std::to_string(offset) +
                       " on, but the variable has " + std::to_string(s->variable->bytes),
                   "copy no more than the variable holds");
  *address = reinterpret_cast<void*>(s->variable->address + offset);
  return cudaSuccess;
}

bool same_device(int a, int b) {
  return a == 0 && b == 0;
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return copy_1d(to, from, bytes, kind, "cudaMemcpy");
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (!valid_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
  return copy_1d(to, from, bytes, kind, "cudaMemcpyAsync");
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  if (!same_device(to_device, from_device)) return remember(cudaErrorInvalidDevice);
  return copy_1d(to, from, bytes, cudaMemcpyDeviceToDevice, "cudaMemcpyPeer");
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
  if (!valid_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
  return cudaMemcpyPeer(to, to_device, from, from_device, bytes);
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  return device_call([&](Context& c) {
    return copy(c, {to, to_pitch, 0, "the destination"}, {from, from_pitch, 0, "the source"},
                {width, height, 1}, kind, "cudaMemcpy2D");
  });
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  if (!valid_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
  return copy_3d(p, "cudaMemcpy3D");
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  if (!valid_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
  return copy_3d(p, "cudaMemcpy3DAsync");
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  return device_call([&](Context& c) {
    void* to = nullptr;
    if (cudaError_t error = part_of(c, symbol, offset, bytes, &to)) return error;
    return copy(c, {to, 0, 0, "the destination"}, {from, 0, 0, "the source"}, {bytes, 1, 1}, kind,
                "cudaMemcpyToSymbol");
  });
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
  return device_call([&](Context& c) {
    void* from = nullptr;
    if (cudaError_t error = part_of(c, symbol, offset, bytes, &from)) return error;
    return copy(c, {to, 0, 0, "the destination"}, {from, 0, 0, "the source"}, {bytes, 1, 1}, kind,
                "cudaMemcpyFromSymbol");
  });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  if (!valid_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  if (!valid_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return device_call(
      [&](Context& c) { return address ? part_of(c, symbol, 0, 0, address) : cudaErrorInvalidValue; });
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return device_call([&](Context& c) {
    Symbol* s = c.find_symbol(symbol);
    if (!s || !s->variable) return cudaErrorInvalidSymbol;
    if (!bytes) return cudaErrorInvalidValue;
    *bytes = s->variable->bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  return device_call([&](Context& c) {
    return fill(c, {pointer, 0, 0, "the area"}, value, {bytes, 1, 1}, "cudaMemset");
  });
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  if (!valid_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
  return cudaMemset(pointer, value, bytes);
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return device_call([&](Context& c) {
    return fill(c, {pointer, pitch, 0, "the area"}, value, {width, height, 1}, "cudaMemset2D");
  });
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  if (!valid_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
  return cudaMemset2D(pointer, pitch, value, width, height);
}

cudaError_t cudaMemset3D(cudaPitchedPtr base, int value, cudaExtent extent) {
  return device_call([&](Context& c) {
    return fill(c, {base.ptr, base.pitch, base.pitch * base.ysize, "the area"}, value,
                {extent.width, extent.height, extent.depth}, "cudaMemset3D");
  });
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr base, int value, cudaExtent extent, cudaStream_t stream) {
  if (!valid_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
  return cudaMemset3D(base, value, extent);
}

// Managed memory is where both sides find it already: hints and prefetches have nothing to do.
#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation, unsigned int,
                                 cudaStream_t stream) {
#else
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int, cudaStream_t stream) {
#endif
  return device_call([&](Context& c) {
    if (!valid_stream(stream)) return cudaErrorInvalidResourceHandle;
    return c.memory().at(reinterpret_cast<uint64_t>(pointer), bytes) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

#if CUDART_VERSION >= 13000
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise, cudaMemLocation) {
#else
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise, int) {
#endif
  return device_call([&](Context& c) {
    return c.memory().at(reinterpret_cast<uint64_t>(pointer), bytes) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

}  // extern "C"

EMU_PER_THREAD(cudaMemcpy, _ptds)
EMU_PER_THREAD(cudaMemcpyAsync, _ptsz)
EMU_PER_THREAD(cudaMemcpyPeerAsync, _ptsz)
EMU_PER_THREAD(cudaMemcpy2D, _ptds)
EMU_PER_THREAD(cudaMemcpy2DAsync, _ptsz)
EMU_PER_THREAD(cudaMemcpy3D, _ptds)
EMU_PER_THREAD(cudaMemcpy3DAsync, _ptsz)
EMU_PER_THREAD(cudaMemcpyToSymbol, _ptds)
EMU_PER_THREAD(cudaMemcpyFromSymbol, _ptds)
EMU_PER_THREAD(cudaMemcpyToSymbolAsync, _ptsz)
EMU_PER_THREAD(cudaMemcpyFromSymbolAsync, _ptsz)
EMU_PER_THREAD(cudaMemset, _ptds)
EMU_PER_THREAD(cudaMemset2D, _ptds)
EMU_PER_THREAD(cudaMemset3D, _ptds)
EMU_PER_THREAD(cudaMemsetAsync, _ptsz)
EMU_PER_THREAD(cudaMemset2DAsync, _ptsz)
EMU_PER_THREAD(cudaMemset3DAsync, _ptsz)
EMU_PER_THREAD(cudaMemPrefetchAsync, _ptsz)
