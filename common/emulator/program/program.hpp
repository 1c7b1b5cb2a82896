// A kernel, decoded once: operands are slots in a warp's register frame, labels are instruction indices, types are
// baked into the executor. Nothing about PTX text is left to decide while it runs.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/findings/report.hpp"
#include "emulator/program/forms.hpp"
#include "emulator/program/names.hpp"
#include "emulator/ptx/syntax.hpp"

namespace emu {

class Warp;
class GlobalMemory;

// Where an operand lives. Bit 31: in the constant pool, else in the frame. Bit 30 (predicates): negated.
// A slot is 32 lanes of 4 bytes (types up to 32 bits) or 8 bytes (64-bit types); a predicate is one 32-bit mask.
using Ref = uint32_t;
constexpr Ref kConstBit = 1u << 31;
constexpr Ref kNotBit = 1u << 30;
constexpr Ref kNoRef = 0x3FFFFFFFu;

enum class Flow : uint8_t {
  next,      // go on with the next instruction
  jumped,    // the executor changed the group's pc, or split or removed the group
  blocked,   // the group waits (Warp::block was called); it goes on when its condition holds
  converge,  // not enough lanes are here yet: retry when others have arrived at this instruction
  yield,     // go on with the next instruction, but let others run first
};

struct Inst;
using Exec = Flow (*)(Warp& warp, const Inst& inst, uint32_t mask);

// What a call hands over, in a frame or in the constant pool: `bytes` of each lane, `stride` bytes from lane to lane. A
// predicate has stride 0: it is one mask. at == kNoRef: a result that nobody wants.
struct FrameSlot {
  std::string name;
  Ref at = 0;
  uint32_t bytes = 0, stride = 0;
};

// Operand lists and other rarely used data of one instruction.
struct Extra {
  std::vector<Ref> refs;
  std::vector<int64_t> numbers;
  std::vector<FrameSlot> arguments, results;  // of a call
  std::string text;
};

// What an instruction is counted as in the statistics.
enum class Class : uint8_t { copy, address, barrier, math, memory, control, other };
constexpr int kClasses = 7;
constexpr const char* kClassNames[kClasses] = {"copy",   "address", "barrier", "math",
                                               "memory", "control", "other"};

// What an instruction does, as far as those who watch ask. They never look at its text, but to show it.
enum class Action : uint8_t {
  other,
  move,            // mov
  divide,          // by a routine: of integers, or rounded as a .rnd says
  load,            // ld
  matrix,          // ldmatrix, mma: uses a tile at once
  wgmma,           // the product: wgmma.mma_async
  fill,            // a thread's copy into shared memory: cp.async
  bulk_fill,       // a bulk or tensor copy into shared memory, reductions too
  bulk_copy,       // one that goes elsewhere: a store, a reduction in global memory, a prefetch
  wait_group,      // waits for async-groups, of whatever kind; imm: how many may be pending
  arrive,          // on an mbarrier, at once
  arrive_later,    // cp.async.mbarrier.arrive
  test_phase,      // of an mbarrier: test_wait, try_wait
  barrier,         // of the CTA or the warp
  barrier_arrive,  // bar.arrive: goes on at once
  cluster_barrier,
  fence,
  set_registers,  // setmaxnreg
};

struct Inst {
  Exec exec = nullptr;
  Ref d = kNoRef, a = kNoRef, b = kNoRef, c = kNoRef;
  Ref guard = kNoRef;   // predicate slot, kNotBit when negated
  uint32_t target = 0;  // branch target
  int64_t imm = 0;      // address offset, immediate, ...
  uint8_t bytes = 0;    // access size of one element
  uint8_t count = 1;    // vector elements
  Space space = Space::generic;
  Class cls = Class::other;
  Action action = Action::other;
  bool cluster_scope = false;  // of an arrive: its release reaches all of the cluster
  uint32_t flags = 0;          // family specific
  const Extra* extra = nullptr;
  int32_t source = -1;  // index into Program::sources
};

struct FunctionInfo {
  std::string name;
  uint32_t entry = 0;        // first instruction
  uint32_t frame_bytes = 0;  // registers, parameters and header
  uint32_t local_bytes = 0;  // .local per thread
  std::vector<FrameSlot> params, returns;
};

// A register in a frame; a predicate has 8 bytes.
struct RegisterSlot {
  Ref at = 0;
  uint32_t bytes = 0;
  bool operator<(const RegisterSlot& other) const { return at < other.at; }
};

struct Program {
  std::string name;
  const Module* module = nullptr;
  std::vector<Inst> code;
  std::vector<const Instruction*> sources;  // the text of code[i] is *sources[code[i].source]
  std::vector<std::vector<Ref>> written;    // by source: the registers it writes, predicates aside
  std::vector<std::vector<Ref>> written_predicates;
  std::vector<std::vector<RegisterSlot>> read;  // by source: what it reads, its guard and addresses included
  std::vector<uint8_t> constants;               // the constant pool: 32-lane slots
  std::deque<Extra> extras;
  std::vector<FunctionInfo> functions;  // [0] is the kernel
  std::map<std::string, uint32_t> function_index;
  std::map<uint64_t, uint32_t> function_at;  // address -> index, for indirect calls
  std::vector<KernelParam> params;
  uint32_t param_bytes = 0;
  uint32_t shared_static_bytes = 0;  // from kSharedBase; dynamic shared memory follows
  uint32_t shared_dynamic_align = 16;
  bool uses_reserved_shared = false;               // from kReservedShared
  std::map<std::string, uint32_t> shared_symbols;  // name -> address in the shared window
  bool has_calls = false;
  bool asks_for_order = false;  // among its CTAs, or may see the one in which they run (order.hpp)
  unsigned max_threads[3] = {0, 0, 0}, required_threads[3] = {0, 0, 0}, cluster[3] = {0, 0, 0};
  bool explicit_cluster = false;
  // The most registers a thread can have at launch by .maxntid or .reqntid and .minnctapersm; 0: no bound is given.
  unsigned launch_registers = 0;

  Names names;

  SourceLine line_of(const Inst& inst) const;
  SourceLine line_of(int32_t source) const;        // an index into sources; -1: no line
  std::string short_name(const Inst& inst) const;  // for a report: "mbarrier.try_wait", "bar.sync", "wgmma"
  // "a[2]", "full_bar[1]", "tile+1024" for a shared address; hex when no variable is there.
  std::string shared_name(uint32_t address) const { return names.shared(address); }
  // The same, where the address is an mbarrier's: an array there is one of mbarriers.
  std::string barrier_name(uint32_t address) const { return names.shared(address, 8); }
};

// The shared window of a CTA starts with 1 KiB that belongs to the system (compute capability 9.0).
constexpr uint32_t kSharedBase = 1024;
// The part of it that a kernel may use which asks for %reserved_smem_offset_1: cooperative groups of several warps keep
// up to 288 bytes there, and rely on zeros in the beginning.
constexpr uint32_t kReservedShared = 512;

// The head of a frame of registers. All lanes of a frame are in the same function; each has its own way back.
struct FrameHead {
  uint32_t return_pc[32];
  uint32_t caller[32];  // offset of the frame to return to
  uint32_t local[32];   // where the local memory of this activation begins
  uint32_t lanes;       // that are in this function, or in what it calls
  uint32_t function;    // index in Program::functions
  uint32_t depth;       // calls between the kernel and this frame
};
constexpr uint32_t kFrameHeader = 512;
static_assert(sizeof(FrameHead) <= kFrameHeader);

// Global and constant symbols of a module: name -> device address.
using SymbolTable = std::map<std::string, uint64_t>;
// The address of a device function (for function pointers and virtual tables): the same in every kernel of a module.
// 0 when the module has no such function.
constexpr uint64_t kFunctionWindow = 0x0005'0000'0000'0000ull;
uint64_t function_address(const Module& module, const std::string& name);

// Decodes the entry and everything it calls. Throws Fault (id "unsupported-instruction", "ptx-syntax", ...).
std::unique_ptr<Program> decode(const Module& module, const Function& entry, const SymbolTable& symbols);

// What the decode functions of isa/*.cpp use.
class Decoder {
 public:
  Decoder(const Module& module, Program& program, const SymbolTable& symbols);
  void decode_entry(const Function& entry);

  const Instruction& text() const { return *text_; }
  const Operand& operand(size_t i) const;  // refuses when there is none
  size_t operand_count() const { return text_->operands.size(); }

  bool is_register(const Operand& o) const;
  bool is_sink(const Operand& o) const { return o.kind == Operand::Kind::sink; }
  Type register_type(const Operand& o) const;  // Type::none when it is not a declared register
  // Bytes of a lane in the register's slot: 4 or 8; 0 for predicates and non-registers.
  unsigned slot_width(const Operand& o) const;

  // Source of the given type: a register of that size, a constant, register + constant, a special register or the address
  // of a symbol.
  Ref source(const Operand& o, Type type);
  // Destination register; a sink gets a scratch slot.
  Ref destination(const Operand& o, Type type);
  // As source() and destination(), where the register may be wider than the type; *width gets 4 or 8.
  Ref source_any(const Operand& o, Type type, unsigned* width);
  Ref destination_any(const Operand& o, Type type, unsigned* width);
  // Predicates. A source may be negated (kNotBit) or an immediate 0/1.
  Ref predicate(const Operand& o);
  Ref predicate_destination(const Operand& o);
  Ref constant(uint64_t bits, unsigned width);
  Ref scratch(unsigned bytes_per_lane);

  // [base + offset]: fills inst.a (64-bit lanes for 64-bit registers, else 32-bit lanes with kAddress32 in flags),
  // inst.imm and inst.space. Parameters become Space::param with the offset resolved.
  void address(const Operand& o, Space space, Inst& inst);
  // As address(), for a second address of the same instruction.
  struct Address {
    Ref base = kNoRef;  // kNoRef: the offset is the whole address
    bool wide = false;  // base has 64-bit lanes
    int64_t offset = 0;
    Space space = Space::generic;
  };
  Address address_of(const Operand& o, Space space);

  int64_t immediate(const Operand& o, const char* what);
  Extra& extra(Inst& inst);
  [[noreturn]] void refuse(const std::string& message, const std::string& hint = "") const;

  // control flow
  void branch_to(const Operand& o);                          // fills target of the instruction being decoded
  void branch_list(const std::string& label, Extra& extra);  // .branchtargets: fills extra.numbers with pcs
  uint32_t function_of(const std::string& name);             // index in Program::functions; decodes it later
  void need_all_function_pointers();  // an indirect call may reach every function in a table
  const Function& function() const { return *function_; }
  const Module& module() const { return module_; }
  Program& program() { return program_; }
  // A .param variable of the function.
  bool find_frame_slot(const std::string& name, FrameSlot* out) const;
  // The operands of a call, as its callee or prototype declares them.
  std::vector<FrameSlot> call_slots(const std::vector<Operand>& operands,
                                    const std::vector<Variable>& declared, bool results);

 private:
  struct Fixup {
    uint32_t inst = 0;      // whose target is set, unless
    Extra* list = nullptr;  // this element of a list is
    size_t index = 0;
    std::string label;
  };
  std::vector<Fixup> fixups_;
  const Module& module_;
  Program& program_;
  const SymbolTable& symbols_;
  const Function* function_ = nullptr;
  const Instruction* text_ = nullptr;
  uint32_t frame_top_ = 0;
  std::unordered_map<std::string, Ref> register_slots_;
  std::map<std::string, FrameSlot> frame_slots_;
  std::map<std::string, uint32_t> local_symbols_;
  std::map<std::pair<uint64_t, unsigned>, Ref> constant_slots_;
  std::vector<const Function*> pending_;

  void decode_function(const Function& f, uint32_t index);
  void place_shared(const Function& entry);
  void place_variables(const Function& f, FunctionInfo& info);
  Ref register_slot(const Operand& o);
  Ref read_slot(const Operand& o);  // the same, of a register that the instruction reads
  Ref register_sum(const Operand& o);
  FrameSlot call_slot(const Operand& o, const Variable& declared, bool result);
  uint32_t take_frame_bytes(uint64_t bytes);
  void check_register(const Operand& o, Type type, bool wider) const;
  Ref destination_slot(const Operand& o, Type type, bool wider, unsigned* width);
  // Puts an instruction in front that fills a scratch slot.
  Ref read_first(Exec exec, unsigned width, Ref from, uint64_t immediate);
  bool symbol_address(const Operand& o, uint64_t* value, Space* space, bool* per_lane);
  Ref special_register(const std::string& name, unsigned width);
  void decode_instruction(const Instruction& in);
};

constexpr uint32_t kAddress32 = 1u << 31;  // in Inst::flags: the base has 32-bit lanes

}  // namespace emu
