#pragma once

#include <string>

#include "mutate.hpp"
#include "pipeline.hpp"

namespace fuzz {

// The kernel as PTX. Parameters: output, input (64-bit addresses), the tensor maps of both (128 bytes each).
std::string emit(const Pipeline& p, const Mutation& m);

}  // namespace fuzz
