// Statements of memory and of warps: a thread's own bytes in any size, exchanges between threads, atomics.
#include <algorithm>

#include "table.hpp"
#include "writer.hpp"

namespace fuzz_isa {

namespace {

// A thread's own bytes: by name, by a register of 32 or 64 bits, or generic.
struct Place {
  std::string space, base;  // the modifier, and the address
};
Place own_place(Writer& w) {
  static const std::vector<Place> kPlaces = {
      {".local", "frame"},         {".local", "%local"},    {"", "%local_generic"}, {".shared", "%shared"},
      {".shared::cta", "%shared"}, {"", "%shared_generic"}, {".global", "%own"},    {"", "%own"}};
  return w.random.of(kPlaces);
}

std::string element(Random& random, unsigned bits) {
  static const std::vector<std::string> k8 = {"b8", "u8", "s8"}, k16 = {"b16", "u16", "s16"},
                                        k32 = {"b32", "u32", "s32", "f32"},
                                        k64 = {"b64", "u64", "s64", "f64"};
  return random.of(bits == 8 ? k8 : bits == 16 ? k16 : bits == 32 ? k32 : k64);
}

}  // namespace

// A store and a load of other sizes that may overlap it; loads also of parameters and constants.
void write_own_memory(Writer& w) {
  Random& random = w.random;
  const Place place = own_place(w);
  const auto one = [&](bool store, const Place& at, unsigned bytes) {
    static const std::vector<unsigned> kBits = {8, 16, 32, 64};
    const unsigned bits = random.of(kBits);
    const size_t most = bits == 64 ? 2 : bits == 8 ? 4 : 4;
    const size_t count = random.percent(60) ? 1 : random.percent(50) ? 2 : most;
    const std::string type = element(random, bits);
    const size_t size = bits / 8 * count;
    const size_t offset = random.below(bytes / size) * size;
    w.new_instruction();
    // An integer narrower than its register: extended by a load, cut by a store.
    const bool wider = type[0] != 'f' && random.percent(30);
    const unsigned reg = bits == 8            ? (wider ? 32 : 16)
                         : wider && bits < 64 ? (random.percent(50) ? 64 : bits * 2)
                                              : bits;
    std::vector<std::string> names;
    while (names.size() < count) {
      const std::string name = store ? w.source("b" + std::to_string(reg), false) : w.any(reg);
      if (store || std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    std::string list;
    for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
    if (count > 1) list = "{" + list + "}";
    const std::string vector = count == 1 ? "" : ".v" + std::to_string(count);
    const std::string address = "[" + at.base + "+" + std::to_string(offset) + "]";
    if (store)
      w.line("st", at.space, vector, ".", type, " ", address, ", ", list);
    else
      w.line("ld", at.space, vector, ".", type, " ", list, ", ", address);
    if (!store)
      for (const std::string& n : names) w.keep(n, reg);
  };
  if (random.percent(15)) {
    one(false, {".const", "table"}, 64);
  } else if (random.percent(10) && !w.is_function()) {
    one(false, {".param", "extra"}, 32);
  } else {
    one(true, place, kOwnBytes);
    one(false, place, kOwnBytes);
  }
}

// Every thread writes, all meet, every thread reads what another one wrote.
void write_exchange(Writer& w) {
  Random& random = w.random;
  w.new_instruction();
  const size_t offset = 16 * random.below(kOwnBytes / 16);
  const std::string a = w.source("b64", false), b = w.source("b64", false);
  w.line("st.shared.v2.b64 [%shared+", static_cast<uint64_t>(offset), "], {", a, ", ", b, "}");
  w.line(random.percent(50)   ? "bar.sync 0"
         : random.percent(50) ? "barrier.sync 1"
                              : "barrier.sync.aligned 2, 128");
  const std::string r = w.any(32), d = w.any(32), e = w.any(64);
  w.line("xor.b32 %t, %me, ", static_cast<uint64_t>(random.below(kThreads)));
  w.line("shl.b32 %t, %t, 6");
  w.line("mov.u32 %u, bytes");
  w.line("add.u32 %t, %t, %u");
  w.line("ld.shared.b32 ", d, ", [%t+", static_cast<uint64_t>(offset + 4 * random.below(4)), "]");
  w.line("ld.shared.b64 ", e, ", [%t+", static_cast<uint64_t>(offset + 8 * random.below(2)), "]");
  w.line("bar.sync 0");
  w.keep(d, 32);
  w.keep(e, 64);
}

// Two or four numbers at once, in global memory.
static void write_vector_atomic(Writer& w) {
  Random& random = w.random;
  static const std::vector<std::string> kForms = {
      "add.v2.f32",         "add.v4.f32",         "add.noftz.v2.f16",   "add.noftz.v4.bf16",
      "min.noftz.v2.bf16",  "max.noftz.v4.f16",   "add.noftz.v2.f16x2", "add.noftz.v4.bf16x2",
      "min.noftz.v4.f16x2", "max.noftz.v2.bf16x2"};
  const std::string& form = random.of(kForms);
  const std::string type = form.substr(form.rfind('.') + 1);
  const size_t count = form[form.rfind('.') - 1] == '2' ? 2 : 4;
  const unsigned bits = bits_of(type);
  const size_t size = bits / 8 * count, offset = random.below(kOwnBytes / size) * size;
  const std::string address = "[%own+" + std::to_string(offset) + "]";
  w.new_instruction();
  std::string values, results;
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    const std::string at = "[%own+" + std::to_string(offset + i * bits / 8) + "]";
    w.line("st.global.b", bits, " ", at, ", ", w.source(type, false));
  }
  w.new_instruction();
  for (size_t i = 0; i < count; ++i) values += (i ? ", " : "") + w.source(type, false);
  while (names.size() < count) {
    const std::string name = w.any(bits);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  for (const std::string& n : names) results += (results.empty() ? "" : ", ") + n;
  if (random.percent(50))
    w.line("red.global.", form, " ", address, ", {", values, "}");
  else
    w.line("atom.global.", form, " {", results, "}, ", address, ", {", values, "}");
  w.line("ld.global.v", static_cast<uint64_t>(count), ".b", bits, " {", results, "}, ", address);
  for (const std::string& n : names) w.keep(n, bits);
}

// Of a thread's own word, so that the order of threads does not matter.
void write_atomic(Writer& w) {
  Random& random = w.random;
  if (random.percent(15)) return write_vector_atomic(w);
  struct Kind {
    const char* name;
    std::vector<std::string> types;
    bool global_only;
  };
  static const std::vector<Kind> kKinds = {
      {"add", {"u32", "s32", "u64", "f32", "f64"}, false},
      {"min", {"u32", "s32", "u64", "s64"}, false},
      {"max", {"u32", "s32", "u64", "s64"}, false},
      {"inc", {"u32"}, false},
      {"dec", {"u32"}, false},
      {"and", {"b32", "b64"}, false},
      {"or", {"b32", "b64"}, false},
      {"xor", {"b32", "b64"}, false},
      {"exch", {"b32", "b64"}, false},
      {"cas", {"b16", "b32", "b64"}, false},
      {"add.noftz", {"f16", "f16x2", "bf16", "bf16x2"}, false},
  };
  const Kind& kind = random.of(kKinds);
  const std::string type = random.of(kind.types), name = kind.name;
  const unsigned bits = bits_of(type);
  const size_t offset = random.below(kOwnBytes * 8 / bits) * (bits / 8);
  const bool shared = random.percent(50), generic = random.percent(25);
  const std::string base = generic ? (shared ? "%shared_generic" : "%own") : shared ? "%shared" : "%own";
  const std::string space = generic ? "" : shared ? ".shared" : ".global";
  const std::string address = "[" + base + "+" + std::to_string(offset) + "]";
  static const std::vector<std::string> kOrders = {"", "", ".relaxed.gpu", ".acq_rel.cta", ".relaxed.sys"};
  std::string order = random.of(kOrders);
  w.new_instruction();
  if (random.percent(70)) {  // a fresh value to start from
    const std::string first = w.source(type, false);
    w.line("st", space, ".b", bits, " ", address, ", ", first);
  }
  const std::string b = w.source(type, false), c = name == "cas" ? ", " + w.source(type, false) : "";
  const std::string d = w.any(bits), result = w.any(bits);
  if (name != "exch" && name != "cas" && random.percent(30)) {
    w.line("red", order == ".acq_rel.cta" ? ".release.cta" : order, space, ".", name, ".", type, " ", address,
           ", ", b);
  } else {
    w.line("atom", order, space, ".", name, ".", type, " ", d, ", ", address, ", ", b, c);
    w.keep(d, bits);
  }
  w.line("ld", space, ".b", bits, " ", result, ", ", address);
  if (type == "f64") {  // which NaN is left (nan_bits.txt) was not known when this was recorded
    w.one_nan(result, bits);
    w.line("st", space, ".b", bits, " ", address, ", ", result);
  }
  w.keep(result, bits);
}

// All threads change the same words, in ways that come out the same in any order.
void write_common(Writer& w) {
  Random& random = w.random;
  w.new_instruction();
  const std::string p = w.new_name("%first"), value = w.source("b32", false), d = w.any(32);
  const uint64_t at = 4 * random.below(kCommonWords);
  static const std::vector<std::string> kChanges = {"add.u32", "min.u32", "max.s32",
                                                    "and.b32", "or.b32",  "xor.b32"};
  w.open();
  w.line(".reg .pred ", p);
  w.line("setp.eq.u32 ", p, ", %me, ", static_cast<uint64_t>(random.below(kThreads)));
  w.line("@", p, " st.shared.u32 [common+", at, "], ", static_cast<uint64_t>(random.below(1000)));
  w.line("bar.sync 0");
  w.line("red.shared.", random.of(kChanges), " [common+", at, "], ", value);
  w.line("bar.sync 0");
  w.line("ld.shared.b32 ", d, ", [common+", at, "]");
  w.line("bar.sync 0");
  w.close();
  w.keep(d, 32);
  if (random.percent(30)) {
    static const std::vector<std::string> kReductions = {"and.pred", "or.pred", "popc.u32"};
    const std::string& kind = random.of(kReductions);
    const std::string a = w.predicate_source();
    const bool count = kind == "popc.u32";
    const std::string result = w.any(count ? 32 : 1);
    w.line("bar.red.", kind, " ", result, ", 0, ", a);
    w.keep(result, count ? 32 : 1);
  }
}

// Among the lanes that are known to be together.
void write_warp(Writer& w) {
  Random& random = w.random;
  w.new_instruction();
  const size_t kind = random.below(w.all_lanes ? 6 : 4);
  if (kind == 0) {
    static const std::vector<std::string> kModes = {"all", "any", "uni", "ballot"};
    const std::string& mode = random.of(kModes);
    const bool ballot = mode == "ballot";
    const std::string d = w.any(ballot ? 32 : 1);
    w.line("vote.sync.", mode, ballot ? ".b32 " : ".pred ", d, ", ", w.predicate_source(), ", ", w.mask);
    w.keep(d, ballot ? 32 : 1);
  } else if (kind == 1) {  // few different values
    const unsigned bits = random.percent(50) ? 32 : 64;
    const std::string a = w.source("b" + std::to_string(bits), false), d = w.any(32), p = w.any(1);
    const bool all = random.percent(40);
    w.line("and.b", bits, " ", a, ", ", a, ", ", random.percent(30) ? 0 : 5);
    w.line("match.", all ? "all" : "any", ".sync.b", bits, " ", d, all ? "|" + p : "", ", ", a, ", ", w.mask);
    w.keep(d, 32);
    if (all) w.keep(p, 1);
  } else if (kind == 2) {
    static const std::vector<std::string> kForms = {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32",
                                                    "max.s32", "and.b32", "or.b32",  "xor.b32"};
    const std::string a = w.source("b32", false), d = w.any(32);
    w.line("redux.sync.", random.of(kForms), " ", d, ", ", a, ", ", w.mask);
    w.keep(d, 32);
  } else if (kind == 3) {  // from the last lane that is here
    const std::string a = w.source("b32", false), d = w.any(32), p = w.any(1);
    w.line("bfind.u32 %t, ", w.mask);
    w.line("shfl.sync.idx.b32 ", d, "|", p, ", ", a, ", %t, 31, ", w.mask);
    w.keep(d, 32);
    w.keep(p, 1);
  } else {
    static const std::vector<std::string> kModes = {"up", "down", "bfly", "idx"};
    const std::string& mode = random.of(kModes);
    const std::string a = w.source("b32", false), d = w.any(32), p = w.any(1);
    const std::string b = random.percent(50) ? std::to_string(random.below(40)) : w.source("b32", false);
    // c: the clamp in bits 0 to 4, the mask of segments in bits 8 to 12
    static const std::vector<uint64_t> kSegments = {0, 0x1000, 0x1800, 0x1C00, 0x1E00, 0x1F00};
    const uint64_t clamp = mode == "up" ? (random.percent(80) ? 0 : random.below(32))
                                        : (random.percent(80) ? 31 : random.below(32));
    const std::string c =
        random.percent(80) ? std::to_string(random.of(kSegments) | clamp) : w.source("b32", false);
    const bool pair = random.percent(60);
    w.line("shfl.sync.", mode, ".b32 ", d, pair ? "|" + p : "", ", ", a, ", ", b, ", ", c, ", ", w.mask);
    w.keep(d, 32);
    if (pair) w.keep(p, 1);
  }
}

}  // namespace fuzz_isa
