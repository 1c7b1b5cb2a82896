// Device code that another file calls: linked by nvcc's device linker.
__device__ float factor = 3.0f;

__device__ float scaled(float x) {
  return factor * x;
}
