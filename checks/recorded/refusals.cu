// What the hardware refuses at run time, each probe in a process of its own: "refused", or "done" with a checksum of
// what the copy wrote.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "record.cuh"

using namespace record;

namespace {

// Runs `body` in a child process, where a fault of the GPU does no further harm.
void probe(const char* name, const std::function<uint32_t()>& body) {
  std::fflush(stdout);
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    const uint32_t sum = body();  // exits when the GPU reports an error
    if (write(ends[1], &sum, sizeof sum) != sizeof sum) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  uint32_t sum = 0;
  const bool done = read(ends[0], &sum, sizeof sum) == sizeof sum;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (done)
    std::printf("%s: done %08x\n", name, sum);
  else
    std::printf("%s: refused\n", name);
}

// A 64 x 32 tensor of 2-byte elements in rows of 128 bytes, box 16 x 8.
MapArguments matrix(const void* tensor, int swizzle = 0) {
  MapArguments a;
  a.address = tensor;
  a.size[0] = 64;
  a.size[1] = 32;
  a.stride_bytes[0] = 128;
  a.box[0] = 16;
  a.box[1] = 8;
  a.swizzle = swizzle;
  return a;
}

uint32_t load_at(Corner start, uint32_t offset, int type = CU_TENSOR_MAP_DATA_TYPE_UINT16, int swizzle = 0,
                 int rank = 2) {
  Buffer<uint16_t> tensor(numbered(64 * 32));
  MapArguments a = matrix(tensor.get(), swizzle);
  a.type = type;
  CUtensorMap map;
  if (encode(&map, a) != 0) std::exit(1);
  return checksum(load(map, rank, start, offset).window);
}

uint32_t store_at(Corner start, uint32_t offset) {
  Buffer<uint16_t> tensor(std::vector<uint16_t>(64 * 32, 0xEEEE));
  CUtensorMap map;
  if (encode(&map, matrix(tensor.get())) != 0) std::exit(1);
  std::vector<uint32_t> window(kWindowBytes / 4);
  for (size_t i = 0; i < window.size(); ++i) window[i] = static_cast<uint32_t>(2 * i | (2 * i + 1) << 16);
  store(map, 2, start, offset, window);
  return checksum(tensor.download());
}

__global__ void reduce(const __grid_constant__ CUtensorMap map, int op) {
  __shared__ alignas(128) uint32_t tile[64];
  tile[threadIdx.x] = threadIdx.x * 2654435761u & 0xBFFFBFFFu;
  ptx::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
#define RECORD_REDUCE(number, name)                                      \
  if (op == number)                                                      \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." name \
               ".tile.bulk_group [%0, {%1, %1}], [%2];" ::"l"(&map),     \
               "r"(0), "r"(ptx::smem_addr(tile))                         \
               : "memory")
    RECORD_REDUCE(0, "add");
    RECORD_REDUCE(1, "min");
    RECORD_REDUCE(2, "inc");
    RECORD_REDUCE(3, "and");
#undef RECORD_REDUCE
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}

uint32_t reduce_type(int op, int type, unsigned bytes) {
  std::vector<uint32_t> memory(64);
  for (uint32_t i = 0; i < 64; ++i) memory[i] = ~i * 2246822519u & 0xBFFFBFFFu;
  Buffer<uint32_t> tensor(memory);
  MapArguments a;
  a.type = type;
  a.address = tensor.get();
  a.size[0] = a.box[0] = 32 / bytes;
  a.size[1] = a.box[1] = 8;
  a.stride_bytes[0] = 32;
  CUtensorMap map;
  if (encode(&map, a) != 0) std::exit(1);
  reduce<<<1, 64>>>(map, op);
  finish_kernel("reduce");
  return checksum(tensor.download());
}

__global__ void bulk(const char* in, uint32_t to, uint32_t from, uint32_t bytes, uint32_t* out) {
  __shared__ alignas(16) char tile[128];
  __shared__ uint64_t bar;
  for (int i = 0; i < 128; ++i) tile[i] = 0;
  ptx::mbarrier_init(&bar, 1);
  ptx::fence_mbarrier_init_release_cluster();
  ptx::fence_proxy_async_shared_cta();
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          ptx::smem_addr(tile) + to),
      "l"(in + from), "r"(bytes), "r"(ptx::smem_addr(&bar))
      : "memory");
  record::pause();
  for (int i = 0; i < 32; ++i) out[i] = reinterpret_cast<uint32_t*>(tile)[i];
}

uint32_t bulk_at(uint32_t to, uint32_t from, uint32_t bytes) {
  std::vector<char> values(256);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<char>(i + 1);
  Buffer<char> in(values);
  Buffer<uint32_t> out(32);
  bulk<<<1, 1>>>(in.get(), to, from, bytes, out.get());
  finish_kernel("bulk");
  return checksum(out.download());
}

uint32_t blank_map() {
  CUtensorMap map;
  std::memset(&map, 0, sizeof map);
  return checksum(load(map, 2, {}, 0).window);
}

}  // namespace

int main() {
  for (int x : {8, -8, 1, 2, 4, 7, -1, -4, 60, 63}) {
    char name[48];
    std::snprintf(name, sizeof name, "load, 2-byte elements, start (%d, 0)", x);
    probe(name, [&] { return load_at({{x, 0}}, 0); });
  }
  probe("load, 2-byte elements, start (0, -1)", [] { return load_at({{0, -1}}, 0); });
  probe("load, 1-byte elements, start (8, 0)", [] {
    return load_at({{8, 0}}, 0, CU_TENSOR_MAP_DATA_TYPE_UINT8);
  });
  probe("load, 4-byte elements, start (2, 0)", [] {
    return load_at({{2, 0}}, 0, CU_TENSOR_MAP_DATA_TYPE_UINT32);
  });
  probe("load, 4-byte elements, start (4, 0)", [] {
    return load_at({{4, 0}}, 0, CU_TENSOR_MAP_DATA_TYPE_UINT32);
  });
  probe("load, swizzle 32B, start (4, 0)", [] {
    return load_at({{4, 0}}, 0, CU_TENSOR_MAP_DATA_TYPE_UINT16, 1);
  });
  for (uint32_t offset : {8u, 16u, 32u, 64u}) {
    char name[48];
    std::snprintf(name, sizeof name, "load, tile at base + %u", offset);
    probe(name, [&] { return load_at({}, offset); });
    std::snprintf(name, sizeof name, "load, swizzle 32B, tile at base + %u", offset);
    probe(name, [&] { return load_at({}, offset, CU_TENSOR_MAP_DATA_TYPE_UINT16, 1); });
    std::snprintf(name, sizeof name, "store, tile at base + %u", offset);
    probe(name, [&] { return store_at({}, offset); });
  }
  for (Corner start : {Corner{{8, 0}}, Corner{{4, 0}}, Corner{{-8, 0}}, Corner{{0, -2}}, Corner{{-16, 0}}}) {
    char name[48];
    std::snprintf(name, sizeof name, "store, start (%d, %d)", start.c[0], start.c[1]);
    probe(name, [&] { return store_at(start, 0); });
  }
  probe("a map of rank 2 in a copy of rank 3",
        [] { return load_at({}, 0, CU_TENSOR_MAP_DATA_TYPE_UINT16, 0, 3); });
  probe("a map of rank 2 in a copy of rank 1",
        [] { return load_at({}, 0, CU_TENSOR_MAP_DATA_TYPE_UINT16, 0, 1); });
  probe("a map of zeros", blank_map);
  struct Type {
    int type;
    const char* name;
    unsigned bytes;
  };
  const Type types[] = {{CU_TENSOR_MAP_DATA_TYPE_UINT8, "UINT8", 1},
                        {CU_TENSOR_MAP_DATA_TYPE_UINT16, "UINT16", 2},
                        {CU_TENSOR_MAP_DATA_TYPE_UINT32, "UINT32", 4},
                        {CU_TENSOR_MAP_DATA_TYPE_INT32, "INT32", 4},
                        {CU_TENSOR_MAP_DATA_TYPE_UINT64, "UINT64", 8},
                        {CU_TENSOR_MAP_DATA_TYPE_INT64, "INT64", 8},
                        {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, "FLOAT16", 2},
                        {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, "FLOAT32", 4},
                        {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, "FLOAT64", 8},
                        {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, "BFLOAT16", 2},
                        {CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, "FLOAT32_FTZ", 4},
                        {CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, "TFLOAT32", 4}};
  const char* const ops[] = {"add", "min", "inc", "and"};
  for (const Type& type : types)
    for (int op = 0; op < 4; ++op) {
      char name[48];
      std::snprintf(name, sizeof name, "reduction %s of %s", ops[op], type.name);
      probe(name, [&] { return reduce_type(op, type.type, type.bytes); });
    }
  probe("bulk copy of 32 bytes", [] { return bulk_at(16, 16, 32); });
  probe("bulk copy to an address of 8 mod 16", [] { return bulk_at(8, 0, 16); });
  probe("bulk copy from an address of 8 mod 16", [] { return bulk_at(0, 8, 16); });
  probe("bulk copy of 24 bytes", [] { return bulk_at(0, 0, 24); });
}
