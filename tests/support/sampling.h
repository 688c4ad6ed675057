// The sampling rate of byte-by-byte tests in this build.
#pragma once

#include <cstddef>

namespace modelutils::test {

/// Every byte; in builds with sanitizers, which check the code rather than values, every seventh.
#ifdef MODELUTILS_SANITIZED
inline constexpr std::size_t sampling_step = 7;
#else
inline constexpr std::size_t sampling_step = 1;
#endif

}  // namespace modelutils::test
