// Adds AVX-512 to the instruction sets of base/instructions.h. For the few inner loops that are limited by arithmetic
// rather than by memory.
#pragma once

#include "base/instructions.h"

namespace modelutils {

/// Instructions plus AVX-512.
enum class WideInstructions : u8 {
  any_machine = static_cast<u8>(Instructions::any_machine),
  avx2 = static_cast<u8>(Instructions::avx2),
  avx512,
};

constexpr WideInstructions wide(Instructions instructions) {
  return static_cast<WideInstructions>(instructions);
}

/// Returns the fastest instruction set that this machine supports. Requires VBMI2 for AVX-512, because the first
/// processors with AVX-512, which lack VBMI2, lower their clock when they use it.
inline WideInstructions widest_instructions() {
#if defined(__x86_64__)
  static const bool has_avx512 = best_instructions() == Instructions::avx2 && __builtin_cpu_supports("avx512f") != 0 &&
                                 __builtin_cpu_supports("avx512vbmi2") != 0;
  if (has_avx512) return WideInstructions::avx512;
#endif
  return wide(best_instructions());
}

namespace detail {
#if defined(__x86_64__)
template <typename Loop>
[[gnu::target("avx512f,avx2,fma"), gnu::flatten]] void run_with_avx512(const Loop& loop) {
  loop(std::integral_constant<std::size_t, 64>());
}
#endif
}  // namespace detail

/// Like run_with() for Instructions; the width for AVX-512 is 64.
template <typename Loop>
void run_with(WideInstructions instructions, const Loop& loop) {
#if defined(__x86_64__)
  if (instructions == WideInstructions::avx512) return detail::run_with_avx512(loop);
#endif
  run_with(static_cast<Instructions>(instructions), loop);
}

}  // namespace modelutils
