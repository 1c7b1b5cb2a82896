// Tensor maps: arguments near those that are valid, the 128 bytes changed, and copies through such maps.
#include <cstring>

#include "emulator/findings/report.hpp"
#include "emulator/machine/tensor_map.hpp"
#include "emulator/runtime/device.hpp"
#include "target.hpp"

namespace readers {
namespace {

constexpr uint64_t kTensorBytes = 1 << 16;

rules::TensorMapArguments arguments(Random& random, uint64_t address) {
  rules::TensorMapArguments a;
  a.type = static_cast<int>(random.below(random.one_in(8) ? 20 : 13));
  a.rank = static_cast<uint32_t>(random.one_in(20) ? edge(random) : 1 + random.below(5));
  a.address = address;
  const uint64_t element = a.type < 16 ? std::max(1u, rules::tensor_map_type(a.type).bytes) : 4;
  uint64_t bytes = element;
  for (int i = 0; i < 5; ++i) {
    a.size[i] = random.one_in(20) ? edge(random) : 1 + random.below(i ? 4 : 64);
    a.box[i] = static_cast<uint32_t>(random.one_in(20) ? edge(random)
                                     : i               ? 1 + random.below(4)
                                                       : (1 + random.below(8)) * 16 / element);
    a.element_stride[i] = static_cast<uint32_t>(random.one_in(20) ? edge(random) : 1 + random.one_in(4));
    bytes = (bytes * a.size[i] + 15) / 16 * 16;
    if (i < 4) a.stride_bytes[i] = random.one_in(20) ? edge(random) : bytes;
  }
  a.swizzle = static_cast<int>(random.below(random.one_in(10) ? 8 : 4));
  a.interleave = random.one_in(20) ? static_cast<int>(random.below(4)) : 0;
  a.l2_promotion = static_cast<int>(random.below(4));
  a.oob_fill = static_cast<int>(random.below(random.one_in(20) ? 4 : 2));
  a.im2col = random.one_in(3);
  if (!a.im2col) return a;
  if (!random.one_in(20)) a.rank = static_cast<uint32_t>(3 + random.below(3));
  for (int i = 0; i < 3; ++i) {
    a.lower_corner[i] =
        random.one_in(20) ? static_cast<int>(edge(random)) : -static_cast<int>(random.below(2));
    a.upper_corner[i] =
        random.one_in(20) ? static_cast<int>(edge(random)) : static_cast<int>(random.below(2));
  }
  a.channels_per_pixel = a.box[0];
  a.pixels_per_column = static_cast<uint32_t>(random.one_in(20) ? edge(random) : 1 + random.below(64));
  return a;
}

struct Bytes {
  alignas(64) std::byte map[emu::kTensorMapBytes] = {};
};

// The bytes of a map, maybe with fields replaced and bits changed.
Bytes map(Random& random, uint64_t address) {
  Bytes b;
  std::string why;
  for (int tries = 0; tries < 50; ++tries) {
    const rules::TensorMapArguments a = arguments(random, address);
    const int code = emu::encode_tensor_map(b.map, a, &why);
    if ((code == emu::kTensorMapSuccess) == !why.empty())
      throw Broken("a code without its reason, or a reason without it: " + why);
    if (code != emu::kTensorMapSuccess) continue;
    emu::TensorMap decoded;
    if (!emu::decode_tensor_map(b.map, &decoded)) throw Broken("a map that was encoded cannot be read");
    if (decoded.rank != a.rank || decoded.address != a.address)
      throw Broken("a map that was encoded reads otherwise");
    break;
  }
  for (size_t i = random.below(4); i > 0; --i)
    emu::replace_tensor_map_field(b.map, static_cast<emu::MapField>(random.below(10)),
                                  static_cast<unsigned>(random.below(6)),
                                  random.one_in(2) ? edge(random) : random.below(300), &why);
  if (random.one_in(2))
    for (size_t i = random.below(4); i > 0; --i)
      b.map[random.below(sizeof b.map)] = static_cast<std::byte>(random.bits());
  return b;
}

// One thread that copies a box of any rank from or to the tensor, through a map in global memory; in im2col mode, if `store` is 2
// or 3.
std::string kernel() {
  std::string text =
      ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 128 .b8 tile[];\n"
      ".visible .entry copy(.param .u64 map, .param .u32 rank, .param .u32 c, .param .u32 store) {\n.reg .pred %p<4>;\n"
      ".reg .b16 %rs<2>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n.shared .align 8 .b64 bar;\nld.param.u64 %rd1, [map];\n"
      "ld.param.u32 %r1, [rank];\nld.param.u32 %r2, [c];\nld.param.u32 %r3, [store];\nmov.u32 %r4, tile;\n"
      "cvt.u16.u32 %rs1, %r2;\nmov.u32 %r5, bar;\nmbarrier.init.shared.b64 [%r5], 1;\nand.b32 %r6, %r3, 1;\n"
      "setp.ne.u32 %p2, %r6, 0;\nsetp.gt.u32 %p3, %r3, 1;\n";
  for (int rank = 1; rank <= 5; ++rank) {
    std::string coordinates = "%r2", offsets = "%rs1";
    for (int i = 1; i < rank; ++i) coordinates += ", %r2";
    for (int i = 3; i < rank; ++i) offsets += ", %rs1";
    const std::string n = std::to_string(rank);
    const auto load = [&](const std::string& mode, const std::string& operands) {
      return "cp.async.bulk.tensor." + n + "d.shared::cluster.global" + mode +
             ".mbarrier::complete_tx::bytes [%r4], [%rd1, {" + coordinates + "}], [%r5]" + operands +
             ";\nbra DONE;\n";
    };
    const auto store = [&](const std::string& mode) {
      return "cp.async.bulk.tensor." + n + "d.global.shared::cta" + mode + ".bulk_group [%rd1, {" +
             coordinates + "}], [%r4];\nbra DONE;\n";
    };
    text += "setp.ne.u32 %p1, %r1, " + n + ";\n@%p1 bra NEXT" + n + ";\n@%p3 bra PIXELS" + n +
            ";\n@%p2 bra STORE" + n + ";\n" + load("", "") + "STORE" + n + ":\n" + store("") + "PIXELS" + n +
            ":\n";
    if (rank >= 3)
      text += "@%p2 bra STORE_PIXELS" + n + ";\n" + load(".im2col", ", {" + offsets + "}") + "STORE_PIXELS" +
              n + ":\n" + store(".im2col_no_offs");
    text += "NEXT" + n + ":\n";
  }
  return text + "DONE:\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nret;\n}\n";
}

}  // namespace

void run_tensor_map(Random& random) {
  const Bytes b = map(random, 16 * (1 + random.below(1000)));
  emu::TensorMap decoded;
  if (!emu::decode_tensor_map(b.map, &decoded)) return;
  const std::string broken = emu::broken_rule(decoded);
  if (broken.empty() && decoded.tile_bytes() == 0) throw Broken("a map that breaks no rule moves nothing");
}

void run_map_in_memory(Random& random) {
  emu::Device& device = emu::Device::instance();
  static const emu::LoadedModule& module = device.load({kernel()});
  static const uint64_t tensor = device.machine.memory.allocate(kTensorBytes, "tensor");
  static const uint64_t place = device.machine.memory.allocate(emu::kTensorMapBytes, "map");
  const Bytes b = map(random, tensor);
  std::memcpy(device.machine.memory.at(place, sizeof b.map), b.map, sizeof b.map);
  emu::TensorMap decoded;
  const bool whole = emu::decode_tensor_map(b.map, &decoded);
  uint64_t address = place;
  uint32_t rank = whole && !random.one_in(10) ? decoded.rank : static_cast<uint32_t>(1 + random.below(5));
  uint32_t start = static_cast<uint32_t>(random.one_in(4) ? edge(random) : random.below(8)),
           store = random.one_in(2) + (whole && decoded.im2col != random.one_in(10) ? 2 : 0);
  const void* arguments[] = {&address, &rank, &start, &store};
  emu::LaunchConfig config;
  config.grid = config.block = {1, 1, 1};
  config.dynamic_shared = 200 << 10;
  emu::Report& report = emu::Report::instance();
  report.quiet = true;
  try {
    device.launch(*module.kernel("copy"), config, arguments);
  } catch (const emu::Fault& fault) {
    report.add(fault.finding());
  }
  for (const emu::Finding& f : report.findings()) require_json(f.json());
  report.clear();
}

}  // namespace readers
