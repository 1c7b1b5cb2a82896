#include "emulator/program/order.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>

namespace emu {

namespace {

bool has(const Instruction& in, const char* modifier) {
  return std::find(in.modifiers.begin(), in.modifiers.end(), modifier) != in.modifiers.end();
}

bool has_any(const Instruction& in, std::initializer_list<const char*> modifiers) {
  return std::any_of(modifiers.begin(), modifiers.end(), [&](const char* m) { return has(in, m); });
}

// Registers and local memory are a thread's; shared memory is its cluster's.
bool stays_in_cluster(const Instruction& in) {
  return has_any(in, {"shared", "shared::cta", "shared::cluster", "local"});
}

// What computes with registers, and what only the threads of a CTA or a cluster do with each other and with the engines.
bool is_plain(const std::string& opcode) {
  static const std::set<std::string> plain = {
      "abs",       "activemask", "add",   "addc",         "and",      "bar",       "barrier",    "bfe",
      "bfi",       "bfind",      "bmsk",  "bra",          "brev",     "brx",       "call",       "clz",
      "cnot",      "copysign",   "cos",   "createpolicy", "cvt",      "cvta",      "div",        "dp2a",
      "dp4a",      "elect",      "ex2",   "exit",         "fma",      "fns",       "getctarank", "isspacep",
      "ldmatrix",  "lg2",        "lop3",  "mad",          "mad24",    "madc",      "mapa",       "match",
      "max",       "mbarrier",   "min",   "mma",          "mov",      "movmatrix", "mul",        "mul24",
      "neg",       "not",        "or",    "popc",         "prefetch", "prefetchu", "prmt",       "rcp",
      "redux",     "rem",        "ret",   "rsqrt",        "sad",      "selp",      "set",        "setmaxnreg",
      "setp",      "shf",        "shfl",  "shl",          "shr",      "sin",       "slct",       "sqrt",
      "stmatrix",  "sub",        "subc",  "szext",        "tanh",     "testp",     "trap",       "vabsdiff2",
      "vabsdiff4", "vadd2",      "vadd4", "vavrg2",       "vavrg4",   "vmax2",     "vmax4",      "vmin2",
      "vmin4",     "vote",       "vshl",  "vshr",         "vsub2",    "vsub4",     "wgmma",      "xor"};
  return plain.count(opcode) != 0;
}

}  // namespace

bool asks_for_order(const Instruction& in) {
  const std::string& opcode = in.opcode;
  if (is_plain(opcode)) return false;
  if (opcode == "ld" || opcode == "ldu" || opcode == "st")
    return !stays_in_cluster(in) && has_any(in, {"volatile", "relaxed", "acquire", "release", "mmio"});
  if (opcode == "atom" || opcode == "red") return !stays_in_cluster(in);
  if (opcode == "membar") return !has(in, "cta");
  if (opcode == "fence")
    return !has_any(in, {"async", "async::global", "async::shared::cta", "async::shared::cluster",
                         "mbarrier_init", "cta", "cluster"}) ||
           has_any(in, {"tensormap::generic", "gpu", "sys"});
  if (opcode == "cp") return has(in, "reduce") && has(in, "global");
  return true;
}

bool shows_order(const std::string& name) {
  static const std::set<std::string> hidden = {
      "%is_explicit_cluster", "%laneid", "%warpid", "%nwarpid", "%gridid", "%nsmid", "%current_graph_exec"};
  static const char* const families[] = {"%tid.",     "%ntid.",      "%ctaid.",
                                         "%nctaid.",  "%clusterid.", "%nclusterid.",
                                         "%cluster_", "%lanemask_",  "%reserved_smem_offset_"};
  if (hidden.count(name)) return false;
  const size_t end = name.rfind("_smem_size");
  if (end != std::string::npos && end + 10 == name.size()) return false;
  return std::none_of(std::begin(families), std::end(families),
                      [&](const char* f) { return name.rfind(f, 0) == 0; });
}

}  // namespace emu
