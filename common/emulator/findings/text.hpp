// Sentences from parts: text("a block of ", n, " threads").
#pragma once

#include <string>
#include <type_traits>

namespace emu {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  const auto add = [&](const auto& part) {
    using Part = std::decay_t<decltype(part)>;
    if constexpr (std::is_integral_v<Part> && !std::is_same_v<Part, char>)
      out += std::to_string(part);
    else
      out += part;
  };
  (add(parts), ...);
  return out;
}

}  // namespace emu
