// Integer intrinsics against plain loops on the host: counts, reversals, permutes, funnel shifts, dot products,
// multi-word arithmetic, saturation, packed bytes.
#include <cstdint>

#include "program.cuh"

constexpr int kResults = 24;

__global__ void tricks(const unsigned* in, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned a = in[i], b = in[(i + 1) % n], c = in[(i + 2) % n];
  unsigned* o = out + i * kResults;
  o[0] = __popc(a);
  o[1] = __clz(a);
  o[2] = __ffs(a);
  o[3] = __brev(a);
  o[4] = __byte_perm(a, b, 0x5410);
  o[5] = __byte_perm(a, b, c & 0x7777);
  o[6] = __funnelshift_l(a, b, c);
  o[7] = __funnelshift_r(a, b, c & 63);
  o[8] = __dp4a(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c));
  o[9] = __dp4a(a, b, c);
  o[10] = __umulhi(a, b);
  o[11] = __mulhi(static_cast<int>(a), static_cast<int>(b));
  o[12] = __sad(static_cast<int>(a), static_cast<int>(b), c);
  o[13] = __hadd(static_cast<int>(a), static_cast<int>(b));
  unsigned long long wide = (static_cast<unsigned long long>(a) << 32 | b) * c + a;
  o[14] = static_cast<unsigned>(wide >> 32);
  o[15] = __popcll(wide);
  o[16] = __clzll(static_cast<long long>(wide));
  o[17] = __vadd4(a, b);
  o[18] = __vmaxs2(a, b);
  o[19] = __vcmpeq4(a, a ^ (b & 0x00FF00FF));
  o[20] = __funnelshift_lc(a, b, c & 63);
  o[21] = (a >> (c & 31)) | (b << (c >> 27));
  o[22] = a / (b | 1) + a % (c | 1);
  o[23] = static_cast<unsigned>(static_cast<int>(a) / static_cast<int>(b | 1)) ^
          static_cast<unsigned>((static_cast<long long>(a) << 20) / static_cast<int>(c | 1));
}

int main() {
  const int n = 300;
  std::vector<unsigned> in(n);
  unsigned x = 1;
  for (unsigned& v : in) v = x = x * 1664525u + 1013904223u;
  in[0] = 0;
  in[1] = ~0u;
  in[2] = 1;
  in[3] = 0x80000000u;
  unsigned* device = to_device(std::vector<unsigned>(n * kResults));
  tricks<<<3, 100>>>(to_device(in), device, n);
  OK(cudaGetLastError());
  std::vector<unsigned> got = to_host(device, n * kResults);
  auto byte = [](unsigned v, int i) { return v >> (8 * i) & 255; };
  auto sbyte = [](unsigned v, int i) { return static_cast<int>(static_cast<int8_t>(v >> (8 * i))); };
  for (int i = 0; i < n; ++i) {
    unsigned a = in[i], b = in[(i + 1) % n], c = in[(i + 2) % n], w[kResults] = {};
    for (int k = 0; k < 32; ++k) {
      w[0] += a >> k & 1;
      w[3] |= (a >> k & 1) << (31 - k);
      if (w[2] == 0 && (a >> k & 1)) w[2] = k + 1;
    }
    while (w[1] < 32 && !(a >> (31 - w[1]) & 1)) ++w[1];
    uint64_t both = static_cast<uint64_t>(b) << 32 | a;
    for (int k = 0; k < 4; ++k) {
      w[4] |= (static_cast<unsigned>(both >> (8 * (0x5410 >> (4 * k) & 7))) & 255) << (8 * k);
      w[5] |= (static_cast<unsigned>(both >> (8 * (c >> (4 * k) & 7))) & 255) << (8 * k);
      w[8] += static_cast<unsigned>(sbyte(a, k) * sbyte(b, k));
      w[9] += byte(a, k) * byte(b, k);
      w[17] |= ((byte(a, k) + byte(b, k)) & 255) << (8 * k);
      w[19] |= (byte(a, k) == byte(a ^ (b & 0x00FF00FF), k) ? 255u : 0u) << (8 * k);
    }
    w[6] = static_cast<unsigned>(both << (c & 31) >> 32);
    w[7] = static_cast<unsigned>(both >> (c & 31));
    w[8] += c;
    w[9] += c;
    w[10] = static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
    int64_t sa = static_cast<int>(a), sb = static_cast<int>(b);
    w[11] = static_cast<unsigned>(static_cast<uint64_t>(sa * sb) >> 32);
    w[12] = static_cast<unsigned>(sa < sb ? sb - sa : sa - sb) + c;
    w[13] = static_cast<unsigned>((sa + sb) >> 1);
    uint64_t wide = (static_cast<uint64_t>(a) << 32 | b) * c + a;
    w[14] = static_cast<unsigned>(wide >> 32);
    w[15] = static_cast<unsigned>(__builtin_popcountll(wide));
    w[16] = wide ? static_cast<unsigned>(__builtin_clzll(wide)) : 64;
    for (int k = 0; k < 2; ++k) {
      auto p = static_cast<int16_t>(a >> (16 * k)), q = static_cast<int16_t>(b >> (16 * k));
      w[18] |= static_cast<unsigned>(static_cast<uint16_t>(p > q ? p : q)) << (16 * k);
    }
    w[20] = (c & 63) >= 32 ? a : static_cast<unsigned>(both << (c & 63) >> 32);
    w[21] = (a >> (c & 31)) | (b << (c >> 27));
    w[22] = a / (b | 1) + a % (c | 1);
    int divisor = static_cast<int>(b | 1);
    w[23] = (divisor == -1 ? 0u - a : static_cast<unsigned>(static_cast<int>(a) / divisor)) ^
            static_cast<unsigned>((static_cast<int64_t>(a) << 20) / static_cast<int>(c | 1));
    for (int k = 0; k < kResults; ++k) expect("result", i * 100 + k, got[i * kResults + k], w[k]);
  }
  return finish("bit_tricks");
}
