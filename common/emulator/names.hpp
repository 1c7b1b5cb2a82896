// Names for the emulator's reports, for any program. In a kernel, anywhere:
//
//   extern __shared__ __align__(1024) unsigned char bytes[];
//   Smem& smem = *reinterpret_cast<Smem*>(bytes);
//   EMU_NAME_SHARED(smem, a, b, full_bar, empty_bar);
//   EMU_NAME_PARAMETERS(tmap_a, tmap_b, c, m, n, k);
//
// The first names members of a struct in dynamic or static shared memory, the second all parameters of the kernel in their
// order. A report then says `full_bar[1]` instead of `bytes+98304`. Nothing of it reaches the hardware: each name is the
// declaration of a register that no instruction uses. Up to 16 names at a time; further ones in a second line.
//
// On the host, after cudaMalloc: emu_name_matrix(c, "C", columns) names device memory by rows and columns.
#pragma once

#include <cstddef>
#include <cstdint>

// Defined by the emulator; absent, so null, in a program for a GPU.
extern "C" __attribute__((weak)) void emu_name_memory(const void* device_memory, const char* name,
                                                      uint64_t columns, uint64_t element_bytes);

// Who wrote a byte of device memory in the last launch: "CTA (0,0,0) warp 4, at kernel.cu:80". Null where nobody has, and in
// a run that is not checked. Defined by the emulator, as above.
extern "C" __attribute__((weak)) const char* emu_writer_of(const void* device_memory);

template <class T>
void emu_name_matrix(const T* device_memory, const char* name, uint64_t columns) {
  if (emu_name_memory) emu_name_memory(device_memory, name, columns, sizeof(T));
}

#define EMU_NAME_SHARED(object, ...)                      \
  do {                                                    \
    EMU_NAMES_EACH(EMU_NAMES_MEMBER, object, __VA_ARGS__) \
  } while (0)
#define EMU_NAME_PARAMETERS(...)                       \
  do {                                                 \
    EMU_NAMES_EACH(EMU_NAMES_PARAMETER, , __VA_ARGS__) \
  } while (0)

// What std::remove_reference and std::remove_extent do. Recent C++ libraries write those with built-ins of the compiler that
// nvcc 13.0 cannot print again in the host's copy of a template ("internal error: assertion failed").
namespace emu_names {
template <class T>
struct Referred {
  using type = T;
};
template <class T>
struct Referred<T&> {
  using type = T;
};
template <class T>
struct Element {
  using type = T;
};
template <class T, size_t kCount>
struct Element<T[kCount]> {
  using type = T;
};
}  // namespace emu_names
#define EMU_NAMES_TYPE(object) typename emu_names::Referred<decltype(object)>::type

// What the emulator reads: emu_shared$alignment$offset$bytes$bytes of an element$object$member, emu_parameter$index$name.
#define EMU_NAMES_MEMBER(object, index, member)                                       \
  asm volatile(                                                                       \
      "{ .reg .b32 emu_shared$%0$%1$%2$%3$" #object "$" #member                       \
      "; }" ::"n"(static_cast<unsigned>(alignof(EMU_NAMES_TYPE(object)))),            \
      "n"(static_cast<unsigned>(__builtin_offsetof(EMU_NAMES_TYPE(object), member))), \
      "n"(static_cast<unsigned>(sizeof(decltype(object.member)))),                    \
      "n"(static_cast<unsigned>(sizeof(typename emu_names::Element<decltype(object.member)>::type))));
#define EMU_NAMES_PARAMETER(object, index, name) \
  asm volatile("{ .reg .b32 emu_parameter$%0$" #name "; }" ::"n"(index));

#define EMU_NAMES_EACH(M, o, ...)                                                                   \
  EMU_NAMES_PICK(__VA_ARGS__, EMU_NAMES_16, EMU_NAMES_15, EMU_NAMES_14, EMU_NAMES_13, EMU_NAMES_12, \
                 EMU_NAMES_11, EMU_NAMES_10, EMU_NAMES_9, EMU_NAMES_8, EMU_NAMES_7, EMU_NAMES_6,    \
                 EMU_NAMES_5, EMU_NAMES_4, EMU_NAMES_3, EMU_NAMES_2, EMU_NAMES_1)                   \
  (M, o, 0, __VA_ARGS__)
#define EMU_NAMES_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, picked, ...) picked
#define EMU_NAMES_1(M, o, i, a) M(o, i, a)
#define EMU_NAMES_2(M, o, i, a, ...) M(o, i, a) EMU_NAMES_1(M, o, i + 1, __VA_ARGS__)
#define EMU_NAMES_3(M, o, i, a, ...) M(o, i, a) EMU_NAMES_2(M, o, i + 1, __VA_ARGS__)
#define EMU_NAMES_4(M, o, i, a, ...) M(o, i, a) EMU_NAMES_3(M, o, i + 1, __VA_ARGS__)
#define EMU_NAMES_5(M, o, i, a, ...) M(o, i, a) EMU_NAMES_4(M, o, i + 1, __VA_ARGS__)
#define EMU_NAMES_6(M, o, i, a, ...) M(o, i, a) EMU_NAMES_5(M, o, i + 1, __VA_ARGS__)
#define EMU_NAMES_7(M, o, i, a, ...) M(o, i, a) EMU_NAMES_6(M, o, i + 1, __VA_ARGS__)
#define EMU_NAMES_8(M, o, i, a, ...) M(o, i, a) EMU_NAMES_7(M, o, i + 1, __VA_ARGS__)
#define EMU_NAMES_9(M, o, i, a, ...) M(o, i, a) EMU_NAMES_8(M, o, i + 1, __VA_ARGS__)
#define EMU_NAMES_10(M, o, i, a, ...) M(o, i, a) EMU_NAMES_9(M, o, i + 1, __VA_ARGS__)
#define EMU_NAMES_11(M, o, i, a, ...) M(o, i, a) EMU_NAMES_10(M, o, i + 1, __VA_ARGS__)
#define EMU_NAMES_12(M, o, i, a, ...) M(o, i, a) EMU_NAMES_11(M, o, i + 1, __VA_ARGS__)
#define EMU_NAMES_13(M, o, i, a, ...) M(o, i, a) EMU_NAMES_12(M, o, i + 1, __VA_ARGS__)
#define EMU_NAMES_14(M, o, i, a, ...) M(o, i, a) EMU_NAMES_13(M, o, i + 1, __VA_ARGS__)
#define EMU_NAMES_15(M, o, i, a, ...) M(o, i, a) EMU_NAMES_14(M, o, i + 1, __VA_ARGS__)
#define EMU_NAMES_16(M, o, i, a, ...) M(o, i, a) EMU_NAMES_15(M, o, i + 1, __VA_ARGS__)
