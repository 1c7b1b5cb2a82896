// What `make bench-emulator` runs besides the lessons: kernels as CUDA courses begin with them, whose threads exchange data
// through shared memory. Usage: ordinary_kernels product|reduction|transpose|scan REPEAT.
// Prints the milliseconds of each launch, one a line. Exit: 0 if the kernel computed what it should, 1 if not, 2 for bad
// arguments or environment.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

// Small whole numbers, so that every sum is exact, in whatever order it is made.
float element(size_t i) {
  return static_cast<float>(i * 2654435761u >> 7 & 7);
}

// ---- c = a * b, tile by tile; all of them kSize x kSize, row-major
constexpr int kSize = 128, kTile = 16;

__global__ void product(const float* a, const float* b, float* c) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < kSize; k += kTile) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * kSize + k + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * kSize + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  c[row * kSize + column] = sum;
}

bool product_right(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c) {
  for (int row = 0; row < kSize; ++row)
    for (int column = 0; column < kSize; ++column) {
      float sum = 0;
      for (int k = 0; k < kSize; ++k) sum += a[row * kSize + k] * b[k * kSize + column];
      if (c[row * kSize + column] != sum) return false;
    }
  return true;
}

// ---- out[i]: the sum of the elements of CTA i
constexpr int kCount = 1 << 18, kThreads = 256, kCtas = 64;

__global__ void reduction(const float* in, float* out) {
  __shared__ float part[kThreads];
  float sum = 0;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < kCount; i += kCtas * kThreads) sum += in[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

bool reduction_right(const std::vector<float>& in, const std::vector<float>& out) {
  std::vector<float> sums(kCtas);
  for (int i = 0; i < kCount; ++i) sums[i / kThreads % kCtas] += in[i];
  return std::memcmp(sums.data(), out.data(), sums.size() * sizeof(float)) == 0;
}

// ---- out = in, transposed; kSide x kSide. A row of the tile has one element more, against bank conflicts.
constexpr int kSide = 512, kSquare = 32, kRows = 8;

__global__ void transpose(const float* in, float* out) {
  __shared__ float tile[kSquare][kSquare + 1];
  const int x = blockIdx.x * kSquare + threadIdx.x, y = blockIdx.y * kSquare + threadIdx.y;
  for (int i = 0; i < kSquare; i += kRows) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * kSide + x];
  __syncthreads();
  const int to_x = blockIdx.y * kSquare + threadIdx.x, to_y = blockIdx.x * kSquare + threadIdx.y;
  for (int i = 0; i < kSquare; i += kRows)
    out[(to_y + i) * kSide + to_x] = tile[threadIdx.x][threadIdx.y + i];
}

bool transpose_right(const std::vector<float>& in, const std::vector<float>& out) {
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column)
      if (out[column * kSide + row] != in[row * kSide + column]) return false;
  return true;
}

// ---- out[i]: the sum of the elements of its CTA up to in[i]
__global__ void scan(const float* in, float* out) {
  __shared__ float sums[2][kThreads];
  const int index = blockIdx.x * kThreads + threadIdx.x;
  int from = 0;
  sums[from][threadIdx.x] = in[index];
  __syncthreads();
  for (int step = 1; step < kThreads; step *= 2) {
    const float below = threadIdx.x >= step ? sums[from][threadIdx.x - step] : 0;
    sums[from ^ 1][threadIdx.x] = sums[from][threadIdx.x] + below;
    from ^= 1;
    __syncthreads();
  }
  out[index] = sums[from][threadIdx.x];
}

bool scan_right(const std::vector<float>& in, const std::vector<float>& out) {
  float sum = 0;
  for (int i = 0; i < kCount; ++i) {
    sum = (i % kThreads ? sum : 0) + in[i];
    if (out[i] != sum) return false;
  }
  return true;
}

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "ordinary_kernels: %s: %s\n", call, cudaGetErrorString(error));
  std::exit(2);
}

struct Buffer {
  std::vector<float> host;
  float* device = nullptr;

  explicit Buffer(size_t elements) : host(elements) {
    for (size_t i = 0; i < elements; ++i) host[i] = element(i);
    check(cudaMalloc(&device, bytes()), "cudaMalloc");
    check(cudaMemcpy(device, host.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  size_t bytes() const { return host.size() * sizeof(float); }
  void download() { check(cudaMemcpy(host.data(), device, bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy"); }
};

}  // namespace

int main(int argc, char** argv) {
  const char* name = argc == 3 ? argv[1] : "";
  const auto asked = [name](const char* kernel) { return std::strcmp(name, kernel) == 0; };
  const int repeat = argc == 3 ? std::atoi(argv[2]) : 0;
  if (!(asked("product") || asked("reduction") || asked("transpose") || asked("scan")) || repeat < 1) {
    std::fprintf(stderr,
                 "usage: ordinary_kernels product|reduction|transpose|scan REPEAT, REPEAT at least 1\n");
    return 2;
  }
  Buffer in(kCount), more(kCount),
      out(asked("product")     ? kSize * kSize
          : asked("reduction") ? kCtas
                               : kCount);
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "cudaEventCreate");
  check(cudaEventCreate(&stop), "cudaEventCreate");
  for (int i = 0; i < repeat; ++i) {
    check(cudaEventRecord(start), "cudaEventRecord");
    if (asked("product"))
      product<<<dim3(kSize / kTile, kSize / kTile), dim3(kTile, kTile)>>>(in.device, more.device, out.device);
    else if (asked("reduction"))
      reduction<<<kCtas, kThreads>>>(in.device, out.device);
    else if (asked("transpose"))
      transpose<<<dim3(kSide / kSquare, kSide / kSquare), dim3(kSquare, kRows)>>>(in.device, out.device);
    else
      scan<<<kCount / kThreads, kThreads>>>(in.device, out.device);
    check(cudaEventRecord(stop), "cudaEventRecord");
    check(cudaEventSynchronize(stop), "the kernel");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start, stop), "cudaEventElapsedTime");
    std::printf("%.6f\n", ms);
  }
  out.download();
  if (asked("product")     ? product_right(in.host, more.host, out.host)
      : asked("reduction") ? reduction_right(in.host, out.host)
      : asked("transpose") ? transpose_right(in.host, out.host)
                           : scan_right(in.host, out.host))
    return 0;
  std::fprintf(stderr, "ordinary_kernels: wrong result\n");
  return 1;
}
