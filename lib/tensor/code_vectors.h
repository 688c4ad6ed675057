// Codes of one byte each on their way to floats, eight at a time where the machine has vectors of 32 bytes. What g++ 12
// makes of such a loop by itself takes half as long again: it widens in two steps.
#pragma once

#include <cstring>
#include <type_traits>

#include "base/types.h"

namespace modelutils::decode {

using EightFloats [[gnu::vector_size(32)]] = float;
using EightInts [[gnu::vector_size(32)]] = i32;

[[gnu::always_inline]] inline float as_floats(int code) {
  return static_cast<float>(code);
}
[[gnu::always_inline]] inline EightFloats as_floats(EightInts codes) {
  return __builtin_convertvector(codes, EightFloats);
}

/// Stores one value, or eight.
template <typename Values>
[[gnu::always_inline]] inline void store(const Values& values, float* to) {
  std::memcpy(to, &values, sizeof values);
}

/// Calls body(i, code) for each of `count` bytes (u8 or i8; a multiple of 8), where `code` is an int: the body is a
/// loop's that can be vectorised. Or, with vectors of `width` 32 bytes, for every eighth: then it has eight of them.
template <typename Byte, typename Width, typename Body>
[[gnu::always_inline]] inline void for_codes([[maybe_unused]] Width width, const u8* bytes, u32 count,
                                             const Body& body) {
#if defined(__x86_64__) && !defined(__clang__) && defined(__OPTIMIZE__)
  if constexpr (width() == 32) {
#pragma GCC unroll 4
    for (u32 i = 0; i < count; i += 8) {
      EightInts codes;
      const auto& eight = *reinterpret_cast<const u8(*)[8]>(bytes + i);
      if constexpr (std::is_signed_v<Byte>) {
        __asm__("vpmovsxbd %1, %0" : "=x"(codes) : "m"(eight));
      } else {
        __asm__("vpmovzxbd %1, %0" : "=x"(codes) : "m"(eight));
      }
      body(i, codes);
    }
    return;
  }
#endif
  // Unrolled before it looks for vectors, g++ 12 would find none.
#pragma GCC unroll 1
  for (u32 i = 0; i < count; ++i) body(i, int{static_cast<Byte>(bytes[i])});
}

}  // namespace modelutils::decode
