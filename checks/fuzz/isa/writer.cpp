#include "writer.hpp"

#include <algorithm>
#include <cstdio>

#include "table.hpp"

namespace fuzz_isa {

namespace {

std::string hex(uint64_t value, const char* format) {
  char text[40];
  std::snprintf(text, sizeof text, format, static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

std::string Writer::any(unsigned bits) {
  if (bits == 1) return "%p" + std::to_string(random.below(kPredicates));
  if (bits == 16) return "%h" + std::to_string(random.below(kHalves));
  if (bits == 32) return "%r" + std::to_string(random.below(kWords));
  return "%d" + std::to_string(random.below(kDoubles));
}

Pool Writer::pool_of(const std::string& type) {
  if (type == "f16") return Pool::f16;
  if (type == "bf16") return Pool::bf16;
  if (type == "f16x2") return Pool::f16x2;
  if (type == "bf16x2") return Pool::bf16x2;
  if (type == "f32") return Pool::f32;
  if (type == "f64") return Pool::f64;
  const unsigned bits = bits_of(type);
  return bits <= 16 ? Pool::int16 : bits == 32 ? Pool::int32 : Pool::int64;
}

std::string Writer::from_pool(Pool pool, unsigned bits) {
  std::string name = any(bits);
  while (std::find(taken_.begin(), taken_.end(), name) != taken_.end()) name = any(bits);
  taken_.push_back(name);
  const size_t at = static_cast<size_t>(pool) * kPoolValues + random.below(kPoolValues - kThreads);
  line("ld.global.b", bits, " ", name, ", [%in+", static_cast<uint64_t>(at * 8), "]");
  return name;
}

void Writer::one_nan(const std::string& name, unsigned bits) {
  line("setp.nan.f", bits, " %nan, ", name, ", ", name);
  line("@%nan mov.b", bits, " ", name, bits == 64 ? ", 0x7FF8000000000000" : ", 0x7FC00000");
}

std::string Writer::constant(const std::string& type) {
  uint64_t value = value_of(pool_of(type), random);
  // A NaN that is known to the compiler is handed on in other ways than one that is not.
  if (type == "f32" && (value & 0x7FFFFFFF) > 0x7F800000) value = 0x7F800000;
  if (type == "f64" && (value & INT64_MAX) > 0x7FF0000000000000) value = 0x7FF0000000000000;
  if (type == "f32") return hex(value, "0f%08llX");
  if (type == "f64") return hex(value, "0d%016llX");
  const unsigned bits = bits_of(type);
  if (type[0] == 's') {
    const auto number = static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
    return std::to_string(bits == 64 && number == INT64_MIN ? number + 1 : number);
  }
  return random.percent(50) ? std::to_string(value) + (type[0] == 'u' && bits == 64 ? "U" : "")
                            : hex(value, "0x%llX");
}

std::string Writer::source(const std::string& type, bool may_be_constant) {
  const unsigned bits = bits_of(type);
  const size_t dice = random.below(100);
  if (bits == 8) return any(random.percent(50) ? 32 : random.percent(50) ? 16 : 64);
  if (dice < 60) return from_pool(pool_of(type), bits);
  const bool has_constants = type != "f16" && type != "bf16" && type != "f16x2" && type != "bf16x2";
  if (dice < 72 && may_be_constant && has_constants) return constant(type);
  std::string name = any(bits);
  taken_.push_back(name);
  return name;
}

std::string Writer::predicate_source() {
  const std::string p = any(1);
  return random.percent(30) ? "!" + p : p;
}

void Writer::keep(const std::string& name, unsigned bits) {
  std::string from = name;
  if (bits == 1) {
    line("selp.u32 %t, 1, 2, ", name);
    from = "%t", bits = 32;
  }
  if (!is_function_) {
    line("st.global.b", bits, " [%out+", slots * kSlotBytes, "], ", from, ";  // ", slots);
    text.erase(text.size() - 2, 1);  // the second ;
    ++slots;
    return;
  }
  if (bits < 64) {
    line("cvt.u64.u", bits, " %tt, ", from);
    from = "%tt";
  }
  line("mad.lo.u64 %acc, %acc, 0x9E3779B97F4A7C15, ", from);
}

}  // namespace fuzz_isa
