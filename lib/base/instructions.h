// Compiles inner loops over all values of a model twice: for any machine, and for one with AVX2 (or AVX-512, for the
// few loops that are limited by arithmetic rather than by memory). All come from the same source and do the same
// operations in the same order, so results do not depend on the machine.
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>

#include "base/types.h"

namespace modelutils {

enum class Instructions : u8 {
  any_machine,  ///< the compiler's default instruction set
  avx2,  ///< AVX2 and FMA; FMA only where the code asks for it, because it rounds differently (-ffp-contract=off)
};

/// Returns the fastest instruction set that this machine supports.
inline Instructions best_instructions() {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return has_avx2 ? Instructions::avx2 : Instructions::any_machine;
#else
  return Instructions::any_machine;
#endif
}

/// a × b + c with a single rounding, on every machine: the C library's fmaf() is slow without FMA, and mingw-w64's
/// rounds more than once. The product is exact in double. The sum is rounded to odd (IEEE 754 has no such mode; Boldo
/// and Melquiond, "Emulation of a FMA and correctly rounded sums"); because a double has enough extra bits, the final
/// rounding to float equals that of the exact sum.
inline float fused_in_doubles(float a, float b, float c) {
  const double product = static_cast<double>(a) * b;
  const double addend = c;
  const double sum = product + addend;
  const double of_product = sum - addend;
  const double rest = (product - of_product) + (addend - (sum - of_product));
  u64 bits = std::bit_cast<u64>(sum);
  if ((rest > 0 || rest < 0) && bits % 2 == 0) bits += (rest > 0) == (sum > 0) ? u64{1} : ~u64{0};
  return static_cast<float>(std::bit_cast<double>(bits));
}

namespace detail {
#if defined(__x86_64__)
template <typename Loop>
[[gnu::target("avx2,fma"), gnu::flatten]] void run_with_avx2(const Loop& loop) {
  loop(std::integral_constant<std::size_t, 32>());
}
#endif
}  // namespace detail

/// Calls loop(width), compiled for `instructions`, which the machine must support. `width` is a compile-time constant:
/// bytes per vector. The compiler inlines all functions that the loop calls, so keep the loop short and its callees
/// inline.
template <typename Loop>
void run_with([[maybe_unused]] Instructions instructions, const Loop& loop) {
#if defined(__x86_64__)
  if (instructions == Instructions::avx2) return detail::run_with_avx2(loop);
#endif
  loop(std::integral_constant<std::size_t, 16>());
}

// Adds AVX-512 to those instruction sets. For the few inner loops that are limited by arithmetic
// rather than by memory.

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
