// What is wrong with a tensor map before the driver is asked, in sentences.
#pragma once

#include <string>
#include <vector>

#include "host/tensor_map.hpp"

namespace lab {

// Every rule that makes the driver refuse `spec`: the parameter by its name in the manual, its value, the rule,
// the fix. Empty when the map is good.
std::vector<std::string> tensor_map_problems(const TensorMapSpec& spec);
// In the same form, what the driver accepts although it is hardly meant. Empty for a map with problems.
std::vector<std::string> tensor_map_advice(const TensorMapSpec& spec);

}  // namespace lab
