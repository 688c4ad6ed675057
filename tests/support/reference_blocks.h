// Reference implementation of lossless block conversions, element by element; slow, and independent of lib/.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils::test {

/// Converts `data` from ggml type `from` to type `to`. Supports equal types; F16, BF16, Q4_1, Q5_1 and Q5_K to F32;
/// Q4_0 and Q5_0 to Q8_0; Q4_1 to Q5_1. Aborts for other types.
std::string reference_blocks(u32 from, u32 to, std::string_view data);

}  // namespace modelutils::test
