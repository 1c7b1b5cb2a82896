// Which thread holds what: ldmatrix, stmatrix, movmatrix of numbered elements, and mma.sync on chosen bit patterns.
#include "wgmma_forms.cuh"

// Element (row, column) of matrix m is numbered 64 * m + 8 * row + column.
__global__ void fragments(uint32_t* out) {
  __shared__ alignas(16) uint16_t tile[4][8][8];
  __shared__ alignas(16) uint16_t copy[4][8][8];
  const int lane = threadIdx.x;
  const auto reset = [&] {
    __syncwarp();
    for (int i = lane; i < 256; i += 32) {
      (&tile[0][0][0])[i] = static_cast<uint16_t>(i);
      (&copy[0][0][0])[i] = 0xFFFF;
    }
    __syncwarp();
  };
  const uint32_t row = shared_address(tile[lane / 8][lane % 8]);
  // the rows in reverse order: an address belongs to its lane, not to its place
  const uint32_t reverse = shared_address(tile[lane / 8][7 - lane % 8]);
  const uint32_t to = shared_address(copy[lane / 8][lane % 8]);
  uint32_t r[4];
  int at = 0;
  const auto put = [&](int count) {
    for (int i = 0; i < count; ++i) out[32 * at++ + lane] = r[i];
  };
  const auto put_copy = [&] {
    __syncwarp();
    for (int i = 0; i < 4; ++i) out[32 * at++ + lane] = reinterpret_cast<uint32_t*>(copy)[32 * i + lane];
  };
  reset();
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(row) : "memory");
  put(1);
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(row)
               : "memory");
  put(1);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(row)
               : "memory");
  put(2);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(reverse)
               : "memory");
  put(4);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
  put(4);
  for (int i = 0; i < 4; ++i)
    r[i] = static_cast<uint32_t>(64 * i + 2 * lane) | static_cast<uint32_t>(64 * i + 2 * lane + 1) << 16;
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%1], {%0};" : : "r"(r[0]), "r"(to) : "memory");
  put_copy();
  reset();
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%2], {%0, %1};"
               :
               : "r"(r[0]), "r"(r[1]), "r"(to)
               : "memory");
  put_copy();
  reset();
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%4], {%0, %1, %2, %3};"
               :
               : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(to)
               : "memory");
  put_copy();
  reset();
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%4], {%0, %1, %2, %3};"
               :
               : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(to)
               : "memory");
  put_copy();
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[0]) : "r"(r[1]));
  put(1);
}
constexpr int kFragmentWords = 1 + 1 + 2 + 4 + 4 + 4 * 4 + 1;

// ---- mma.sync: A and B registers from the fixed sequence, masked to finite numbers of moderate size
enum Kind { kBf16, kBf16K8, kF16, kF16ToF16, kTf32, kTf32K4, kE4m3, kS8, kU8S8Saturated, kKinds };
const char* kNames[kKinds] = {"bf16 k16", "bf16 k8",  "f16 k16", "f16 k16 to f16",      "tf32 k8",
                              "tf32 k4",  "e4m3 k32", "s8 k32",  "u8 s8 k16, satfinite"};

__global__ void multiply(int kind, const uint32_t* in, uint32_t* out) {
  const int lane = threadIdx.x;
  const uint32_t *a = in + lane * 4, *b = in + 128 + lane * 2, *c = in + 192 + lane * 4;
  float f[4];
  uint32_t u[4] = {};
  memcpy(f, c, 16);
#define A4 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])
#define A2 "r"(a[0]), "r"(a[1])
#define B2 "r"(b[0]), "r"(b[1])
#define F4 "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
#define MMA_4_2(form) \
  "mma.sync.aligned." form " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#define MMA_2_1(form) "mma.sync.aligned." form " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
  switch (kind) {
    case kBf16:
      asm volatile(MMA_4_2("m16n8k16.row.col.f32.bf16.bf16.f32") : F4 : A4, B2);
      break;
    case kBf16K8:
      asm volatile(MMA_2_1("m16n8k8.row.col.f32.bf16.bf16.f32") : F4 : A2, "r"(b[0]));
      break;
    case kF16:
      asm volatile(MMA_4_2("m16n8k16.row.col.f32.f16.f16.f32") : F4 : A4, B2);
      break;
    case kF16ToF16:
      u[0] = c[0], u[1] = c[1];
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
          : "+r"(u[0]), "+r"(u[1])
          : A4, B2);
      break;
    case kTf32:
      asm volatile(MMA_4_2("m16n8k8.row.col.f32.tf32.tf32.f32") : F4 : A4, B2);
      break;
    case kTf32K4:
      asm volatile(MMA_2_1("m16n8k4.row.col.f32.tf32.tf32.f32") : F4 : A2, "r"(b[0]));
      break;
    case kE4m3:
      asm volatile(MMA_4_2("m16n8k32.row.col.f32.e4m3.e4m3.f32") : F4 : A4, B2);
      break;
    case kS8:
      for (int i = 0; i < 4; ++i) u[i] = c[i];
      asm volatile(MMA_4_2("m16n8k32.row.col.s32.s8.s8.s32")
                   : "+r"(u[0]), "+r"(u[1]), "+r"(u[2]), "+r"(u[3])
                   : A4, B2);
      break;
    default:
      for (int i = 0; i < 4; ++i) u[i] = i & 1 ? 0x7FFFFF00u : 0x800000FFu;
      asm volatile(MMA_2_1("m16n8k16.row.col.satfinite.s32.u8.s8.s32")
                   : "+r"(u[0]), "+r"(u[1]), "+r"(u[2]), "+r"(u[3])
                   : A2, "r"(b[0]));
  }
  if (kind != kF16ToF16 && kind != kS8 && kind != kU8S8Saturated) memcpy(u, f, 16);
  for (int i = 0; i < 4; ++i) out[lane * 4 + i] = u[i];
}

// Exponents near that of 1, so that sums need rounding and nothing overflows.
uint32_t operand_word(int kind, uint32_t r) {
  switch (kind) {
    case kBf16:
    case kBf16K8:
      return (r & 0x81FF81FF) + 0x3E803E80;
    case kF16:
    case kF16ToF16:
      return (r & 0x8FFF8FFF) + 0x34003400;
    case kTf32:
    case kTf32K4:
      return (r & 0x81FFFFFF) + 0x3E800000;
    case kE4m3:
      return (r & 0x9F9F9F9F) + 0x28282828;
    default:
      return r * 2654435761u;
  }
}

int main() {
  uint32_t *in, *out;
  check(cudaMalloc(&in, 320 * 4), "cudaMalloc");
  check(cudaMalloc(&out, kFragmentWords * 128), "cudaMalloc");
  fragments<<<1, 32>>>(out);
  std::vector<uint32_t> words(kFragmentWords * 32);
  check(cudaMemcpy(words.data(), out, words.size() * 4, cudaMemcpyDeviceToHost), "fragments");
  const char* const names[] = {"ldmatrix x1",
                               "ldmatrix x1 trans",
                               "ldmatrix x2",
                               "",
                               "ldmatrix x4, rows reversed",
                               "",
                               "",
                               "",
                               "ldmatrix x4 trans",
                               "",
                               "",
                               "",
                               "stmatrix x1",
                               "",
                               "",
                               "",
                               "stmatrix x2 trans",
                               "",
                               "",
                               "",
                               "stmatrix x4",
                               "",
                               "",
                               "",
                               "stmatrix x4 trans",
                               "",
                               "",
                               "",
                               "movmatrix"};
  for (int i = 0; i < kFragmentWords; ++i) {
    if (*names[i]) std::printf("%s\n", names[i]);
    std::printf(" ");
    for (int lane = 0; lane < 32; ++lane) std::printf(" %08x", words[static_cast<size_t>(32 * i + lane)]);
    std::printf("\n");
  }
  for (int kind = 0; kind < kKinds; ++kind) {
    Sequence s = {static_cast<uint64_t>(kind) + 5};
    std::vector<uint32_t> input(320), result(128);
    for (size_t i = 0; i < 320; ++i) {
      const uint32_t r = s.next() * 2 + (s.next() & 1);
      input[i] = i < 192             ? operand_word(kind, r)
                 : kind == kF16ToF16 ? operand_word(kF16, r)
                                     : (r & 0x81FFFFFF) + 0x3F800000;
    }
    check(cudaMemcpy(in, input.data(), 320 * 4, cudaMemcpyHostToDevice), "copy");
    multiply<<<1, 32>>>(kind, in, out);
    check(cudaMemcpy(result.data(), out, 128 * 4, cudaMemcpyDeviceToHost), kNames[kind]);
    std::printf("mma.sync %s checksum %016llx\n", kNames[kind],
                static_cast<unsigned long long>(checksum(result.data(), 128)));
    for (int row = 0; row < 4; ++row) {
      std::printf(" ");
      for (int i = 0; i < 16; ++i) std::printf(" %08x", result[static_cast<size_t>(16 * row + i)]);
      std::printf("\n");
    }
  }
  return 0;
}
