#include "emulator/isa/external.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "emulator/isa/access.hpp"

namespace emu {

namespace {

template <class T>
T argument(const At& at, size_t index) {
  const FrameSlot& slot = at.inst.extra->arguments[index];
  T value;
  std::memcpy(&value, at.warp.place(slot.at) + static_cast<size_t>(at.lane) * slot.stride, sizeof value);
  return value;
}
template <class T>
void result(const At& at, T value) {
  const FrameSlot& slot = at.inst.extra->results[0];
  if (slot.at != kNoRef)
    std::memcpy(at.warp.place(slot.at) + static_cast<size_t>(at.lane) * slot.stride, &value, sizeof value);
}

std::string string_at(const At& at, uint64_t address) {
  std::string out;
  for (; out.size() < 4096; ++address) {
    char c = static_cast<char>(*resolve(at, Space::generic, address, 1, AccessKind::read));
    if (!c) break;
    out += c;
  }
  return out;
}

template <class T>
T vararg(const At& at, uint64_t& address) {
  address = (address + sizeof(T) - 1) / sizeof(T) * sizeof(T);
  T value;
  std::memcpy(&value, resolve(at, Space::generic, address, sizeof(T), AccessKind::read), sizeof(T));
  address += sizeof(T);
  return value;
}

// Formats as printf does. *converted counts the arguments, which is what device printf returns.
std::string format(const At& at, const std::string& text, uint64_t args, int* converted) {
  std::string out;
  char buffer[512];
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '%') {
      out += '%';
      ++i;
      continue;
    }
    std::string spec = "%";
    int longs = 0;
    for (++i; i < text.size(); ++i) {
      char c = text[i];
      if (c == 'l' || c == 'j' || c == 'z' || c == 't') {
        longs += c == 'l' ? 1 : 2;
      } else if (c == 'h') {
        continue;
      } else if (c == '*') {
        spec += std::to_string(vararg<int32_t>(at, args));
        ++*converted;
      } else if (std::strchr("diouxXcsaAeEfFgGp", c)) {
        break;
      } else {
        spec += c;
      }
    }
    if (i >= text.size()) break;
    char c = text[i];
    ++*converted;
    int n;
    if (c == 's') {
      std::string s = string_at(at, vararg<uint64_t>(at, args));
      n = std::snprintf(buffer, sizeof buffer, (spec + "s").c_str(), s.c_str());
      if (spec == "%") {
        out += s;
        continue;
      }
    } else if (c == 'p') {
      n = std::snprintf(buffer, sizeof buffer, (spec + "p").c_str(),
                        reinterpret_cast<void*>(vararg<uint64_t>(at, args)));
    } else if (std::strchr("aAeEfFgG", c)) {
      n = std::snprintf(buffer, sizeof buffer, (spec + c).c_str(), vararg<double>(at, args));
    } else if (longs) {
      n = std::snprintf(buffer, sizeof buffer, (spec + "ll" + c).c_str(), vararg<long long>(at, args));
    } else {
      n = std::snprintf(buffer, sizeof buffer, (spec + c).c_str(), vararg<int32_t>(at, args));
    }
    if (n > 0) out.append(buffer, static_cast<size_t>(std::min<int>(n, sizeof buffer - 1)));
  }
  return out;
}

Flow device_printf(Warp& w, const Inst& in, uint32_t mask) {
  for_lanes(mask, [&](int l) {
    int converted = 0;
    w.machine.printf_buffer += format({w, in, l}, string_at({w, in, l}, argument<uint64_t>({w, in, l}, 0)),
                                      argument<uint64_t>({w, in, l}, 1), &converted);
    result<int32_t>({w, in, l}, converted);
  });
  ++w.machine.effects;
  return Flow::next;
}

Flow assert_fail(Warp& w, const Inst& in, uint32_t mask) {
  int l = __builtin_ctz(mask);
  std::string message = string_at({w, in, l}, argument<uint64_t>({w, in, l}, 0));
  std::string file = string_at({w, in, l}, argument<uint64_t>({w, in, l}, 1));
  std::string function = string_at({w, in, l}, argument<uint64_t>({w, in, l}, 3));
  uint32_t line = argument<uint32_t>({w, in, l}, 2);
  w.fault(in, l, Id::failed_assert, "assertion `" + message + "` failed",
          "in " + function + ", " + file + ":" + std::to_string(line));
}

Flow device_malloc(Warp& w, const Inst& in, uint32_t mask) {
  for_lanes(mask, [&](int l) {
    const uint64_t bytes = argument<uint64_t>({w, in, l}, 0),
                   address = w.machine.memory.allocate(bytes, "device malloc");
    result<uint64_t>({w, in, l}, address);
    if (address) w.machine.observers.tell(&Observer::on_malloc, w, address, bytes);
  });
  ++w.machine.effects;
  return Flow::next;
}

Flow device_free(Warp& w, const Inst& in, uint32_t mask) {
  for_lanes(mask, [&](int l) {
    uint64_t address = argument<uint64_t>({w, in, l}, 0);
    if (address && !w.machine.memory.release(address))
      w.fault(in, l, Id::bad_free, "a thread frees " + hex(address) + ", which malloc did not return");
  });
  ++w.machine.effects;
  return Flow::next;
}

}  // namespace

Exec external_function(const Function& declared) {
  struct External {
    const char* name;
    Exec exec;
    std::vector<uint64_t> parameters, results;  // their bytes
  };
  static const External known[] = {{"vprintf", device_printf, {8, 8}, {4}},
                                   {"__assertfail", assert_fail, {8, 8, 4, 8, 8}, {}},
                                   {"malloc", device_malloc, {8}, {8}},
                                   {"free", device_free, {8}, {}}};
  const auto fits = [](const std::vector<Variable>& variables, const std::vector<uint64_t>& bytes) {
    return std::equal(variables.begin(), variables.end(), bytes.begin(), bytes.end(),
                      [](const Variable& v, uint64_t b) { return v.bytes == b; });
  };
  for (const External& e : known)
    if (declared.name == e.name && fits(declared.params, e.parameters) && fits(declared.returns, e.results))
      return e.exec;
  return nullptr;
}

}  // namespace emu
