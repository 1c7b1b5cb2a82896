#include "support.hpp"

namespace emu_test {

namespace {

std::string module_text(const std::string& body, const Options& o) {
  return ".version 8.6\n.target sm_90a\n.address_size 64\n" + o.declarations +
         "\n.visible .entry test(.param .u64 out_pointer, .param .u64 in_pointer) {\n"
         ".reg .pred %p<16>;\n.reg .b16 %rs<64>;\n.reg .b32 %r<64>;\n.reg .f32 %f<64>;\n.reg .b64 %rd<64>;\n"
         ".reg .f64 %fd<64>;\n.reg .b32 %t, %global_thread;\n.reg .b64 %in, %out, %scale;\n"
         "mov.u32 %t, %tid.x;\nmov.u32 %global_thread, %ctaid.x;\n"
         "mad.lo.u32 %global_thread, %global_thread, " +
         std::to_string(o.threads) +
         ", %t;\n"
         "ld.param.u64 %in, [in_pointer];\nld.param.u64 %out, [out_pointer];\n"
         "mul.wide.u32 %scale, %global_thread, " +
         std::to_string(o.in_words * 4) +
         ";\nadd.u64 %in, %in, %scale;\n"
         "mul.wide.u32 %scale, %global_thread, " +
         std::to_string(o.out_words * 4) + ";\nadd.u64 %out, %out, %scale;\n" + body + "\nret;\n}\n";
}

}  // namespace

std::vector<uint32_t> Runner::run(const std::string& body, const std::vector<uint32_t>& input,
                                  const Options& o) {
  emu::Module module = emu::parse_ptx(module_text(body, o));
  emu::SymbolTable symbols;
  for (auto& v : module.variables) {
    if (v.space == emu::Space::shared) continue;
    uint64_t a = machine.memory.allocate(v.bytes, v.name, v.align);
    std::memset(machine.memory.at(a, v.bytes), 0, v.bytes);
    if (!v.initial.empty()) std::memcpy(machine.memory.at(a, v.bytes), v.initial.data(), v.initial.size());
    if (v.space == emu::Space::constant) machine.memory.set_constant(a);
    symbols[v.name] = a;
  }
  auto program = emu::decode(module, *module.find_function("test"), symbols);
  size_t threads = static_cast<size_t>(o.threads) * o.ctas;
  uint64_t in = machine.memory.allocate(threads * o.in_words * 4, "in");
  uint64_t out = machine.memory.allocate(threads * o.out_words * 4, "out");
  std::memcpy(machine.memory.at(in, 0), input.data(), std::min(input.size(), threads * o.in_words) * 4);
  emu::LaunchConfig config;
  config.grid.x = o.ctas;
  config.block.x = o.threads;
  config.cluster.x = o.cluster;
  config.dynamic_shared = o.dynamic_shared;
  config.params.resize(16);
  std::memcpy(&config.params[0], &out, 8);
  std::memcpy(&config.params[8], &in, 8);
  const unsigned cores = machine.schedule.cores;
  machine.schedule = emu::Schedule::from(o.schedule);
  machine.schedule.cores = cores;
  const Watch watch(machine, o.observer);
  machine.launch(*program, config);
  std::vector<uint32_t> result(threads * o.out_words);
  std::memcpy(result.data(), machine.memory.at(out, result.size() * 4), result.size() * 4);
  return result;
}

emu::Finding Runner::fault(const std::string& body, const std::vector<uint32_t>& input, const Options& o) {
  try {
    run(body, input, o);
  } catch (const emu::Fault& f) {
    return f.finding();
  }
  return emu::Finding(emu::Id::none);
}

std::vector<uint32_t> run_one(const std::string& body, const std::vector<uint32_t>& input,
                              unsigned out_words) {
  Runner r;
  Options o;
  o.in_words = static_cast<unsigned>(input.empty() ? 1 : input.size());
  o.out_words = out_words;
  return r.run(body, input, o);
}

std::string declare_map(const std::string& space, const rules::TensorMapArguments& map) {
  alignas(64) std::byte bytes[emu::kTensorMapBytes];
  std::string why;
  const int code = emu::encode_tensor_map(bytes, map, &why);
  CAPTURE(why);
  REQUIRE(code == 0);
  return declare_map(space, bytes);
}

std::string declare_map(const std::string& space, const std::byte* encoded) {
  std::string text = space + " .align 128 .b8 map[128] = {";
  for (size_t i = 0; i < emu::kTensorMapBytes; ++i)
    text += (i ? ", " : "") + std::to_string(static_cast<unsigned>(encoded[i]));
  return text + "};\n";
}

}  // namespace emu_test
