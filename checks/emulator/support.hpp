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
#include "emulator/machine/tensor_map.hpp"

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
                            const Options& o = {});

  // The finding that ends the run (or the load); id "none" when it ends well.
  emu::Finding fault(const std::string& body, const std::vector<uint32_t>& input = {}, const Options& o = {});
};

// Declares a tensor map in a state space: ".global .align 128 .b8 map[128] = {...};". The case fails where it cannot be encoded.
std::string declare_map(const std::string& space, const rules::TensorMapArguments& map);
std::string declare_map(const std::string& space, const std::byte* encoded);

// One thread, `out_words` results.
std::vector<uint32_t> run_one(const std::string& body, const std::vector<uint32_t>& input = {},
                              unsigned out_words = 4);

}  // namespace emu_test
