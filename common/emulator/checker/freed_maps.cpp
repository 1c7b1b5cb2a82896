#include "emulator/checker/freed_maps.hpp"

#include <cstring>

#include "emulator/machine/tensor_map.hpp"

namespace emu::check {

// What else in the launch's parameters leads to the memory: a pointer, or a map that was encoded for it. "": nothing.
std::string FreedMapRule::other_name(const Cta& cta, const Allocation& now) const {
  const std::vector<uint8_t>& params = cta.config.params;
  TensorMap map;
  for (size_t at = 0; at + kTensorMapBytes <= params.size(); at += 64)
    if (decode_tensor_map(reinterpret_cast<const std::byte*>(params.data()) + at, &map) &&
        map.allocation == now.serial)
      return tell_.program().names.parameter(at);
  for (size_t at = 0; at + sizeof(uint64_t) <= params.size(); at += sizeof(uint64_t)) {
    if (at % 64 == 0 && at + kTensorMapBytes <= params.size() &&
        decode_tensor_map(reinterpret_cast<const std::byte*>(params.data()) + at, &map)) {
      at += kTensorMapBytes - sizeof(uint64_t);  // its address is no pointer of the program
      continue;
    }
    uint64_t address;
    std::memcpy(&address, params.data() + at, sizeof address);
    if (address - now.address < now.bytes) return tell_.program().names.parameter(at);
  }
  return "";
}

void FreedMapRule::copy_issued(const AsyncOp& op, const Accessor& who) {
  const TensorMap& map = *op.map;
  if (!map.allocation || map.allocation == good_) return;
  GlobalMemory& memory = tell_.machine().memory;
  const Allocation* now = memory.find(map.address, 1);
  if (!now) return;
  if (now->serial == map.allocation) {
    good_ = map.allocation;
    return;
  }
  const Freed* was = memory.freed(map.allocation);
  const std::string name = other_name(who.cta(), *now);
  Finding f(Id::use_after_free);
  f.title = "a copy uses a tensor map of memory that has been freed and given out again";
  f.state = text("the map was encoded for ", was ? "'" + was->name + "'" : "an allocation",
                 ", which has been freed; '", now->called.empty() ? now->name : now->called, "' is there now",
                 name.empty() ? "" : ", and " + name + " of this launch leads to it");
  f.why = "A tensor map keeps an address and no memory alive: the copy works on whatever is there.";
  f.hint =
      "free the memory when the last launch that uses the map is done, or encode the map anew for the memory that is there now";
  if (name.empty()) f.make_milder();
  tell_.tell(std::move(f), who);
}

}  // namespace emu::check
