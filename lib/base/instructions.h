// Inner loops over every value of a model exist twice in a program: made for any machine, and for one with AVX2. The
// same source gives both, so they do the same operations in the same order, and results do not depend on the machine.
#pragma once

#include <cstddef>
#include <type_traits>

#include "base/types.h"

namespace modelutils {

enum class Instructions : u8 {
  any_machine,  ///< what the compiler may use anyway
  avx2,         ///< and FMA, which compilers do not use by themselves: it rounds differently
};

/// The fastest that this machine has.
inline Instructions best_instructions() {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return has_avx2 ? Instructions::avx2 : Instructions::any_machine;
#else
  return Instructions::any_machine;
#endif
}

namespace detail {
#if defined(__x86_64__)
template <typename Loop>
[[gnu::target("avx2,fma"), gnu::flatten]] void run_with_avx2(const Loop& loop) {
  loop(std::integral_constant<std::size_t, 32>());
}
#endif
}  // namespace detail

/// Calls loop(width) compiled with these instructions, which the machine must have; `width` is a constant, the bytes of
/// a vector. Everything that the loop calls is compiled into it, so let it be short and its callees be inline.
template <typename Loop>
void run_with([[maybe_unused]] Instructions instructions, const Loop& loop) {
#if defined(__x86_64__)
  if (instructions == Instructions::avx2) return detail::run_with_avx2(loop);
#endif
  loop(std::integral_constant<std::size_t, 16>());
}

}  // namespace modelutils
