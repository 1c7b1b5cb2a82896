// Runs a few lines of PTX on the emulator and hands back what they stored.
//
// The body may use, undeclared: %t (thread index), %in and %out (64-bit addresses of this thread's input and output
// words), %p0..15, %rs0..63 (16 bit), %r0..63 and %f0..63 (32 bit), %rd0..63 and %fd0..63 (64 bit).
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "emulator/machine/async.hpp"
#include "emulator/machine/machine.hpp"
#include "emulator/machine/mbarrier.hpp"
#include "emulator/machine/statistics.hpp"

namespace emu_test {

struct Options {
  unsigned threads = 1;  // per CTA
  unsigned ctas = 1;
  unsigned cluster = 1;
  unsigned in_words = 4;   // 32-bit words of input per thread
  unsigned out_words = 4;  // of output per thread
  unsigned dynamic_shared = 0;
  std::string declarations;  // module scope: variables, functions
  std::string schedule = "in-order";
  emu::Observer* observer = nullptr;
};

inline std::string module_text(const std::string& body, const Options& o) {
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

// An observer (or none) that watches as long as this lives.
class Watch {
 public:
  Watch(emu::Machine& machine, emu::Observer* observer) : machine_(machine), observer_(observer) {
    if (observer_) machine_.observers.add(*observer_);
  }
  ~Watch() {
    if (observer_) machine_.observers.remove(*observer_);
  }
  Watch(const Watch&) = delete;

 private:
  emu::Machine& machine_;
  emu::Observer* observer_;
};

struct Runner {
  emu::Machine machine;
  emu::Statistics statistics;

  Runner() { machine.observers.add(statistics); }

  // Input words thread by thread; returns out_words words a thread. Words never stored keep 0x7FFF7FFF.
  std::vector<uint32_t> run(const std::string& body, const std::vector<uint32_t>& input = {},
                            const Options& o = {}) {
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
    machine.schedule = emu::Schedule::from(o.schedule);
    const Watch watch(machine, o.observer);
    machine.launch(*program, config);
    std::vector<uint32_t> result(threads * o.out_words);
    std::memcpy(result.data(), machine.memory.at(out, result.size() * 4), result.size() * 4);
    return result;
  }

  // The finding that ends the run (or the load); id "none" when it ends well.
  emu::Finding fault(const std::string& body, const std::vector<uint32_t>& input = {},
                     const Options& o = {}) {
    try {
      run(body, input, o);
    } catch (const emu::Fault& f) {
      return f.finding();
    }
    return emu::Finding(emu::Id::none);
  }
};

// One thread, `out_words` results.
inline std::vector<uint32_t> run_one(const std::string& body, const std::vector<uint32_t>& input = {},
                                     unsigned out_words = 4) {
  Runner r;
  Options o;
  o.in_words = static_cast<unsigned>(input.empty() ? 1 : input.size());
  o.out_words = out_words;
  return r.run(body, input, o);
}

}  // namespace emu_test
