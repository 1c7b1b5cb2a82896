// Virtual functions, function pointers (on the stack, in __device__ variables, in tables), recursion, placement new,
// and functions that are not inlined and return structures.
#include <new>

#include "program.cuh"

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual float area() const = 0;
  __device__ virtual int corners() const { return 0; }
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
  __device__ int corners() const override { return 4; }
};
struct Disc : Shape {
  float radius;
  __device__ explicit Disc(float r) : radius(r) {}
  __device__ float area() const override { return 3.0f * radius * radius; }
};

__global__ void make_shapes(char* storage, Shape** shapes, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  if (i % 3 == 0)
    shapes[i] = new (storage + i * sizeof(Disc)) Disc(static_cast<float>(i));
  else
    shapes[i] = new (storage + i * sizeof(Disc)) Square(static_cast<float>(i));
}

// Another kernel than the one that made the objects.
__global__ void measure(Shape** shapes, float* area, int* corners, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  area[i] = shapes[i]->area();
  corners[i] = shapes[i]->corners();
}

using Operation = int (*)(int, int);
__device__ __noinline__ int add(int a, int b) {
  return a + b;
}
__device__ __noinline__ int multiply(int a, int b) {
  return a * b;
}
__device__ __noinline__ int power(int a, int b) {
  return b == 0 ? 1 : a * power(a, b - 1);
}
__device__ Operation table[3] = {add, multiply, power};
__device__ Operation chosen;

__global__ void choose(int which) {
  chosen = table[which];
}
__global__ void apply(int* out) {
  int i = threadIdx.x;
  Operation mine = i % 2 ? table[i % 3] : chosen;
  out[i] = mine(i % 7, i % 5);
}

__device__ __noinline__ long long fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
struct Pair {
  double a;
  int b;
  short c;
};
__device__ __noinline__ Pair make_pair_of(int i) {
  return {i * 0.5, i * 3, static_cast<short>(-i)};
}

__global__ void recursion(long long* fib, Pair* pairs) {
  int i = threadIdx.x;
  fib[i] = fibonacci(i % 13);
  pairs[i] = make_pair_of(i);
}

int power_on_host(int a, int b) {
  return b == 0 ? 1 : a * power_on_host(a, b - 1);
}

int main() {
  const int n = 40;
  char* storage = to_device(std::vector<char>(n * 16));
  Shape** shapes = to_device(std::vector<Shape*>(n));
  float* area = to_device(std::vector<float>(n));
  int* corners = to_device(std::vector<int>(n));
  make_shapes<<<1, 64>>>(storage, shapes, n);
  measure<<<1, 64>>>(shapes, area, corners, n);
  OK(cudaGetLastError());
  std::vector<float> areas = to_host(area, n);
  std::vector<int> corner_counts = to_host(corners, n);
  for (int i = 0; i < n; ++i) {
    expect("area", i, areas[i], static_cast<float>(i % 3 == 0 ? 3 * i * i : i * i));
    expect("corners", i, corner_counts[i], i % 3 == 0 ? 0 : 4);
  }

  int* results = to_device(std::vector<int>(64));
  choose<<<1, 1>>>(1);
  apply<<<1, 64>>>(results);
  OK(cudaGetLastError());
  std::vector<int> r = to_host(results, 64);
  for (int i = 0; i < 64; ++i) {
    int a = i % 7, b = i % 5, which = i % 2 ? i % 3 : 1;
    expect("pointer", i, r[i], which == 0 ? a + b : which == 1 ? a * b : power_on_host(a, b));
  }

  long long* fib = to_device(std::vector<long long>(32));
  Pair* pairs = to_device(std::vector<Pair>(32));
  recursion<<<1, 32>>>(fib, pairs);
  OK(cudaGetLastError());
  std::vector<long long> f = to_host(fib, 32);
  std::vector<Pair> p = to_host(pairs, 32);
  const int want[13] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144};
  for (int i = 0; i < 32; ++i) {
    expect("fibonacci", i, f[i], want[i % 13]);
    expect("pair.a", i, p[i].a, i * 0.5);
    expect("pair.b", i, p[i].b, i * 3);
    expect("pair.c", i, p[i].c, -i);
  }
  return finish("virtual_functions");
}
