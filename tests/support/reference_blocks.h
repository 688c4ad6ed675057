// Blocks of one ggml type as blocks of another with the same values, element by element: slow, with nothing of lib/.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils::test {

/// `data` of ggml type `from` as type `to`: the same bytes if they are one type; F16, BF16, Q4_1, Q5_1 and Q5_K to F32;
/// Q4_0 and Q5_0 to Q8_0; Q4_1 to Q5_1. Anything else aborts.
std::string reference_blocks(u32 from, u32 to, std::string_view data);

}  // namespace modelutils::test
