#include "emulator/checker/unset_reads.hpp"

#include <algorithm>
#include <set>

namespace emu::check {

namespace {

constexpr Ref kPlace = ~(kConstBit | kNotBit);

bool is_register(Ref r) {
  return !(r & kConstBit) && (r & kPlace) != kNoRef;
}

const std::set<std::string> kArithmetic = {
    "abs",  "add",  "addc", "bfind", "brev", "clz",   "cnot", "copysign", "cos",  "cvt",  "div",
    "dp2a", "dp4a", "ex2",  "fma",   "lg2",  "mad",   "madc", "mad24",    "max",  "min",  "mul",
    "mul24", "neg", "not",  "popc",  "rcp",  "rem",   "rsqrt", "sad",     "set",  "setp", "sin",
    "sqrt", "sub",  "subc", "tanh",  "testp"};
const std::set<std::string> kCopies = {"and", "bfe", "bfi",  "cvta", "lop3", "mov", "or",
                                       "prmt", "selp", "shf", "shl", "shr",  "slct", "szext", "xor"};
const std::set<std::string> kLeaves = {"atom",     "bar",       "barrier", "brx",       "cp",       "fence",
                                       "ld",       "ldmatrix",  "ldu",     "mbarrier",  "multimem", "nanosleep",
                                       "prefetch", "prefetchu", "red",     "tensormap"};

Use use_of(const Instruction& text, const Inst& in) {
  const auto has = [&](const char* modifier) {
    return std::find(text.modifiers.begin(), text.modifiers.end(), modifier) != text.modifiers.end();
  };
  if (text.opcode == "st") {
    if (has("param") || has("local") || in.space == Space::local) return Use::sets;  // no other thread sees it
    return has("async") ? Use::leaves : Use::address;
  }
  if (kLeaves.count(text.opcode)) return Use::leaves;
  const bool combines = (text.opcode == "set" || text.opcode == "setp") && (has("and") || has("or") || has("xor"));
  if (combines || kCopies.count(text.opcode)) return Use::all;
  return kArithmetic.count(text.opcode) ? Use::any : Use::sets;
}

// One instruction of the text: its last decoded one, and the one that branches lead to.
struct Unit {
  uint32_t first = 0, last = 0;
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
  Bits used, set, live;  // at its beginning: read before they are set; set for certain; either, through those behind it
};

class Function {
 public:
  Function(const Program& program, uint32_t begin, uint32_t end) : program_(program), begin_(begin) {
    for (uint32_t pc = begin; pc < end; ++pc)
      if (pc > begin && program.code[pc].source == program.code[pc - 1].source)
        units_.back().last = pc;
      else
        units_.push_back({pc, pc});
    for (const Unit& u : units_) {
      for (Ref r : reads(u)) number(r);
      for (Ref r : results(u)) number(r);
    }
  }

  // Those that may be read before they are set.
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
      if (!blocks_.empty() && blocks_[0].live.has(n)) found.insert(r);
    return found;
  }
  // A branch leads to its beginning.
  bool is_loop() const { return targets_.count(begin_) != 0; }

  const std::vector<Unit>& units() const { return units_; }
  const Inst& inst(const Unit& u) const { return program_.code[u.last]; }
  const Instruction& text(const Unit& u) const {
    return *program_.sources[static_cast<size_t>(inst(u).source)];
  }
  // What it reads, its guard included once.
  std::vector<Ref> reads(const Unit& u) const {
    std::vector<Ref> all;
    for (const RegisterSlot& r : program_.read[static_cast<size_t>(inst(u).source)]) all.push_back(r.at);
    return all;
  }
  std::vector<Ref> results(const Unit& u) const {
    const auto source = static_cast<size_t>(inst(u).source);
    std::vector<Ref> all = program_.written[source];
    const auto& predicates = program_.written_predicates[source];
    all.insert(all.end(), predicates.begin(), predicates.end());
    return all;
  }
  static Ref guard(const Inst& in) {
    return in.guard == kNoRef || !is_register(in.guard) ? kNoRef : in.guard & kPlace;
  }

 private:
  const Program& program_;
  const uint32_t begin_;
  std::vector<Unit> units_;
  std::unordered_map<Ref, size_t> numbers_;
  std::vector<Block> blocks_;
  std::set<uint32_t> targets_;

  void number(Ref r) { numbers_.emplace(r, numbers_.size()); }

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
        for (Ref r : reads(u))
          if (!block.set.has(numbers_[r])) block.used.add(numbers_[r]);
        if (inst(u).guard == kNoRef)
          for (Ref r : results(u)) block.set.add(numbers_[r]);
      }
      block.live = block.used;
      const Unit& last = units_[block.end - 1];
      for (uint32_t pc : targets_of(last)) block.next.push_back(block_at.at(pc));
      if (goes_on(last) && b + 1 < blocks_.size()) block.next.push_back(b + 1);
    }
  }
};

// The registers to watch, and the instructions that are about them; nothing when no instruction uses what has no value.
void look_at(const Program& program, uint32_t index, uint32_t end, UnsetReads* out) {
  const FunctionInfo& info = program.functions[index];
  Function function(program, info.entry, end);
  std::set<Ref> watched = function.may_be_unset(), parameters;
  for (const auto* slots : {&info.params, &info.returns})
    for (const FrameSlot& slot : *slots) parameters.insert(slot.at);
  for (Ref r : parameters) watched.erase(r);
  if (watched.empty() || (index != 0 && function.is_loop())) return;

  const auto has = [&](Ref r) { return watched.count(r) != 0; };
  const auto sources_of = [&](const Unit& u) {
    std::vector<Ref> all = function.reads(u);
    const auto guard = std::find(all.begin(), all.end(), Function::guard(function.inst(u)));
    if (guard != all.end()) all.erase(guard);
    return all;
  };
  const auto use = [&](const Unit& u, const std::vector<Ref>& sources) {
    const Use of_text = use_of(function.text(u), function.inst(u));
    const std::string& opcode = function.text(u).opcode;
    const bool is_zero = (opcode == "xor" || opcode == "sub") && sources.size() == 2 && sources[0] == sources[1];
    return is_zero ? Use::sets : of_text;
  };
  for (size_t before = 0; before != watched.size();) {  // and what is computed from them
    before = watched.size();
    for (const Unit& u : function.units()) {
      const std::vector<Ref> sources = sources_of(u);
      const Use what = use(u, sources);
      const bool hands_on = what == Use::all ? !sources.empty() && std::all_of(sources.begin(), sources.end(), has)
                                             : what == Use::any && std::any_of(sources.begin(), sources.end(), has);
      if (hands_on)
        for (Ref r : function.results(u)) watched.insert(r);
    }
  }

  std::unordered_map<Ref, uint32_t> numbers;
  for (Ref r : watched) numbers.emplace(r, static_cast<uint32_t>(numbers.size()));
  std::vector<std::pair<uint32_t, WatchedInst>> found;
  bool uses = false;
  for (const Unit& u : function.units()) {
    const Inst& in = function.inst(u);
    std::vector<Ref> sources = sources_of(u);
    WatchedInst w;
    w.use = use(u, sources);
    w.function = index;
    w.begins = index != 0 && u.first == info.entry;
    if (has(Function::guard(in))) w.guard = static_cast<int32_t>(numbers[Function::guard(in)]);
    if (w.use == Use::address && is_register(in.a)) {
      const auto base = std::find(sources.begin(), sources.end(), in.a & kPlace);
      if (base != sources.end()) {
        if (has(*base)) w.address.push_back(numbers[*base]);
        sources.erase(base);
      }
      w.other_sources = sources.size() < in.count;  // constants
    }
    for (Ref r : sources) {
      w.other_sources = w.other_sources || !has(r);
      if (has(r)) w.sources.push_back(numbers[r]);
    }
    for (Ref r : function.results(u))
      if (has(r)) w.results.push_back(numbers[r]);
    const bool leaves = w.use == Use::leaves ? !w.sources.empty()
                                             : w.use == Use::address && (!w.address.empty() || (!w.sources.empty() && !w.other_sources));
    uses = uses || leaves || w.guard >= 0;
    if (leaves || w.guard >= 0 || !w.results.empty() || w.begins) found.emplace_back(u.last, std::move(w));
  }
  if (!uses) return;
  out->registers[index] = static_cast<uint32_t>(numbers.size());
  for (Ref r : parameters)
    if (has(r)) out->parameters[index].push_back(numbers[r]);
  out->at.resize(program.code.size(), -1);
  for (auto& [pc, w] : found) {
    out->at[pc] = static_cast<int32_t>(out->watched.size());
    out->watched.push_back(std::move(w));
  }
}

}  // namespace

UnsetReads unset_reads(const Program& program) {
  UnsetReads out;
  out.registers.resize(program.functions.size());
  out.parameters.resize(program.functions.size());
  std::vector<uint32_t> entries;
  for (const FunctionInfo& f : program.functions) entries.push_back(f.entry);
  entries.push_back(static_cast<uint32_t>(program.code.size()));
  std::sort(entries.begin(), entries.end());
  for (uint32_t i = 0; i < program.functions.size(); ++i)
    look_at(program, i, *std::upper_bound(entries.begin(), entries.end(), program.functions[i].entry), &out);
  return out.watched.empty() ? UnsetReads() : out;
}

}  // namespace emu::check
