// cp.async.bulk.tensor in im2col mode: pixels in and out, against loops over images written from the manual (PTX ISA 5.5.4,
// 9.7.9.27.1). What an H200 does is in checks/recorded/im2col_*.txt.
#include "support.hpp"

#include <algorithm>
#include <array>

#include "emulator/machine/tensor_map.hpp"
#include "quiet.hpp"

using namespace emu_test;

namespace {

constexpr uint32_t kWindow = 8192;  // bytes of shared memory looked at

using Numbers = std::vector<int>;

std::string list(const Numbers& numbers) {
  std::string text = "{";
  for (size_t i = 0; i < numbers.size(); ++i) text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "}";
}

// Images in the emulator's global memory, 1, 2, 3, ... in 16-bit elements, and their map as a module variable.
struct Images {
  Runner runner;
  rules::TensorMapArguments map;
  std::vector<uint16_t> values;

  explicit Images(rules::TensorMapArguments arguments) : map(arguments) {
    map.im2col = true;
    uint64_t bytes = map.size[0] * element();
    for (uint32_t i = 1; i < map.rank; ++i) {
      map.stride_bytes[i - 1] = bytes;
      bytes *= map.size[i];
    }
    values.resize(bytes / 2);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint16_t>(i + 1);
    map.address = runner.machine.memory.allocate(bytes, "images");
    std::memcpy(runner.machine.memory.at(map.address, bytes), values.data(), bytes);
  }

  uint32_t element() const { return rules::tensor_map_type(map.type).bytes; }

  std::vector<uint16_t> download() {
    std::vector<uint16_t> now(values.size());
    std::memcpy(now.data(), runner.machine.memory.at(map.address, now.size() * 2), now.size() * 2);
    return now;
  }

  Options options(const char* schedule = "in-order") const {
    Options o;
    o.schedule = schedule;
    o.out_words = o.in_words = kWindow / 4;
    o.declarations = ".shared .align 1024 .b8 tile[" + std::to_string(kWindow) +
                     "];\n.shared .align 8 .b64 bar;\n" + declare_map(".global", map);
    return o;
  }

  std::string load_text(const Numbers& at, const Numbers& by, uint32_t offset = 0) const {
    return "mov.u64 %rd1, map;\ncvta.global.u64 %rd2, %rd1;\ncp.async.bulk.tensor." +
           std::to_string(at.size()) + "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [tile+" +
           std::to_string(offset) + "], [%rd2, " + list(at) + "], [bar], " + list(by) + ";\n";
  }

  // Poisons the window, loads one column of pixels, and returns the window.
  std::vector<uint16_t> load(const Numbers& at, const Numbers& by, uint32_t offset, const char* schedule) {
    const std::string body =
        "mbarrier.init.shared::cta.b64 [bar], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], " +
        std::to_string(map.pixels_per_column * map.channels_per_pixel * element()) + ";\n" +
        load_text(at, by, offset) +
        "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra W;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], " +
        std::to_string(kWindow) + ";\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";
    const auto words = runner.run(body, {}, options(schedule));
    std::vector<uint16_t> window(kWindow / 2);
    std::memcpy(window.data(), words.data(), kWindow);
    return window;
  }

  // The pixels of the box in order, from the one at these coordinates on: (w, h, d, image), those that the rank has not being 0.
  std::vector<std::array<int, 4>> walk(const Numbers& at) const {
    const uint32_t rank = map.rank;
    int first[4] = {0, 0, 0, at.back()}, low[4] = {}, last[4] = {}, step[4] = {1, 1, 1, 1};
    for (uint32_t i = 0; i < rank - 2; ++i) {
      first[i] = at[i + 1];
      low[i] = map.lower_corner[i];
      last[i] = static_cast<int>(map.size[i + 1]) - 1 + map.upper_corner[i];
      step[i] = static_cast<int>(map.element_stride[i + 1]);
    }
    step[3] = static_cast<int>(map.element_stride[rank - 1]);
    std::vector<std::array<int, 4>> pixels;
    bool new_image = false, new_slice = false, new_row = false;
    for (int n = first[3];; n += step[3], new_image = true)
      for (int d = new_image ? low[2] : first[2]; d <= last[2]; d += step[2], new_slice = true)
        for (int h = new_slice || new_image ? low[1] : first[1]; h <= last[1]; h += step[1], new_row = true)
          for (int w = new_row || new_slice || new_image ? low[0] : first[0]; w <= last[0]; w += step[0]) {
            pixels.push_back({w, h, d, n});
            if (pixels.size() == map.pixels_per_column) return pixels;
          }
  }

  // Where each of these pixels lies in memory, in elements from the first channel; -1 outside.
  std::vector<long> elements(const Numbers& at, const Numbers& by) const {
    const uint32_t images = map.rank - 1;
    std::vector<long> out;
    for (const auto& p : walk(at)) {
      long index = 0;
      bool inside = true;
      const auto add = [&](uint32_t dimension, int c) {
        inside = inside && c >= 0 && c < static_cast<int>(map.size[dimension]);
        index += c * static_cast<long>(map.stride_bytes[dimension - 1] / element());
      };
      for (uint32_t i = 1; i < images; ++i) add(i, p[i - 1] + by[i - 1]);
      add(images, p[3]);
      out.push_back(inside ? index : -1);
    }
    return out;
  }

  // Of 16-bit elements: where the element `k` of pixel `row` lies in the window.
  size_t place(uint32_t row, uint32_t k, uint32_t offset) const {
    static const uint32_t kBits[] = {0, 0x10, 0x30, 0x70};
    const uint32_t base = 1024;  // the tile is the first shared variable, on a multiple of 1024
    const uint32_t pitch = map.swizzle ? 16u << map.swizzle : 2 * map.channels_per_pixel;
    uint32_t a = base + offset + row * pitch + 2 * k;
    a ^= (a >> 3) & kBits[map.swizzle];
    return (a - base) / 2;
  }

  void check_load(const Numbers& at, const Numbers& by, uint32_t offset = 0,
                  const char* schedule = "in-order") {
    std::vector<uint16_t> want(kWindow / 2, 0x7FFF);
    const std::vector<long> pixels = elements(at, by);
    for (uint32_t row = 0; row < pixels.size(); ++row)
      for (uint32_t k = 0; k < map.channels_per_pixel; ++k) {
        const int c = at[0] + static_cast<int>(k);
        const bool inside = pixels[row] >= 0 && c >= 0 && c < static_cast<int>(map.size[0]);
        want[place(row, k, offset)] = inside         ? values[static_cast<size_t>(pixels[row] + c)]
                                      : map.oob_fill ? 0x7FF7
                                                     : 0;
      }
    const std::string where = list(at) + " + " + list(by);
    CAPTURE(where);
    CAPTURE(offset);
    CHECK(load(at, by, offset, schedule) == want);
  }
};

// `channels` of each of `pixels`: of images of these sizes (C, W, H, D, N) in a box from corner to corner.
rules::TensorMapArguments images(const Numbers& size, const Numbers& lower, const Numbers& upper,
                                 uint32_t pixels, uint32_t channels = 8) {
  rules::TensorMapArguments a;
  a.type = 1;  // UINT16
  a.rank = static_cast<uint32_t>(size.size());
  std::copy(size.begin(), size.end(), a.size);
  std::copy(lower.begin(), lower.end(), a.lower_corner);
  std::copy(upper.begin(), upper.end(), a.upper_corner);
  a.pixels_per_column = pixels;
  a.channels_per_pixel = channels;
  return a;
}

// 3 images of 6 x 5 pixels of 16 channels; a 3 x 3 filter with a padding of 1 begins at -1 .. 4 and -1 .. 3.
rules::TensorMapArguments padded() {
  return images({16, 6, 5, 3}, {-1, -1}, {-1, -1}, 40);
}

}  // namespace

TEST_CASE(
    "cp.async.bulk.tensor.im2col: the walk goes from row to row and image to image, at every place of a filter") {
  Images t(padded());
  for (int h = 0; h < 3; ++h)
    for (int w = 0; w < 3; ++w) t.check_load({8, 2, 1, 1}, {w, h});
}

TEST_CASE("cp.async.bulk.tensor.im2col: ranks 3 and 5") {
  Images line(images({8, 11, 4}, {-2}, {3}, 30));
  for (int w : {-2, 0, 13}) line.check_load({0, w, 1}, {4});
  Images solid(images({8, 4, 3, 3, 3}, {-1, 0, -1}, {1, -1, 0}, 60));
  for (int d : {-1, 0, 2}) solid.check_load({0, 1, 1, d, 1}, {1, 0, 2});
}

TEST_CASE("cp.async.bulk.tensor.im2col: channels and pixels outside arrive as fill and count as bytes") {
  rules::TensorMapArguments map = images({24, 6, 5, 3}, {-1, -1}, {1, 1}, 70, 16);
  map.type = 9;  // BFLOAT16
  for (int fill : {0, 1}) {
    map.oob_fill = fill;
    Images t(map);
    for (int c : {0, 16, 24, -8}) t.check_load({c, 3, 2, 2}, {1, 2});
  }
}

TEST_CASE("cp.async.bulk.tensor.im2col: element strides skip pixels, and the number that arrives stays") {
  for (uint32_t step : {2u, 3u}) {
    rules::TensorMapArguments map = images({8, 10, 9, 3}, {-1, -1}, {0, -1}, 24);
    map.element_stride[1] = step;
    map.element_stride[2] = 2;
    Images t(map);
    for (int w : {-1, 0, 8}) t.check_load({0, w, 2, 0}, {1, 0});
  }
}

TEST_CASE("cp.async.bulk.tensor.im2col: every swizzle, with pixels as wide as the span and narrower") {
  for (int swizzle = 0; swizzle <= 3; ++swizzle)
    for (uint32_t channels = 8; channels <= 8u << swizzle; channels *= 2)
      for (uint32_t offset : {0u, 384u}) {
        CAPTURE(swizzle);
        rules::TensorMapArguments map = images({64, 5, 4, 2}, {-1, -1}, {-1, -1}, 21, channels);
        map.swizzle = swizzle;
        Images(map).check_load({8, 2, 1, 0}, {1, 2}, offset);
      }
}

TEST_CASE("cp.async.bulk.tensor.im2col: every schedule gives the same pixels") {
  Images t(padded());
  for (const char* schedule : {"in-order", "late", "random:1", "random:2"})
    t.check_load({0, 2, 1, 1}, {1, 1}, 0, schedule);
}

TEST_CASE("cp.async.bulk.tensor.im2col: offsets from registers") {
  Images t(padded());
  const std::string load = t.load_text({0, 2, 1, 1}, {7, 9});
  std::string text = load;
  text.replace(text.find("{7, 9}"), 6, "{%rs1, %rs2}");
  const std::string ends =
      "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra W;\n"
      "ld.shared.u16 %rs3, [tile];\nst.global.u16 [%out], %rs3;\n";
  const auto out = t.runner.run(
      "mov.u16 %rs1, 2;\nmov.u16 %rs2, 1;\nmbarrier.init.shared::cta.b64 [bar], 1;\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 640;\n" +
          text + ends,
      {}, t.options());
  CHECK((out[0] & 0xFFFF) == t.values[static_cast<size_t>(t.elements({0, 2, 1, 1}, {2, 1})[0])]);
}

TEST_CASE("cp.async.bulk.tensor.im2col_no_offs: a store writes the pixels that the load reads") {
  for (int swizzle : {0, 1, 3}) {
    rules::TensorMapArguments map = images({16, 6, 5, 3}, {0, 1}, {-1, 0}, 50);
    map.swizzle = swizzle;
    Images t(map);
    std::vector<uint32_t> window(kWindow / 4);
    for (uint32_t i = 0; i < window.size(); ++i) window[i] = (0xC000 + 2 * i) | (0xC001 + 2 * i) << 16;
    auto want = t.values;
    const auto pixels = t.elements({8, 3, 2, 1}, {0, 0});
    for (uint32_t row = 0; row < pixels.size(); ++row)
      for (uint32_t k = 0; k < 8 && pixels[row] >= 0; ++k)
        want[static_cast<size_t>(pixels[row]) + 8 + k] = static_cast<uint16_t>(0xC000 + t.place(row, k, 128));
    const std::string body =
        "mbarrier.init.shared::cta.b64 [bar], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 8192;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], 8192, [bar];\n"
        "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra W;\n"
        "mov.u64 %rd1, map;\ncvta.global.u64 %rd2, %rd1;\n"
        "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%rd2, {8, 3, 2, 1}], [tile+128];\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";
    t.runner.run(body, window, t.options("random:4"));
    CHECK(t.download() == want);
  }
}

TEST_CASE("cp.reduce.async.bulk.tensor.im2col_no_offs adds to the pixels inside") {
  rules::TensorMapArguments map = images({4, 6, 5, 3}, {0, 0}, {0, 0}, 70, 4);
  map.type = 2;  // UINT32
  Images t(map);
  std::vector<uint32_t> want(t.values.size() / 2);
  std::memcpy(want.data(), t.values.data(), t.values.size() * 2);
  for (long pixel : t.elements({0, 3, 2, 1}, {0, 0}))
    for (uint32_t k = 0; k < 4 && pixel >= 0; ++k) want[static_cast<size_t>(pixel) + k] += 5;
  const std::string body =
      "mov.u32 %r1, 5;\nmov.u32 %r2, tile;\nmov.u32 %r3, 0;\n"
      "L: st.shared.u32 [%r2], %r1;\nadd.u32 %r2, %r2, 4;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 280;\n"
      "@%p1 bra L;\nfence.proxy.async.shared::cta;\nmov.u64 %rd1, map;\ncvta.global.u64 %rd2, %rd1;\n"
      "cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.im2col_no_offs.bulk_group [%rd2, {0, 3, 2, 1}], [tile];\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";
  t.runner.run(body, {}, t.options());
  std::vector<uint32_t> got(want.size());
  const auto now = t.download();
  std::memcpy(got.data(), now.data(), now.size() * 2);
  CHECK(got == want);
}

TEST_CASE("cp.async.bulk.tensor.im2col: bad operands are reported") {
  Images t(padded());
  const std::string init =
      "mbarrier.init.shared::cta.b64 [bar], 1;\nmov.u64 %rd1, map;\ncvta.global.u64 %rd2, %rd1;\n";
  const auto fault = [&](const std::string& text) { return t.runner.fault(init + text, {}, t.options()); };
  CHECK(fault(t.load_text({0, 0, 0, 0}, {0, 0}, 64)).id == "misaligned-tile");
  CHECK(fault(t.load_text({4, 0, 0, 0}, {0, 0})).id == "misaligned-box");
  CHECK(fault(t.load_text({0, 0, 0, 0}, {0, 0}, kWindow - 128)).id == "out-of-bounds");
  CHECK(fault(t.load_text({0, 0, 0, 0}, {0})).id == "unsupported-instruction");
  CHECK(fault(t.load_text({0, 0, 0}, {0})).id == "tensor-map-invalid");  // of rank 4

  auto f = fault(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%rd2, {0, 0, 0, "
      "0}], [bar];");
  CHECK(f.id == "tensor-map-invalid");
  CHECK(f.title.find("tile mode uses a tensor map of im2col mode") != std::string::npos);
  f = fault("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%rd2, {0, 0, 0, 0}], [tile];");
  CHECK(f.id == "tensor-map-invalid");
  const std::string store = "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%rd2, ";
  for (const char* start : {"{-8, 0, 0, 0}", "{0, 0, 0, -1}"})
    CHECK(fault(store + start + "], [tile];").id == "store-before-tensor");
  CHECK(fault("cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [%rd2, {0, 0, 0, 0}], {1, 2};").id ==
        "none");
  CHECK(fault("cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [%rd2, {0, 0, 0, 0}];").id ==
        "unsupported-instruction");

  Images other(padded());
  Options o = other.options();
  rules::TensorMapArguments boxes = other.map;
  boxes.im2col = false;
  boxes.box[0] = 8;
  o.declarations =
      ".shared .align 1024 .b8 tile[8192];\n.shared .align 8 .b64 bar;\n" + declare_map(".global", boxes);
  f = other.runner.fault(init + other.load_text({0, 0, 0, 0}, {0, 0}), {}, o);
  CHECK(f.id == "tensor-map-invalid");
  CHECK(f.hint.find("cuTensorMapEncodeIm2col") != std::string::npos);
}

TEST_CASE(
    "cp.async.bulk.tensor.im2col: images larger than their allocation are out of bounds where they are read") {
  Images t(padded());
  t.map.size[3] = 4;
  CHECK(t.runner
            .fault("mbarrier.init.shared::cta.b64 [bar], 1;\n" + t.load_text({0, 0, 0, 2}, {0, 0}), {},
                   t.options())
            .id == "out-of-bounds");
}

TEST_CASE(
    "cp.async.bulk.tensor.im2col: a copy starts in its map's box, and the box of a store lies in the tensor") {
  Images t(padded());  // W -1 .. 4, H -1 .. 3
  const auto id = [](Images& of, const std::string& text) {
    return of.runner
        .fault("mbarrier.init.shared::cta.b64 [bar], 1;\nmov.u64 %rd1, map;\ncvta.global.u64 %rd2, %rd1;\n" +
                   text,
               {}, of.options())
        .id;
  };
  const Numbers inside[] = {{0, -1, -1, 0}, {0, 4, 3, 2}, {0, 0, 0, -1}, {0, 0, 0, 3}, {0, 0, 0, 2147483647}};
  for (const Numbers& at : inside) CHECK(id(t, t.load_text(at, {0, 0})) == "none");
  const Numbers beside[] = {{0, -2, 0, 0}, {0, 5, 0, 0}, {0, 0, -2, 0}, {0, 0, 4, 0}, {0, 2147483647, 0, 0}};
  for (const Numbers& at : beside) {
    const std::string where = list(at);
    CAPTURE(where);
    CHECK(id(t, t.load_text(at, {1, 1})) == "pixel-outside-box");
    CHECK(id(t, "cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [%rd2, " + where + "], {1, 1};") ==
          "pixel-outside-box");
  }
  const auto store = [](const Numbers& at) {
    return "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%rd2, " + list(at) +
           "], [tile];";
  };
  CHECK(id(t, store({0, 1, 1, 0})) == "pixel-outside-box");  // the box begins at -1
  Images wide(images({16, 6, 5, 3}, {0, 0}, {0, 1}, 4));
  CHECK(id(wide, store({0, 1, 1, 0})) == "pixel-outside-box");
  Images within(images({16, 6, 5, 3}, {1, 0}, {-1, 0}, 4));  // W 1 .. 4
  for (int w : {1, 4}) CHECK(id(within, store({0, w, 0, 0})) == "none");
  for (int w : {-1, 0, 5}) CHECK(id(within, store({0, w, 0, 0})) == "pixel-outside-box");
}

TEST_CASE(
    "cp.async.bulk.tensor.im2col: of an offset that is too large some bits are taken, and that is told") {
  Images t(padded());
  for (int by : {2, 258}) {
    const QuietReport report;
    const auto got = t.load({0, 2, 1, 1}, {by, 1}, 0, "in-order");
    CHECK(got[t.place(0, 0, 0)] == t.values[static_cast<size_t>(t.elements({0, 2, 1, 1}, {2, 1})[0])]);
    REQUIRE(report.findings().size() == (by > 255 ? 1u : 0u));
    if (report.findings().empty()) continue;
    CHECK(report.findings()[0].id == "im2col-offset");
    CHECK(report.findings()[0].title ==
          "the offset of dimension 1 is 258, and the copy engine has 8 bits for it");
  }
}

TEST_CASE("cp.async.bulk.tensor.im2col is counted") {
  Images t(padded());
  t.load({0, 2, 1, 1}, {1, 1}, 0, "in-order");
  const emu::Stats& stats = t.runner.statistics.stats();
  CHECK(stats.tensor_load_issued == 1);
  CHECK(stats.tensor_load_bytes == 640);
  CHECK(stats.mbarrier_complete_tx_bytes == 640);
  CHECK(stats.mbarrier_phases_completed == 1);
}
