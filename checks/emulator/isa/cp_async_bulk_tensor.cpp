// cp.async.bulk.tensor: boxes in and out, against element-by-element code written from the manual (PTX ISA 5.5,
// 9.7.9.27.1).
#include "support.hpp"

#include <algorithm>
#include <cmath>

#include "emulator/isa/tensor_box.hpp"
#include "emulator/machine/tensor_map.hpp"

using namespace emu_test;

namespace {

constexpr uint32_t kWindow = 8192;  // bytes of shared memory looked at

struct Spec {
  int type = 1;  // UINT16
  uint32_t rank = 2;
  uint64_t size[5] = {1, 1, 1, 1, 1};
  uint64_t stride[4] = {0, 0, 0, 0};
  uint32_t box[5] = {1, 1, 1, 1, 1};
  uint32_t step[5] = {1, 1, 1, 1, 1};
  int swizzle = 0, fill = 0;
};

// A tensor of 16-bit elements in the emulator's global memory, and its map as a module variable.
struct Tensor {
  Runner runner;
  Spec spec;
  uint64_t address;
  std::vector<uint16_t> values;

  explicit Tensor(const Spec& s, size_t elements = 4096) : spec(s), values(elements) {
    address = runner.machine.memory.allocate(elements * 2, "tensor");
    for (size_t i = 0; i < elements; ++i) values[i] = static_cast<uint16_t>(i);
    std::memcpy(runner.machine.memory.at(address, elements * 2), values.data(), elements * 2);
  }

  std::vector<uint16_t> download() {
    std::vector<uint16_t> now(values.size());
    std::memcpy(now.data(), runner.machine.memory.at(address, now.size() * 2), now.size() * 2);
    return now;
  }

  Options options(const char* schedule) {
    rules::TensorMapArguments map;
    map.type = spec.type;
    map.rank = spec.rank;
    map.address = address;
    std::copy_n(spec.size, 5, map.size);
    std::copy_n(spec.stride, 4, map.stride_bytes);
    std::copy_n(spec.box, 5, map.box);
    std::copy_n(spec.step, 5, map.element_stride);
    map.swizzle = spec.swizzle;
    map.oob_fill = spec.fill;
    Options o;
    o.schedule = schedule;
    o.out_words = kWindow / 4;
    o.in_words = kWindow / 4;
    o.declarations = ".shared .align 1024 .b8 tile[" + std::to_string(kWindow) +
                     "];\n.shared .align 8 .b64 bar;\n" + declare_map(".global", map);
    return o;
  }

  static std::string list(const std::vector<int>& start) {
    std::string text = "{";
    for (size_t i = 0; i < start.size(); ++i) text += (i ? ", " : "") + std::to_string(start[i]);
    return text + "}";
  }

  static std::string dim(const std::vector<int>& start) { return std::to_string(start.size()) + "d"; }

  // Poisons the window, loads one box, expecting `bytes`, and returns the window.
  std::vector<uint16_t> load(const std::vector<int>& start, uint32_t offset, uint32_t bytes,
                             const char* schedule = "in-order") {
    const std::string body =
        "mbarrier.init.shared::cta.b64 [bar], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], " +
        std::to_string(bytes) + ";\nmov.u64 %rd1, map;\ncvta.global.u64 %rd2, %rd1;\n" +
        "cp.async.bulk.tensor." + dim(start) +
        ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile+" + std::to_string(offset) +
        "], [%rd2, " + list(start) + "], [bar];\n" +
        "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra W;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], " +
        std::to_string(kWindow) + ";\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";
    auto words = runner.run(body, {}, options(schedule));
    std::vector<uint16_t> window(kWindow / 2);
    std::memcpy(window.data(), words.data(), kWindow);
    return window;
  }

  // What the manual says the window holds: element by element.
  std::vector<uint16_t> expected(const std::vector<int>& start, uint32_t offset, uint16_t outside,
                                 uint32_t* bytes) {
    std::vector<uint16_t> window(kWindow / 2, 0x7FFF);
    uint32_t n = 0;
    for_box(start, [&](bool inside, uint64_t global_byte) {
      const uint32_t base = 1024;  // the tile is the first shared variable, on a multiple of 1024
      // With a swizzle a row takes a whole span (recorded: inner_box).
      const uint32_t row = n / spec.box[0], pitch = spec.swizzle ? 16u << spec.swizzle : 2 * spec.box[0];
      uint32_t a = base + offset + row * pitch + 2 * (n % spec.box[0]);
      static const uint32_t kBits[] = {0, 0x10, 0x30, 0x70};
      a ^= (a >> 3) & kBits[spec.swizzle];
      window[(a - base) / 2] = inside ? values[global_byte / 2] : outside;
      ++n;
    });
    *bytes = 2 * n;
    return window;
  }

  // row_elements: where a row ends, if not at its size.
  template <class F>
  void for_box(const std::vector<int>& start, F f, uint64_t row_elements = 0) {
    int64_t s[5] = {0, 0, 0, 0, 0};
    for (size_t i = 0; i < start.size(); ++i) s[i] = start[i];
    for (int64_t e = s[4]; e < s[4] + spec.box[4]; e += spec.step[4])
      for (int64_t d = s[3]; d < s[3] + spec.box[3]; d += spec.step[3])
        for (int64_t c = s[2]; c < s[2] + spec.box[2]; c += spec.step[2])
          for (int64_t b = s[1]; b < s[1] + spec.box[1]; b += spec.step[1])
            for (int64_t a = s[0]; a < s[0] + spec.box[0]; ++a) {
              const int64_t at[5] = {a, b, c, d, e};
              bool inside = true;
              int64_t byte = a * 2;
              for (int i = 0; i < 5; ++i) {
                const uint64_t end = i == 0 && row_elements ? row_elements : spec.size[i];
                inside = inside && at[i] >= 0 && at[i] < static_cast<int64_t>(end);
                if (i) byte += at[i] * static_cast<int64_t>(spec.stride[i - 1]);
              }
              f(inside, static_cast<uint64_t>(byte));
            }
  }

  void check_load(const std::vector<int>& start, uint32_t offset, const char* schedule = "in-order",
                  uint16_t outside = 0) {
    uint32_t bytes = 0;
    const auto want = expected(start, offset, outside, &bytes);
    const std::string at = list(start);
    CAPTURE(at);
    CAPTURE(offset);
    CAPTURE(schedule);
    CHECK(load(start, offset, bytes, schedule) == want);
  }
};

// 64 x 40 elements in rows of 128 bytes; boxes of one swizzle span.
Spec matrix(int swizzle) {
  Spec s;
  s.size[0] = 61;
  s.size[1] = 38;
  s.stride[0] = 128;
  s.box[0] = swizzle ? 8u << swizzle : 64;
  s.box[1] = 16;
  s.swizzle = swizzle;
  return s;
}

Spec dense(uint32_t rank) {
  static const uint32_t kSize[] = {16, 6, 5, 4, 2}, kBox[] = {8, 3, 2, 2, 2};
  Spec s;
  s.rank = rank;
  uint64_t stride = 2;
  for (uint32_t i = 0; i < rank; ++i) {
    s.size[i] = kSize[i];
    s.box[i] = kBox[i];
    stride *= kSize[i];
    if (i < 4) s.stride[i] = stride;
  }
  return s;
}

}  // namespace

TEST_CASE("cp.async.bulk.tensor: every swizzle, at bases that are and are not aligned to the pattern") {
  for (int swizzle = 0; swizzle <= 3; ++swizzle) {
    CAPTURE(swizzle);
    Tensor t(matrix(swizzle));
    for (uint32_t offset : {0u, 128u, 256u, 640u, 1024u}) t.check_load({8, 4}, offset);
  }
}

TEST_CASE("cp.async.bulk.tensor: an inner box smaller than the span leaves the rest of each span alone") {
  for (int swizzle = 1; swizzle <= 3; ++swizzle)
    for (uint32_t inner = 8; inner < 8u << swizzle; inner += 8) {
      Spec s = matrix(swizzle);
      s.box[0] = inner;
      Tensor t(s);
      CAPTURE(swizzle);
      CAPTURE(inner);
      t.check_load({8, 4}, 0);
      t.check_load({56, 30}, 384);
    }
}

TEST_CASE("cp.async.bulk.tensor: what lies outside arrives as zeros and counts as bytes") {
  for (int swizzle : {0, 2, 3}) {
    Tensor t(matrix(swizzle));
    const std::vector<std::vector<int>> starts = {
        {0, 0},   {-8, -3}, {48, 30}, {56, 0},  {64, 0},         {0, 38},
        {-64, 0}, {0, -16}, {8, 1},   {-8, 37}, {2147483640, 0}, {-2147483647 - 1, -2147483647}};
    for (const std::vector<int>& start : starts) t.check_load(start, 0);
  }
}

TEST_CASE("cp.async.bulk.tensor: floating-point maps can fill with NaN") {
  Spec s = matrix(3);
  s.type = 9;  // BFLOAT16
  s.fill = 1;
  Tensor t(s);
  t.check_load({48, 30}, 0, "in-order", 0x7FF7);
  t.check_load({-8, -2}, 128, "in-order", 0x7FF7);
}

TEST_CASE("cp.async.bulk.tensor: the NaN of every type is 7FF7 in each 16 bits") {
  for (int type : {6, 7, 8, 9, 10, 11, 12}) {  // every floating-point CUtensorMapDataType
    CAPTURE(type);
    Spec s = matrix(0);
    s.type = type;
    s.fill = 1;
    s.size[0] = 16;
    s.box[0] = 16;
    s.box[1] = 2;
    Tensor t(s);
    const uint32_t bytes = 2 * 16 * emu::element_bytes(static_cast<emu::ElementType>(type));
    std::vector<uint16_t> want(kWindow / 2, 0x7FFF);
    std::fill_n(want.begin(), bytes / 2, 0x7FF7);
    CHECK(t.load({16, 0}, 0, bytes) == want);
  }
}

TEST_CASE("cp.async.bulk.tensor: ranks 1 to 5, inside and over every edge") {
  for (uint32_t rank = 1; rank <= 5; ++rank) {
    Tensor t(dense(rank));
    for (int corner : {0, 1, 3, -2}) {
      std::vector<int> start(rank, corner);
      start[0] = corner < 0 ? -8 : 8 * (corner % 2);
      t.check_load(start, 0);
    }
  }
}

TEST_CASE("cp.async.bulk.tensor: element strides sample every n-th row and shrink the tile") {
  for (uint32_t step : {2u, 3u, 8u}) {
    Spec s = dense(3);
    s.box[1] = 6;
    s.box[2] = 5;
    s.step[1] = step;
    s.step[2] = 2;
    Tensor t(s);
    for (const std::vector<int>& start :
         std::vector<std::vector<int>>{{0, 0, 0}, {8, 1, 1}, {0, -1, -1}, {0, 3, 4}})
      t.check_load(start, 0);
  }
}

TEST_CASE("cp.async.bulk.tensor: every schedule gives the same tile") {
  Tensor t(matrix(3));
  for (const char* schedule : {"in-order", "late", "random:1", "random:2", "random:3"})
    t.check_load({0, 2}, 0, schedule);
}

TEST_CASE("cp.async.bulk.tensor store: unswizzles, and leaves what is outside alone") {
  for (int swizzle = 0; swizzle <= 3; ++swizzle) {
    for (const std::vector<int>& start : std::vector<std::vector<int>>{{0, 0}, {8, 30}, {56, 37}, {64, 0}}) {
      CAPTURE(swizzle);
      Tensor t(matrix(swizzle));
      const uint32_t offset = 128;
      // The window holds 0xC000 + its element number; the tile starts at `offset`.
      std::vector<uint32_t> window(kWindow / 4);
      for (uint32_t i = 0; i < window.size(); ++i) window[i] = (0xC000 + 2 * i) | (0xC001 + 2 * i) << 16;
      auto want = t.values;
      uint32_t n = 0;
      // A store writes whole 16-byte chunks: rows of 61 elements end at 64.
      t.for_box(
          start,
          [&](bool inside, uint64_t byte) {
            static const uint32_t kBits[] = {0, 0x10, 0x30, 0x70};
            uint32_t a = 1024 + offset + 2 * n++;
            a ^= (a >> 3) & kBits[swizzle];
            if (inside) want[byte / 2] = static_cast<uint16_t>(0xC000 + (a - 1024) / 2);
          },
          64);
      const std::string body =
          "mbarrier.init.shared::cta.b64 [bar], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], "
          "8192;\n"
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], 8192, [bar];\n"
          "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra W;\n"
          "mov.u64 %rd1, map;\ncvta.global.u64 %rd2, %rd1;\n"
          "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, " +
          Tensor::list(start) + "], [tile+128];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";
      t.runner.run(body, window, t.options("random:4"));
      CHECK(t.download() == want);
    }
  }
}

TEST_CASE("cp.async.bulk.tensor store: starts no box before the tensor, where a load may") {
  Tensor t(matrix(0));
  const std::string address = "mov.u64 %rd1, map;\ncvta.global.u64 %rd2, %rd1;\n";
  for (const char* op : {"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
                         "cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile.bulk_group"})
    for (const char* start : {"{-64, 0}", "{-8, 0}", "{0, -1}", "{64, -1}"}) {
      CAPTURE(op);
      CAPTURE(start);
      Spec s = matrix(0);
      s.type = 6;  // FLOAT16, which has .min
      Tensor h(s);
      const std::string text = address + op + " [%rd2, " + start + "], [tile];";
      CHECK(h.runner.fault(text, {}, h.options("in-order")).id == "store-before-tensor");
    }
  t.check_load({-64, -1}, 0);
}

TEST_CASE("cp.reduce.async.bulk.tensor: sums of each floating-point type") {
  using emu::ElementType;
  auto add = [](ElementType type, auto a, auto b) {
    emu::Reduction sum = emu::tensor_reduction("add", type);
    REQUIRE((sum != nullptr));
    sum(reinterpret_cast<std::byte*>(&a), reinterpret_cast<const std::byte*>(&b), 1);
    return a;
  };
  CHECK(add(ElementType::f64, 1.5, 0x1p-52) == 1.5 + 0x1p-52);
  CHECK(add(ElementType::f64, 0x1p-1074, 0x1p-1074) == 0x1p-1073);
  for (ElementType type : {ElementType::f32, ElementType::tf32}) {
    CHECK(add(type, 1.0f, 0x1p-23f) == 1.0f + 0x1p-23f);  // tf32 does not round to 10 bits
    CHECK(add(type, 0x1p-149f, 0x1p-149f) == 0x1p-148f);
  }
  CHECK(add(ElementType::f32_ftz, 1.0f, 0x1p-23f) == 1.0f + 0x1p-23f);
  CHECK(add(ElementType::f32_ftz, 0x1p-149f, 0x1p-126f) == 0x1p-126f);  // an operand
  CHECK(add(ElementType::f32_ftz, 0x1.8p-126f, -0x1p-126f) == 0);       // the sum
  CHECK(std::signbit(add(ElementType::f32_ftz, -0x1.8p-126f, 0x1p-126f)));
  CHECK(std::signbit(add(ElementType::f32_ftz, -0x1p-149f, -0x1p-149f)));
  for (ElementType type : {ElementType::f64, ElementType::tf32, ElementType::f32_ftz})
    for (const char* op : {"min", "max", "inc", "dec", "and", "or", "xor"})
      CHECK((emu::tensor_reduction(op, type) == nullptr));
}

TEST_CASE("cp.reduce.async.bulk.tensor adds to the elements inside, up to whole 16-byte chunks") {
  Spec s = matrix(0);
  s.type = 2;  // UINT32
  s.size[0] = 30;
  s.box[0] = 32;
  s.box[1] = 2;
  Tensor t(s);
  auto want = t.values;
  for (int row = 0; row < 2; ++row)
    for (int c = 0; c < 32; ++c) {  // 30 elements, 120 bytes: the chunk that holds the last one is whole
      uint32_t v;
      std::memcpy(&v, &want[static_cast<size_t>(row * 64 + c * 2)], 4);
      v += 5;
      std::memcpy(&want[static_cast<size_t>(row * 64 + c * 2)], &v, 4);
    }
  std::string body =
      "mov.u32 %r1, 5;\nmov.u32 %r2, tile;\nmov.u32 %r3, 0;\n"
      "L: st.shared.u32 [%r2], %r1;\nadd.u32 %r2, %r2, 4;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 64;\n"
      "@%p1 bra L;\nfence.proxy.async.shared::cta;\nmov.u64 %rd1, map;\ncvta.global.u64 %rd2, %rd1;\n"
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd2, {0, 0}], [tile];\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";
  t.runner.run(body, {}, t.options("in-order"));
  CHECK(t.download() == want);
  // FLOAT16 has no and
  s.type = 6;
  Tensor h(s);
  body.replace(body.find(".add."), 5, ".and.");
  CHECK(h.runner.fault(body, {}, h.options("in-order")).id == "tensor-map-invalid");
}

TEST_CASE("cp.async.bulk.tensor: bad operands are reported") {
  Tensor t(matrix(3));
  const std::string start =
      "mbarrier.init.shared::cta.b64 [bar], 1;\nmov.u64 %rd1, map;\ncvta.global.u64 %rd2, %rd1;\n";
  auto fault = [&](const std::string& text) {
    return t.runner.fault(start + text, {}, t.options("in-order"));
  };
  const std::string load2 =
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes ";

  auto f = fault(load2 + "[tile+64], [%rd2, {0, 0}], [bar];");
  CHECK(f.id == "misaligned-tile");
  CHECK(f.title.find("tile") != std::string::npos);
  CHECK(fault(load2 + "[tile+6144], [%rd2, {0, 0}], [bar];").id == "none");  // bytes 6144 .. 8191
  CHECK(fault(load2 + "[tile+6272], [%rd2, {0, 0}], [bar];").id == "out-of-bounds");
  CHECK(fault(load2 + "[tile], [%rd2, {0, 0}], [bar+8];").id != emu::Id::none);

  f = fault(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%rd2, {0, "
      "0, 0}], [bar];");
  CHECK(f.id == "tensor-map-invalid");
  CHECK(f.title.find("rank 2") != std::string::npos);
  CHECK(fault(load2 + "[tile], [%rd2+64, {0, 0}], [bar];").id == "tensor-map-invalid");
  CHECK(fault("st.global.u32 [map+12], 1;\n" + load2 + "[tile], [%rd2, {0, 0}], [bar];").id ==
        "tensor-map-invalid");

  f = fault(".local .align 64 .b8 copy[128];\nmov.u64 %rd3, copy;\ncvta.local.u64 %rd4, %rd3;\n" + load2 +
            "[tile], [%rd4, {0, 0}], [bar];");
  CHECK(f.id == "tensor-map-invalid");
  CHECK(f.hint.find("__grid_constant__") != std::string::npos);

  CHECK(fault(load2 + "[tile], [%rd2, {0, 0, 0}], [bar];").id == "unsupported-instruction");
  CHECK(fault("cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes [tile], "
              "[%rd2, {0, 0, 0}], [bar], {%rs1, %rs1};")
            .id == "unsupported-instruction");
  CHECK(fault("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd2, {0, 0}];").id == "none");
}

TEST_CASE("cp.async.bulk.tensor: a tensor larger than its allocation is out of bounds where it is read") {
  Spec s = matrix(0);
  s.size[1] = 100;
  Tensor t(s);  // 4096 elements hold 64 rows
  t.check_load({0, 48}, 0);
  const std::string body =
      "mbarrier.init.shared::cta.b64 [bar], 1;\nmov.u64 %rd1, map;\ncvta.global.u64 %rd2, %rd1;\n"
      "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [tile], "
      "[%rd2, {0, 49}], [bar];";
  CHECK(t.runner.fault(body, {}, t.options("in-order")).id == "out-of-bounds");
}

TEST_CASE("cp.async.bulk.tensor is counted") {
  Tensor t(matrix(3));
  t.load({0, 0}, 0, 2048);
  const emu::Stats& stats = t.runner.statistics.stats();
  CHECK(stats.tensor_load_issued == 1);
  CHECK(stats.tensor_load_bytes == 2048);
  CHECK(stats.mbarrier_complete_tx_bytes == 2048);
  CHECK(stats.mbarrier_expect_tx_bytes == 2048);
  CHECK(stats.mbarrier_phases_completed == 1);
  CHECK(stats.copy_issuing_threads == 1);
}
