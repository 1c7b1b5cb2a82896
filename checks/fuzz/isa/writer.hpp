// The text of one kernel or function while it grows: registers, operands, labels, and the slots that keep results.
#pragma once

#include <string>
#include <vector>

#include "random.hpp"
#include "values.hpp"

namespace fuzz_isa {

constexpr unsigned kSlots = 48;       // results of a thread that a program can keep
constexpr unsigned kOwnBytes = 64;    // of shared, local and global memory that each thread has for itself
constexpr unsigned kCommonWords = 8;  // of shared memory that all threads of a program share
constexpr unsigned kSlotBytes = kThreads * 8;

// Registers of a class have the same size; all of them have a value from the start.
constexpr unsigned kPredicates = 6, kHalves = 8, kWords = 10, kDoubles = 8;

// A function that a program has. Its parameters: the pools, the lanes that come along, how often it may call itself, and values.
struct Callee {
  std::string name;
  std::vector<unsigned> bits;  // of the values
  bool warp = false;           // has instructions of warps: the lanes that call it must be known
  bool pair = false;           // returns 16 bytes, else 8
};

class Writer {
 public:
  Writer(Random& random, bool is_function) : random(random), is_function_(is_function) {}

  Random& random;
  std::string text;
  std::string prefix;  // of labels and names: a kernel is written by several of these
  unsigned slots = 0;
  std::vector<Callee> callees;  // that may be called from here
  bool all_lanes = true;        // every thread of the program comes along here
  std::string mask;  // the register with the lanes of this warp that come along here together; "": not known

  template <class... Parts>
  void line(const Parts&... parts) {
    text += "  ";
    (add(parts), ...);
    text += ";\n";
  }
  void label(const std::string& name) { text += name + ":\n"; }
  void open() { text += "  {\n"; }
  void close() { text += "  }\n"; }

  std::string new_label() { return "L" + prefix + std::to_string(labels_++); }
  // A name for a register or variable of a { block }.
  std::string new_name(const char* begin) { return begin + prefix + std::to_string(names_++); }

  // A register of so many bits; 1: a predicate.
  std::string any(unsigned bits);
  // A source: a register that has something, one that is loaded from the pool of its type, or a constant.
  std::string source(const std::string& type, bool may_be_constant = true);
  std::string from_pool(Pool pool, unsigned bits);
  std::string constant(const std::string& type);
  std::string predicate_source();  // p, or !p
  // Called once before the sources of an instruction: what is loaded for one stays until the next call.
  void new_instruction() { taken_.clear(); }

  // Keeps what a register has: in a slot of its own, or, in a function, in what it returns.
  void keep(const std::string& name, unsigned bits);

  // A NaN of 32 or 64 bits becomes the canonical one.
  void one_nan(const std::string& name, unsigned bits);

  static Pool pool_of(const std::string& type);
  bool is_function() const { return is_function_; }

 private:
  void add(const std::string& part) { text += part; }
  void add(const char* part) { text += part; }
  void add(uint64_t part) { text += std::to_string(part); }
  void add(int64_t part) { text += std::to_string(part); }
  void add(int part) { text += std::to_string(part); }
  void add(unsigned part) { text += std::to_string(part); }

  std::vector<std::string> taken_;
  unsigned labels_ = 0, names_ = 0;
  bool is_function_;
};

// ---- statements: each writes instructions that are defined whatever the registers have, and keeps results
void write_instruction(Writer& w);  // one of the table
void write_carries(Writer& w);
void write_pack(Writer& w);
void write_constant_expression(Writer& w);
void write_special_register(Writer& w);
void write_warp(Writer& w);  // needs a mask
void write_own_memory(Writer& w);
void write_exchange(Writer& w);  // needs all lanes
void write_atomic(Writer& w);
void write_common(Writer& w);  // needs all lanes
void write_branch(Writer& w, int depth);
void write_ladder(Writer& w, int depth);
void write_loop(Writer& w, int depth);
void write_switch(Writer& w, int depth);
void write_call(Writer& w);
void write_indirect_call(Writer& w);
void write_recursion(Writer& w, const Callee& self);

// Several statements, in straight line and others.
void write_some(Writer& w, int count, int depth);

}  // namespace fuzz_isa
