// Keeping the device busy.
#pragma once

namespace lab {

// Keeps the default stream busy for about `us` microseconds: what is launched after it piles up behind it. Throws
// std::runtime_error when the launch fails.
void hold_stream(double us);

}  // namespace lab
