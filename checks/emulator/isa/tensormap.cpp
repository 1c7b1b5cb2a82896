// tensormap.replace field by field, tensormap.cp_fenceproxy, and copies that use a changed map (PTX ISA 9.7.9.28).
#include "emulator/machine/tensor_map.hpp"

#include "support.hpp"

using namespace emu_test;

namespace {

// A map of 16-bit elements, 64 x 32 x 4, boxes of 16 x 8 x 2.
std::vector<uint32_t> example() {
  std::vector<uint32_t> words(emu::kTensorMapBytes / 4);
  std::string why;
  REQUIRE(emu::encode_tensor_map(words.data(), {1, 3, 0x1000, {64, 32, 4}, {128, 4096}, {16, 8, 2}}, &why) ==
          0);
  return words;
}

Options options() {
  Options o;
  o.in_words = o.out_words = 32;
  o.declarations = ".shared .align 128 .b8 map[128];\n";
  return o;
}

std::string copy(const std::string& load, const std::string& store) {
  std::string text;
  for (int i = 0; i < 128; i += 16) {
    const std::string at = "+" + std::to_string(i) + "]";
    text += load + at + ";\n" + store + at + ", {%r0, %r1, %r2, %r3};\n";
  }
  return text;
}
const std::string kToShared = copy("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%in", "st.shared.v4.u32 [map");
const std::string kFromShared = copy("ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [map", "st.global.v4.u32 [%out");

emu::TensorMap decoded(const std::vector<uint32_t>& words) {
  emu::TensorMap map;
  REQUIRE(emu::decode_tensor_map(reinterpret_cast<const std::byte*>(words.data()), &map));
  return map;
}

// The example after these instructions on its copy in shared memory.
emu::TensorMap changed(const std::string& body) {
  return decoded(Runner().run(kToShared + body + kFromShared, example(), options()));
}

std::string replace(const std::string& field, const std::string& operands, const char* type = "b32") {
  return "tensormap.replace.tile." + field + ".shared::cta.b1024." + type + " [map], " + operands + ";\n";
}

}  // namespace

TEST_CASE("tensormap.replace changes the field it names") {
  CHECK(changed(replace("global_address", "0x4560", "b64")).address == 0x4560);
  CHECK(changed(replace("rank", "1")).rank == 2);  // zero-based
  CHECK(changed(replace("box_dim", "1, 4")).box[1] == 4);
  CHECK(changed(replace("box_dim", "0, 256")).box[0] == 256);
  CHECK(changed(replace("global_dim", "2, 7")).size[2] == 7);
  CHECK(changed(replace("global_stride", "0, 256", "b64")).stride[1] == 256);
  CHECK(changed(replace("element_stride", "1, 2")).step[1] == 2);
  CHECK(changed(replace("swizzle_mode", "3")).swizzle == emu::Swizzle::span128);
  CHECK(changed(replace("interleave_layout", "1")).interleave == 1);
  CHECK(changed(replace("fill_mode", "1")).nan_fill);
  const emu::TensorMap one = changed("mov.u32 %r9, 5;\n" + replace("global_dim", "1, %r9"));
  CHECK(one.size[1] == 5);  // from a register
  CHECK(one.size[0] == 64);
  CHECK(one.box[2] == 2);
}

TEST_CASE("tensormap.replace: the codes of element types are not those of the driver") {
  using emu::ElementType;
  const ElementType types[] = {ElementType::u8,      ElementType::u16, ElementType::u32,  ElementType::s32,
                               ElementType::u64,     ElementType::s64, ElementType::f16,  ElementType::f32,
                               ElementType::f32_ftz, ElementType::f64, ElementType::bf16, ElementType::tf32,
                               ElementType::tf32_ftz};
  for (int code = 0; code < 13; ++code) {
    CAPTURE(code);
    CHECK((changed(replace("elemtype", std::to_string(code))).type == types[code]));
  }
}

TEST_CASE("tensormap.replace in global memory") {
  const std::string body = "tensormap.replace.tile.global_dim.global.b1024.b32 [%in], 0, 48;\n" +
                           copy("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%in", "st.global.v4.u32 [%out");
  CHECK(decoded(Runner().run(body, example(), options())).size[0] == 48);
}

TEST_CASE("tensormap.replace refuses values that no map can have, and what is no map") {
  const auto id = [](const std::string& body) {
    return Runner().fault(kToShared + body, example(), options()).id;
  };
  CHECK(id(replace("global_address", "0x4568", "b64")) == "tensor-map-invalid");
  CHECK(id(replace("rank", "5")) == "tensor-map-invalid");
  CHECK(id(replace("box_dim", "1, 0")) == "tensor-map-invalid");
  CHECK(id(replace("box_dim", "1, 257")) == "tensor-map-invalid");
  CHECK(id(replace("global_stride", "1, 8", "b64")) == "tensor-map-invalid");
  CHECK(id(replace("element_stride", "1, 9")) == "tensor-map-invalid");
  CHECK(id(replace("swizzle_mode", "4")) == "tensor-map-invalid");
  CHECK(id("st.shared.u32 [map+8], 1;\n" + replace("rank", "1")) == "tensor-map-invalid");
  CHECK(id(replace("box_dim", "5, 4")) == "unsupported-instruction");
  CHECK(id(replace("elemtype", "%r0")) == "unsupported-instruction");
  CHECK(id(replace("rank", "1", "b64")) == "unsupported-instruction");
  CHECK(id("tensormap.replace.im2col.rank.shared::cta.b1024.b32 [map], 1;\n") == "unsupported-instruction");
  CHECK(id("mov.u32 %r9, map;\nadd.u32 %r9, %r9, 8;\n"
           "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r9], 1;\n") == "misaligned-address");
}

TEST_CASE("tensormap.cp_fenceproxy copies the map and releases it") {
  struct Seen : emu::Observer {
    int releases = 0;
    void on_fence(emu::Warp&, const emu::Inst&, uint32_t, emu::FenceKind kind, bool) override {
      releases += kind == emu::FenceKind::tensormap_release;
    }
  } seen;
  Options o = options();
  o.threads = 32;
  o.in_words = o.out_words = 1;
  o.observer = &seen;
  // every lane brings one word of the map
  const std::string body =
      "mov.u32 %r9, map;\nmad.lo.u32 %r9, %t, 4, %r9;\nld.global.u32 %r0, [%in];\nst.shared.u32 [%r9], %r0;\n"
      "bar.warp.sync 0xffffffff;\nmul.wide.u32 %rd1, %t, 4;\nsub.u64 %rd2, %out, %rd1;\n"
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2], [map], "
      "128;\n";
  CHECK(Runner().run(body, example(), o) == example());
  CHECK(seen.releases == 1);
  CHECK(Runner()
            .fault("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
                   "[%out], "
                   "[map], 64;\n",
                   {}, options())
            .id == "unsupported-instruction");
}

TEST_CASE("a copy refuses a changed map that breaks a rule of the encoding") {
  Options o = options();
  o.declarations += ".shared .align 128 .b8 tile[1024];\n.shared .align 8 .b64 bar;\n";
  const auto run = [&](const std::string& change) {
    const std::string body =
        "tensormap.replace.tile.global_address.global.b1024.b64 [%in], %in;\n" + change +
        "mbarrier.init.shared::cta.b64 [bar], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n"
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%in, {0, "
        "0, 0}], "
        "[bar];\nL: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra L;\n";
    return Runner().fault(body, example(), o).id;
  };
  const std::string small =
      "tensormap.replace.tile.global_dim.global.b1024.b32 [%in], 1, 1;\n"
      "tensormap.replace.tile.global_dim.global.b1024.b32 [%in], 2, 1;\n";
  CHECK(run(small) == "none");
  // 64 elements of 2 bytes are more than the 64-byte swizzle spans
  CHECK(run(small + "tensormap.replace.tile.box_dim.global.b1024.b32 [%in], 0, 64;\n"
                    "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%in], 2;\n") ==
        "tensor-map-invalid");
}
