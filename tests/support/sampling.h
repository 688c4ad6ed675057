// How much of what is tried byte by byte is tried in this build.
#pragma once

#include <cstddef>

namespace modelutils::test {

/// Every byte; with sanitizers, which look at the code and not at the values, every seventh.
#ifdef MODELUTILS_SANITIZED
inline constexpr std::size_t sampling_step = 7;
#else
inline constexpr std::size_t sampling_step = 1;
#endif

}  // namespace modelutils::test
