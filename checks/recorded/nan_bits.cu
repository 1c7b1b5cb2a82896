// Sign and payload of the NaNs that operations hand on or make: each operation on NaNs, infinities and numbers.
#include "record.cuh"

using namespace record;

namespace {

const std::vector<uint16_t> kF16 = {0x3C00, 0xFC00, 0x7C00, 0x7E01, 0xFE02, 0x7C03, 0xFFFF};
const std::vector<uint16_t> kBf16 = {0x3F80, 0xFF80, 0x7F80, 0x7FC1, 0xFFC2, 0x7F83, 0xFFFF};
const std::vector<uint32_t> kF32 = {0x3F800000, 0xFF800000, 0x7F800000, 0x7FC00001,
                                    0xFFC00002, 0x7F800003, 0xFFFFFFFF};
const std::vector<uint64_t> kF64 = {0x3FF0000000000000, 0xFFF0000000000000, 0x7FF0000000000000,
                                    0x7FF8000000000001, 0xFFF8000020000002, 0x7FF0000040000003,
                                    0xFFFFFFFFFFFFFFFF, 0x7FF8000100000000};

// out[i] = op(in[i], in[n + i], in[2 * n + i])
template <class Op, class In, class Out>
__global__ void apply(const In* in, Out* out, int n) {
  const int i = static_cast<int>(threadIdx.x + blockIdx.x * blockDim.x);
  if (i < n) out[i] = Op::of(in[i], in[n + i], in[2 * n + i]);
}

template <class Op, class In, class Out>
void show(const char* name, int sources, const std::vector<In>& values) {
  std::vector<In> a, b, c;
  for (In x : values)
    for (In y : sources > 1 ? values : std::vector<In>{x})
      for (In z : sources > 2 ? values : std::vector<In>{x}) {
        a.push_back(x);
        b.push_back(y);
        c.push_back(z);
      }
  const int n = static_cast<int>(a.size());
  std::vector<In> all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  Buffer<In> in(all);
  Buffer<Out> out(a.size());
  apply<Op><<<(n + 127) / 128, 128>>>(in.get(), out.get(), n);
  finish_kernel(name);
  const std::vector<Out> result = out.download();
  const size_t row = sources > 1 ? values.size() : a.size();
  for (size_t i = 0; i < result.size(); i += row) {
    std::printf("%s", name);
    if (sources > 1)
      std::printf(" %0*llx", static_cast<int>(2 * sizeof(In)), static_cast<unsigned long long>(a[i]));
    if (sources > 2)
      std::printf(" %0*llx", static_cast<int>(2 * sizeof(In)), static_cast<unsigned long long>(b[i]));
    std::printf(":");
    for (size_t k = i; k < i + row; ++k)
      std::printf(" %0*llx", static_cast<int>(2 * sizeof(Out)), static_cast<unsigned long long>(result[k]));
    std::printf("\n");
  }
}

#define OPERATION(id, In, Out, to, from, text)                        \
  struct id {                                                         \
    __device__ static Out of(In a, In b, In c) {                      \
      Out d;                                                          \
      asm volatile(text ";" : "=" to(d) : from(a), from(b), from(c)); \
      return d;                                                       \
    }                                                                 \
  };
#define UNARY(id, In, Out, to, from, name) OPERATION(id, In, Out, to, from, name " %0, %1")
#define BINARY(id, T, c, name) OPERATION(id, T, T, c, c, name " %0, %1, %2")
#define TERNARY(id, T, c, name) OPERATION(id, T, T, c, c, name " %0, %1, %2, %3")
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

#define UNARIES(X)                                        \
  X(NegF32, u32, u32, "r", "r", "neg.f32", kF32)          \
  X(AbsF32, u32, u32, "r", "r", "abs.f32", kF32)          \
  X(NegFtzF32, u32, u32, "r", "r", "neg.ftz.f32", kF32)   \
  X(NegF64, u64, u64, "l", "l", "neg.f64", kF64)          \
  X(AbsF64, u64, u64, "l", "l", "abs.f64", kF64)          \
  X(NegF16, u16, u16, "h", "h", "neg.f16", kF16)          \
  X(AbsF16, u16, u16, "h", "h", "abs.f16", kF16)          \
  X(NegBf16, u16, u16, "h", "h", "neg.bf16", kBf16)       \
  X(AbsBf16, u16, u16, "h", "h", "abs.bf16", kBf16)       \
  X(F32F64, u64, u32, "r", "l", "cvt.rn.f32.f64", kF64)   \
  X(F32F64Z, u64, u32, "r", "l", "cvt.rz.f32.f64", kF64)  \
  X(F64F32, u32, u64, "l", "r", "cvt.f64.f32", kF32)      \
  X(F16F64, u64, u16, "h", "l", "cvt.rn.f16.f64", kF64)   \
  X(F64F16, u16, u64, "l", "h", "cvt.f64.f16", kF16)      \
  X(F16F32, u32, u16, "h", "r", "cvt.rn.f16.f32", kF32)   \
  X(F32F16, u16, u32, "r", "h", "cvt.f32.f16", kF16)      \
  X(Bf16F32, u32, u16, "h", "r", "cvt.rn.bf16.f32", kF32) \
  X(F32Bf16, u16, u32, "r", "h", "cvt.f32.bf16", kBf16)   \
  X(TfRna, u32, u32, "r", "r", "cvt.rna.tf32.f32", kF32)  \
  X(TfRn, u32, u32, "r", "r", "cvt.rn.tf32.f32", kF32)    \
  X(TfRz, u32, u32, "r", "r", "cvt.rz.tf32.f32", kF32)    \
  X(RniF32, u32, u32, "r", "r", "cvt.rni.f32.f32", kF32)  \
  X(RniF64, u64, u64, "l", "l", "cvt.rni.f64.f64", kF64)  \
  X(RniF16, u16, u16, "h", "h", "cvt.rni.f16.f16", kF16)  \
  X(SatF32, u32, u32, "r", "r", "cvt.sat.f32.f32", kF32)  \
  X(FtzF32, u32, u32, "r", "r", "cvt.ftz.f32.f32", kF32)  \
  X(SqrtF32, u32, u32, "r", "r", "sqrt.rn.f32", kF32)     \
  X(SqrtF64, u64, u64, "l", "l", "sqrt.rn.f64", kF64)     \
  X(RcpF32, u32, u32, "r", "r", "rcp.rn.f32", kF32)       \
  X(RcpF64, u64, u64, "l", "l", "rcp.rn.f64", kF64)
#define BINARIES(X)                                          \
  X(AddF64, u64, "l", "add.rn.f64", kF64)                    \
  X(SubF64, u64, "l", "sub.rn.f64", kF64)                    \
  X(MulF64, u64, "l", "mul.rn.f64", kF64)                    \
  X(DivF64, u64, "l", "div.rn.f64", kF64)                    \
  X(MinF64, u64, "l", "min.f64", kF64)                       \
  X(MaxF64, u64, "l", "max.f64", kF64)                       \
  X(CopyF64, u64, "l", "copysign.f64", kF64)                 \
  X(AddF32, u32, "r", "add.rn.f32", kF32)                    \
  X(DivF32, u32, "r", "div.rn.f32", kF32)                    \
  X(MinF32, u32, "r", "min.f32", kF32)                       \
  X(MaxNanF32, u32, "r", "max.NaN.f32", kF32)                \
  X(MaxXorF32, u32, "r", "max.xorsign.abs.f32", kF32)        \
  X(MinNanXorF32, u32, "r", "min.NaN.xorsign.abs.f32", kF32) \
  X(CopyF32, u32, "r", "copysign.f32", kF32)                 \
  X(AddF16, u16, "h", "add.rn.f16", kF16)                    \
  X(MinF16, u16, "h", "min.f16", kF16)                       \
  X(MaxXorF16, u16, "h", "max.xorsign.abs.f16", kF16)        \
  X(MaxNanXorF16, u16, "h", "max.NaN.xorsign.abs.f16", kF16) \
  X(MaxXorBf16, u16, "h", "max.xorsign.abs.bf16", kBf16)     \
  X(MaxNanBf16, u16, "h", "max.NaN.bf16", kBf16)
#define TERNARIES(X)                      \
  X(FmaF64, u64, "l", "fma.rn.f64", kF64) \
  X(FmaF32, u32, "r", "fma.rn.f32", kF32) \
  X(FmaF16, u16, "h", "fma.rn.f16", kF16) \
  X(FmaBf16, u16, "h", "fma.rn.bf16", kBf16)

#define DEFINE_UNARY(id, In, Out, to, from, name, values) UNARY(id, In, Out, to, from, name)
#define DEFINE_BINARY(id, T, c, name, values) BINARY(id, T, c, name)
#define DEFINE_TERNARY(id, T, c, name, values) TERNARY(id, T, c, name)
UNARIES(DEFINE_UNARY)
BINARIES(DEFINE_BINARY)
TERNARIES(DEFINE_TERNARY)

// A reduction on a cell that holds the first operand; what the cell holds then.
__device__ u64 cells[1024];
#define ATOMIC(id, T, c, space, name)                                                                     \
  struct id {                                                                                             \
    __device__ static T of(T a, T b, T) {                                                                 \
      __shared__ u64 of_block[128];                                                                       \
      u64* global = &cells[threadIdx.x + blockIdx.x * blockDim.x];                                        \
      u64* cell = space[0] == 's' ? &of_block[threadIdx.x] : global;                                      \
      *reinterpret_cast<volatile T*>(cell) = a;                                                           \
      if (space[0] == 's')                                                                                \
        asm volatile(                                                                                     \
            "red.shared." name " [%0], %1;" ::"r"(static_cast<u32>(__cvta_generic_to_shared(cell))), c(b) \
            : "memory");                                                                                  \
      else                                                                                                \
        asm volatile("red.global." name " [%0], %1;" ::"l"(cell), c(b) : "memory");                       \
      return *reinterpret_cast<volatile T*>(cell);                                                        \
    }                                                                                                     \
  };
#define ATOMICS(X)                                              \
  X(SharedAddF64, u64, "l", "shared", "add.f64", kF64)          \
  X(GlobalAddF64, u64, "l", "global", "add.f64", kF64)          \
  X(SharedAddF32, u32, "r", "shared", "add.f32", kF32)          \
  X(GlobalAddF32, u32, "r", "global", "add.f32", kF32)          \
  X(SharedAddF16, u16, "h", "shared", "add.noftz.f16", kF16)    \
  X(GlobalAddF16, u16, "h", "global", "add.noftz.f16", kF16)    \
  X(SharedAddBf16, u16, "h", "shared", "add.noftz.bf16", kBf16) \
  X(GlobalAddBf16, u16, "h", "global", "add.noftz.bf16", kBf16)
#define DEFINE_ATOMIC(id, T, c, space, name, values) ATOMIC(id, T, c, space, name)
ATOMICS(DEFINE_ATOMIC)

}  // namespace

int main() {
#define SHOW_UNARY(id, In, Out, to, from, name, values) show<id, In, Out>(name, 1, values);
#define SHOW_BINARY(id, T, c, name, values) show<id, T, T>(name, 2, values);
#define SHOW_TERNARY(id, T, c, name, values) show<id, T, T>(name, 3, values);
  UNARIES(SHOW_UNARY)
  BINARIES(SHOW_BINARY)
  TERNARIES(SHOW_TERNARY)
#define SHOW_ATOMIC(id, T, c, space, name, values) show<id, T, T>("red." space "." name, 2, values);
  ATOMICS(SHOW_ATOMIC)
}
