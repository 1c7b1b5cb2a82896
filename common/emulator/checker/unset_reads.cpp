#include "emulator/checker/unset_reads.hpp"

#include <algorithm>
#include <set>

namespace emu::check {

namespace unset {  // no other file that is compiled with this one has these names
namespace {

constexpr Ref kPlace = ~(kConstBit | kNotBit);

bool is_register(Ref r) {
  return !(r & kConstBit) && (r & kPlace) != kNoRef;
}

const std::set<std::string> kArithmetic = {
    "abs", "add",  "addc",  "bfind", "brev", "clz",  "cnot", "copysign", "cos",   "cvt",
    "div", "dp2a", "dp4a",  "ex2",   "fma",  "lg2",  "mad",  "madc",     "mad24", "max",
    "min", "mul",  "mul24", "neg",   "not",  "popc", "rcp",  "rem",      "rsqrt", "sad",
    "set", "setp", "sin",   "sqrt",  "sub",  "subc", "tanh", "testp"};
const std::set<std::string> kCopies = {"and",  "bfe", "bfi", "cvta", "lop3", "mov",   "or", "prmt",
                                       "selp", "shf", "shl", "shr",  "slct", "szext", "xor"};
const std::set<std::string> kLeaves = {
    "atom", "bar",      "barrier",  "brx",       "cp",       "fence",     "ld",  "ldmatrix",
    "ldu",  "mbarrier", "multimem", "nanosleep", "prefetch", "prefetchu", "red", "tensormap"};

Use use_of(const Instruction& text, const Inst& in) {
  const auto has = [&](const char* modifier) {
    return std::find(text.modifiers.begin(), text.modifiers.end(), modifier) != text.modifiers.end();
  };
  if (text.opcode == "st") {
    if (has("param") || has("local") || in.space == Space::local)
      return Use::sets;  // no other thread sees it
    return has("async") ? Use::leaves : Use::address;
  }
  if (kLeaves.count(text.opcode)) return Use::leaves;
  if (text.opcode == "mma") return Use::each;
  if (in.action == Action::wgmma) return Use::product;
  const bool combines =
      (text.opcode == "set" || text.opcode == "setp") && (has("and") || has("or") || has("xor"));
  if (combines || kCopies.count(text.opcode)) return Use::all;
  return kArithmetic.count(text.opcode) ? Use::any : Use::sets;
}

// One instruction of the text.
struct Unit {
  uint32_t first = 0, last = 0;  // what it was decoded to; branches lead to the first
  Use use = Use::sets;
  Ref guard = kNoRef;
  std::vector<Ref> sources, results;       // without the guard; of Use::each, as many of one as of the other
  std::vector<std::vector<Ref>> operands;  // of a product: all it reads but the accumulators
  // Of the sources, those whose value can matter.
  const std::vector<Ref>& uses() const {
    static const std::vector<Ref> kNone;
    return use == Use::sets ? kNone : sources;
  }
};

class Bits {
 public:
  explicit Bits(size_t count = 0) : words_((count + 63) / 64) {}
  bool has(size_t i) const { return words_[i / 64] >> (i % 64) & 1; }
  void add(size_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
  // this |= (other & ~without); whether it has grown.
  bool take(const Bits& other, const Bits& without) {
    bool grown = false;
    for (size_t i = 0; i < words_.size(); ++i) {
      const uint64_t more = other.words_[i] & ~without.words_[i] & ~words_[i];
      grown = grown || more;
      words_[i] |= more;
    }
    return grown;
  }

 private:
  std::vector<uint64_t> words_;
};

struct Block {
  size_t begin = 0, end = 0;  // units
  std::vector<size_t> next;
  Bits used, set,
      live;  // at its beginning: read before they are set; set for certain; either, through those behind it
};

class Function {
 public:
  Function(const Program& program, uint32_t begin, uint32_t end) : program_(program), begin_(begin) {
    for (uint32_t pc = begin; pc < end; ++pc) {
      if (pc == begin || program.code[pc].source != program.code[pc - 1].source) {
        units_.emplace_back();
        units_.back().first = pc;
      }
      units_.back().last = pc;
    }
    for (Unit& u : units_) {
      complete(u);
      number(u.guard);
      for (Ref r : u.uses()) number(r);
      for (const auto& operand : u.operands)
        for (Ref r : operand) number(r);
      for (Ref r : u.results) number(r);
    }
  }

  // Those that may be used before they are set.
  std::set<Ref> may_be_unset() {
    make_blocks();
    for (bool grown = true; grown;) {
      grown = false;
      for (size_t i = blocks_.size(); i-- > 0;)
        for (size_t next : blocks_[i].next)
          grown = blocks_[i].live.take(blocks_[next].live, blocks_[i].set) || grown;
    }
    std::set<Ref> found;
    for (const auto& [r, n] : numbers_)
      if (r != kNoRef && blocks_[0].live.has(n)) found.insert(r);
    return found;
  }
  // A branch leads to its beginning.
  bool is_loop() const { return targets_.count(begin_) != 0; }

  const std::vector<Unit>& units() const { return units_; }
  const Inst& inst(const Unit& u) const { return program_.code[u.last]; }

 private:
  const Program& program_;
  const uint32_t begin_;
  std::vector<Unit> units_;
  std::unordered_map<Ref, size_t> numbers_;
  std::vector<Block> blocks_;
  std::set<uint32_t> targets_;

  void number(Ref r) { numbers_.emplace(r, numbers_.size()); }
  const Instruction& text(const Unit& u) const {
    return *program_.sources[static_cast<size_t>(inst(u).source)];
  }

  // d, a, b, c of mma; d and a of wgmma, beside descriptors and scale-d.
  void complete_product(Unit& u) {
    const Inst& in = inst(u);
    const bool wgmma = u.use == Use::product;
    auto next = in.extra->refs.begin();
    const auto take = [&](size_t count) {
      std::vector<Ref> registers;
      for (; count > 0; --count, ++next) registers.push_back(is_register(*next) ? *next & kPlace : kNoRef);
      return registers;
    };
    u.results = take(u.results.size());
    const auto& operands = text(u).operands;
    for (size_t i : {size_t{1}, size_t{2}})
      if (operands[i].kind == Operand::Kind::vec) u.operands.push_back(take(operands[i].items.size()));
    if (!wgmma) {
      u.sources = take(u.results.size());
      return;
    }
    for (Ref r : {in.a, in.b, in.c})
      if (is_register(r)) u.operands.push_back({r & kPlace});
    u.sources = may_accumulate(in) ? u.results : std::vector<Ref>();
  }
  // False where scale-d is the constant 0.
  bool may_accumulate(const Inst& wgmma) const {
    if (is_register(wgmma.c)) return true;
    return program_.constants[(wgmma.c & kPlace)] != 0;
  }

  void complete(Unit& u) {
    const Inst& in = inst(u);
    const auto source = static_cast<size_t>(in.source);
    for (const RegisterSlot& r : program_.read[source]) u.sources.push_back(r.at);
    u.results = program_.written[source];
    const auto& predicates = program_.written_predicates[source];
    u.results.insert(u.results.end(), predicates.begin(), predicates.end());
    u.use = use_of(text(u), in);
    if (in.guard != kNoRef && is_register(in.guard)) {
      u.guard = in.guard & kPlace;
      u.sources.erase(std::find(u.sources.begin(), u.sources.end(), u.guard));
    }
    if (u.use == Use::each || u.use == Use::product) complete_product(u);
    const std::string& opcode = text(u).opcode;
    const bool is_zero =
        (opcode == "xor" || opcode == "sub") && u.sources.size() == 2 && u.sources[0] == u.sources[1];
    if (is_zero) u.use = Use::sets;
  }

  std::vector<uint32_t> targets_of(const Unit& u) const {
    const Inst& in = inst(u);
    if (text(u).opcode == "bra") return {in.target};
    std::vector<uint32_t> all;
    if (text(u).opcode == "brx")
      for (int64_t target : in.extra->numbers) all.push_back(static_cast<uint32_t>(target));
    return all;
  }
  bool goes_on(const Unit& u) const {
    static const std::set<std::string> kLast = {"bra", "brx", "ret", "exit", "trap"};
    return inst(u).guard != kNoRef || !kLast.count(text(u).opcode);
  }

  void make_blocks() {
    for (const Unit& u : units_)
      for (uint32_t pc : targets_of(u)) targets_.insert(pc);
    std::unordered_map<uint32_t, size_t> block_at;
    for (size_t i = 0; i < units_.size(); ++i) {
      if (i == 0 || targets_.count(units_[i].first) || !targets_of(units_[i - 1]).empty() ||
          !goes_on(units_[i - 1])) {
        block_at[units_[i].first] = blocks_.size();
        blocks_.emplace_back();
        blocks_.back().begin = i;
      }
      blocks_.back().end = i + 1;
    }
    for (size_t b = 0; b < blocks_.size(); ++b) {
      Block& block = blocks_[b];
      block.used = block.set = Bits(numbers_.size());
      for (size_t i = block.begin; i < block.end; ++i) {
        const Unit& u = units_[i];
        const auto use = [&](Ref r) {
          if (!block.set.has(numbers_[r])) block.used.add(numbers_[r]);
        };
        use(u.guard);
        for (Ref r : u.uses()) use(r);
        for (const auto& operand : u.operands)
          for (Ref r : operand) use(r);
        if (inst(u).guard == kNoRef)
          for (Ref r : u.results) block.set.add(numbers_[r]);
      }
      block.live = block.used;
      const Unit& last = units_[block.end - 1];
      for (uint32_t pc : targets_of(last)) block.next.push_back(block_at.at(pc));
      if (goes_on(last) && b + 1 < blocks_.size()) block.next.push_back(b + 1);
    }
  }
};

// The registers to watch, and the instructions that are about them; nothing when no instruction uses what has no value.
class Watch {
 public:
  Watch(const Program& program, uint32_t index, uint32_t end)
      : program_(program),
        info_(program.functions[index]),
        index_(index),
        function_(program, info_.entry, end) {}

  void look(UnsetReads* out) {
    watched_ = function_.may_be_unset();
    for (const auto* slots : {&info_.params, &info_.returns})
      for (const FrameSlot& slot : *slots) parameters_.insert(slot.at);
    for (Ref r : parameters_) watched_.erase(r);
    if (watched_.empty() || (index_ != 0 && function_.is_loop())) return;
    add_computed();
    keep_used();
    if (!watched_.empty()) write(out);
  }

 private:
  const Program& program_;
  const FunctionInfo& info_;
  const uint32_t index_;
  Function function_;
  std::set<Ref> watched_, parameters_;
  std::unordered_map<Ref, uint32_t> numbers_;

  bool has(Ref r) const { return watched_.count(r) != 0; }
  // f(result, source) for each source that can leave a result without a value.
  template <class F>
  void each_step(const Unit& u, F f) const {
    if (u.use == Use::each) {
      for (size_t i = 0; i < u.results.size(); ++i) f(u.results[i], u.sources[i]);
      return;
    }
    const bool all = std::all_of(u.sources.begin(), u.sources.end(), [&](Ref r) { return has(r); });
    if (u.use != Use::any && (u.use != Use::all || !all)) return;
    for (Ref result : u.results)
      for (Ref source : u.sources) f(result, source);
  }

  // What is computed from them is watched, too.
  void add_computed() {
    for (size_t before = 0; before != watched_.size();) {
      before = watched_.size();
      for (const Unit& u : function_.units())
        each_step(u, [&](Ref result, Ref source) {
          if (has(source)) watched_.insert(result);
        });
    }
  }

  // Of all these, only what an instruction may use in the end.
  void keep_used() {
    std::set<Ref> used;
    for (const Unit& u : function_.units()) {
      used.insert(u.guard);
      if (u.use == Use::leaves || u.use == Use::address || u.use == Use::product)
        used.insert(u.sources.begin(), u.sources.end());
      for (const auto& operand : u.operands) used.insert(operand.begin(), operand.end());
    }
    for (size_t before = 0; before != used.size();) {
      before = used.size();
      for (const Unit& u : function_.units())
        each_step(u, [&](Ref result, Ref source) {
          if (used.count(result)) used.insert(source);
        });
    }
    for (auto r = watched_.begin(); r != watched_.end();)
      r = used.count(*r) ? std::next(r) : watched_.erase(r);
  }

  WatchedInst watched_inst(const Unit& u) {
    const Inst& in = function_.inst(u);
    std::vector<Ref> sources = u.sources;
    WatchedInst w;
    w.use = u.use;
    w.function = index_;
    w.begins = index_ != 0 && u.first == info_.entry;
    if (has(u.guard)) w.guard = static_cast<int32_t>(numbers_[u.guard]);
    for (const auto& operand : u.operands) {
      if (!std::all_of(operand.begin(), operand.end(), [&](Ref r) { return has(r); })) continue;
      w.operands.emplace_back();
      for (Ref r : operand) w.operands.back().push_back(numbers_[r]);
    }
    if (w.use == Use::address && is_register(in.a)) {
      const auto base = std::find(sources.begin(), sources.end(), in.a & kPlace);
      if (base != sources.end()) {
        if (has(*base)) w.address.push_back(numbers_[*base]);
        sources.erase(base);
      }
      w.other_sources = sources.size() < in.count;  // constants
    }
    if (w.use == Use::each) {
      each_step(u, [&](Ref result, Ref source) {
        if (!has(result)) return;
        w.results.push_back(numbers_[result]);
        w.sources.push_back(has(source) ? numbers_[source] : kHasValue);
      });
      return w;
    }
    for (Ref r : sources) {
      w.other_sources = w.other_sources || !has(r);
      if (has(r)) w.sources.push_back(numbers_[r]);
    }
    for (Ref r : u.results)
      if (has(r)) w.results.push_back(numbers_[r]);
    return w;
  }

  void write(UnsetReads* out) {
    for (Ref r : watched_) numbers_.emplace(r, static_cast<uint32_t>(numbers_.size()));
    std::vector<std::pair<uint32_t, WatchedInst>> found;
    bool uses = false;
    for (const Unit& u : function_.units()) {
      WatchedInst w = watched_inst(u);
      const bool stored = w.use == Use::address && !w.sources.empty() && !w.other_sources;
      const bool matters = w.guard >= 0 || !w.address.empty() || !w.operands.empty() || stored ||
                           ((w.use == Use::leaves || w.use == Use::product) && !w.sources.empty());
      uses = uses || matters;
      if (matters || !w.results.empty() || w.begins) found.emplace_back(u.last, std::move(w));
    }
    if (!uses) return;
    out->registers[index_] = static_cast<uint32_t>(numbers_.size());
    for (Ref r : parameters_)
      if (has(r)) out->parameters[index_].push_back(numbers_[r]);
    out->at.resize(program_.code.size(), -1);
    for (auto& [pc, w] : found) {
      out->at[pc] = static_cast<int32_t>(out->watched.size());
      out->watched.push_back(std::move(w));
    }
  }
};

}  // namespace
}  // namespace unset

UnsetReads unset_reads(const Program& program) {
  UnsetReads out;
  out.registers.resize(program.functions.size());
  out.parameters.resize(program.functions.size());
  std::vector<uint32_t> entries;
  for (const FunctionInfo& f : program.functions) entries.push_back(f.entry);
  entries.push_back(static_cast<uint32_t>(program.code.size()));
  std::sort(entries.begin(), entries.end());
  for (uint32_t i = 0; i < program.functions.size(); ++i)
    unset::Watch(program, i, *std::upper_bound(entries.begin(), entries.end(), program.functions[i].entry))
        .look(&out);
  out.only_kernel = std::all_of(out.watched.begin(), out.watched.end(),
                                [](const WatchedInst& w) { return w.function == 0; });
  return out.watched.empty() ? UnsetReads() : out;
}

}  // namespace emu::check
