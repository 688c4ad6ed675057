// Converts one-byte codes to floats, eight at a time if the machine has 32-byte vectors. g++ 12's own vectorisation of
// such a loop takes half as long again, because it widens in two steps.
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

/// Stores one value or a vector of eight.
template <typename Values>
[[gnu::always_inline]] inline void store(const Values& values, float* to) {
  std::memcpy(to, &values, sizeof values);
}

/// Calls body(i, code) for each of `count` bytes (u8 or i8; `count` is a multiple of 8), with `code` as an int in a
/// loop that can be vectorised. If `width` is 32, calls it once per eight bytes, with `code` as a vector of eight.
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
  // Not unrolled, because g++ 12 would unroll before trying to vectorise the loop, and then fail.
#pragma GCC unroll 1
  for (u32 i = 0; i < count; ++i) body(i, int{static_cast<Byte>(bytes[i])});
}

}  // namespace modelutils::decode
