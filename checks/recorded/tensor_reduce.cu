// cp.reduce.async.bulk.tensor for every operation and element type that go together, with clipped boxes.
#include "record.cuh"

using namespace record;

namespace {

constexpr const char* kOps[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};

__device__ void reduce(int op, const CUtensorMap* map, int x, int y, uint32_t src) {
#define RECORD_REDUCE(number, name)                                      \
  if (op == number)                                                      \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." name \
               ".tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),      \
               "r"(x), "r"(y), "r"(src)                                  \
               : "memory")
  RECORD_REDUCE(0, "add");
  RECORD_REDUCE(1, "min");
  RECORD_REDUCE(2, "max");
  RECORD_REDUCE(3, "inc");
  RECORD_REDUCE(4, "dec");
  RECORD_REDUCE(5, "and");
  RECORD_REDUCE(6, "or");
  RECORD_REDUCE(7, "xor");
#undef RECORD_REDUCE
}

__global__ void run(const __grid_constant__ CUtensorMap map, int op, int x, int y, const uint32_t* values) {
  __shared__ alignas(128) uint32_t tile[128];
  tile[threadIdx.x] = values[threadIdx.x];
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    reduce(op, &map, x, y, ptx::smem_addr(tile));
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}

struct Pair {
  int type;
  const char* name;
  unsigned bytes;
  const char* ops;  // digits: indices into kOps
};

}  // namespace

int main() {
  const Pair pairs[] = {{CU_TENSOR_MAP_DATA_TYPE_UINT32, "UINT32", 4, "01234567"},
                        {CU_TENSOR_MAP_DATA_TYPE_INT32, "INT32", 4, "012567"},
                        {CU_TENSOR_MAP_DATA_TYPE_UINT64, "UINT64", 8, "012567"},
                        {CU_TENSOR_MAP_DATA_TYPE_INT64, "INT64", 8, "12"},
                        {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, "FLOAT16", 2, "012"},
                        {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, "BFLOAT16", 2, "012"},
                        {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, "FLOAT32", 4, "0"}};
  for (const Pair& pair : pairs) {
    for (const char* digit = pair.ops; *digit; ++digit) {
      const int op = *digit - '0';
      std::vector<uint32_t> memory(128), values(128);
      for (uint32_t i = 0; i < 128; ++i) {
        memory[i] = (i * 2654435761u) & 0xBFFFBFFF;  // no infinity or NaN in any float type
        values[i] = (~i * 2246822519u) & 0xBFFFBFFF;
      }
      Buffer<uint32_t> at(memory), with(values);
      MapArguments a;
      a.type = pair.type;
      a.address = at.get();
      a.size[0] = 64 / pair.bytes - 1;
      a.size[1] = 8;
      a.stride_bytes[0] = 64;
      a.box[0] = 32 / pair.bytes;
      a.box[1] = 8;
      a.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
      CUtensorMap map;
      const int code = encode(&map, a);
      std::printf("%s %s: encode %d", kOps[op], pair.name, code);
      for (int x : {0, static_cast<int>(48 / pair.bytes)}) {
        run<<<1, 128>>>(map, op, x, 2, with.get());
        finish_kernel(kOps[op]);
        auto result = at.download();
        std::printf(", at (%d, 2) %08x: %08x %08x", x, checksum(result), result[32], result[47]);
      }
      std::printf("\n");
    }
  }
}
