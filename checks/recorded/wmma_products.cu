// wmma: loads of every layout, products of every shape and type to the last bit, stores; and launches of wrong sizes by <<<>>>.
#include <mma.h>

#include <string>

#include "record.cuh"

using namespace record;
using namespace nvcuda;

namespace {

// The same bits everywhere; numbers of moderate size, now and then a large or a small one.
uint32_t random_bits(uint32_t i, uint32_t seed) {
  uint32_t x = i * 2654435761u ^ seed * 2246822519u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  return x * 3266489917u ^ x >> 16;
}
float random_float(uint32_t i, uint32_t seed) {
  const uint32_t r = random_bits(i, seed);
  const int exponent = static_cast<int>(r % 13) - 6 + (r >> 20 & 15 ? 0 : static_cast<int>(r >> 24 & 7) - 8);
  return ldexpf(1 + static_cast<float>(r >> 9 & 0x7FF) / 2048, exponent) * (r & 0x80000000u ? -1 : 1);
}

template <int M, int N, int K, class T, class Memory, class C, class LayoutA, class LayoutB>
__global__ void product(const Memory* a_in, const Memory* b_in, const C* c_in, C* d_out, int pitch,
                        bool columns) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> a;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> b;
  wmma::fragment<wmma::accumulator, M, N, K, C> c;
  const auto layout = columns ? wmma::mem_col_major : wmma::mem_row_major;
  wmma::load_matrix_sync(a, a_in, pitch);
  wmma::load_matrix_sync(b, b_in, pitch);
  wmma::load_matrix_sync(c, c_in, pitch, layout);
  if constexpr (std::is_same<T, wmma::precision::tf32>::value) {
    for (int i = 0; i < a.num_elements; ++i) a.x[i] = wmma::__float_to_tf32(a.x[i]);
    for (int i = 0; i < b.num_elements; ++i) b.x[i] = wmma::__float_to_tf32(b.x[i]);
  }
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(d_out, c, pitch, layout);
}

template <class T>
std::vector<T> matrix(uint32_t seed) {
  std::vector<T> values(48 * 48);
  for (uint32_t i = 0; i < values.size(); ++i)
    if constexpr (sizeof(T) == 1 || std::is_same<T, int>::value)
      values[i] = static_cast<T>(random_bits(i, seed) >> 8);
    else
      values[i] = T(random_float(i, seed));
  return values;
}

template <int M, int N, int K, class T, class Memory, class C, class LayoutA, class LayoutB>
void show_layout(const char* type, const char* layouts) {
  for (bool columns : {false, true}) {
    std::printf("%s m%dn%dk%d %s, c by %s:", type, M, N, K, layouts, columns ? "columns" : "rows");
    for (uint32_t seed = 1; seed <= 4; ++seed) {
      Buffer<Memory> a(matrix<Memory>(seed)), b(matrix<Memory>(seed + 100));
      Buffer<C> c(matrix<C>(seed + 200)), d(std::vector<C>(48 * 48, C(0)));
      product<M, N, K, T, Memory, C, LayoutA, LayoutB>
          <<<1, 32>>>(a.get(), b.get(), c.get(), d.get(), 48, columns);
      finish_kernel("product");
      std::printf(" %08x", checksum(d.download()));
    }
    std::printf("\n");
  }
}

template <class T, class C>
void show_shapes(const char* type) {
  show_layout<16, 16, 16, T, T, C, wmma::row_major, wmma::col_major>(type, "row col");
  show_layout<32, 8, 16, T, T, C, wmma::row_major, wmma::col_major>(type, "row col");
  show_layout<8, 32, 16, T, T, C, wmma::row_major, wmma::col_major>(type, "row col");
}

__global__ void empty() {}

void show_launch(unsigned grid, unsigned block, size_t shared) {
  empty<<<grid, block, shared>>>();
  std::printf("<<<%u, %u, %zu>>>: %s\n", grid, block, shared, cudaGetErrorName(cudaGetLastError()));
}

}  // namespace

int main() {
  show_shapes<__half, float>("f16 to f32");
  show_shapes<__half, __half>("f16 to f16");
  show_shapes<__nv_bfloat16, float>("bf16");
  show_shapes<signed char, int>("s8");
  show_shapes<unsigned char, int>("u8");
  show_layout<16, 16, 16, __half, __half, float, wmma::row_major, wmma::row_major>("f16 to f32", "row row");
  show_layout<32, 8, 16, __half, __half, float, wmma::col_major, wmma::row_major>("f16 to f32", "col row");
  show_layout<8, 32, 16, __half, __half, float, wmma::col_major, wmma::col_major>("f16 to f32", "col col");
  show_layout<16, 16, 8, wmma::precision::tf32, float, float, wmma::row_major, wmma::row_major>("tf32",
                                                                                                "row row");
  show_layout<16, 16, 8, wmma::precision::tf32, float, float, wmma::col_major, wmma::col_major>("tf32",
                                                                                                "col col");
  show_launch(1, 1, 0);
  show_launch(1, 1025, 0);
  show_launch(1, 0, 0);
  show_launch(0, 32, 0);
  show_launch(0x80000000u, 32, 0);
  show_launch(1, 32, 49153);
  show_launch(1, 32, 300000);
}
