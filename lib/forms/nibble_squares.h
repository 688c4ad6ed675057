// Transposes nibbles packed across rows, so that each row's nibbles are in order, one per byte. Processes sixteen bytes
// at a time, with shuffles that compilers map to single vector instructions.
#pragma once

#include <cstring>
#include <utility>

#include "base/types.h"
#include "tensor/half_bits.h"

namespace modelutils {

using SixteenBytes [[gnu::vector_size(16)]] = u8;

namespace detail {

// Interleaves lanes of `a` and `b`, starting at lane `FIRST`.
template <typename Lane, int FIRST, int... I>
[[gnu::always_inline]] inline SixteenBytes in_turns(SixteenBytes a, SixteenBytes b, std::integer_sequence<int, I...>) {
  using Lanes [[gnu::vector_size(16)]] = Lane;
  constexpr int count = 16 / sizeof(Lane);
  return bits_as<SixteenBytes>(
      __builtin_shufflevector(bits_as<Lanes>(a), bits_as<Lanes>(b), (FIRST + I / 2 + I % 2 * count)...));
}

}  // namespace detail

/// lower_in_turns() interleaves the lower halves of `a` and `b`, upper_in_turns() the upper halves.
template <typename Lane>
[[gnu::always_inline]] inline SixteenBytes lower_in_turns(SixteenBytes a, SixteenBytes b) {
  constexpr int count = 16 / sizeof(Lane);
  return detail::in_turns<Lane, 0>(a, b, std::make_integer_sequence<int, count>());
}
template <typename Lane>
[[gnu::always_inline]] inline SixteenBytes upper_in_turns(SixteenBytes a, SixteenBytes b) {
  constexpr int count = 16 / sizeof(Lane);
  return detail::in_turns<Lane, count / 2>(a, b, std::make_integer_sequence<int, count>());
}

[[gnu::always_inline]] inline SixteenBytes sixteen_at(const std::byte* at) {
  SixteenBytes bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}
[[gnu::always_inline]] inline void put_sixteen(SixteenBytes bytes, std::byte* out) {
  std::memcpy(out, &bytes, sizeof bytes);
}

/// Splits sixteen bytes into 32 nibbles, the low one first.
[[gnu::always_inline]] inline void put_nibbles_apart(SixteenBytes bytes, std::byte* out) {
  const SixteenBytes low = bytes & 15;
  const SixteenBytes high = bytes >> 4;
  put_sixteen(lower_in_turns<u8>(low, high), out);
  put_sixteen(upper_in_turns<u8>(low, high), out + sizeof low);
}

/// Unpacks four words of each of four rows. Word w of row r is at w × step + 4 × r; each row gets 32 codes, at out + r
/// × row_bytes.
[[gnu::always_inline]] inline void turn_four_words(const std::byte* words, u64 step, std::byte* out, u64 row_bytes) {
  SixteenBytes word[4];
  for (u64 w = 0; w < 4; ++w) word[w] = sixteen_at(words + w * step);
  const SixteenBytes a = lower_in_turns<u32>(word[0], word[1]);
  const SixteenBytes b = lower_in_turns<u32>(word[2], word[3]);
  const SixteenBytes c = upper_in_turns<u32>(word[0], word[1]);
  const SixteenBytes d = upper_in_turns<u32>(word[2], word[3]);
  put_nibbles_apart(lower_in_turns<u64>(a, b), out);
  put_nibbles_apart(upper_in_turns<u64>(a, b), out + row_bytes);
  put_nibbles_apart(lower_in_turns<u64>(c, d), out + 2 * row_bytes);
  put_nibbles_apart(upper_in_turns<u64>(c, d), out + 3 * row_bytes);
}

/// Transposes 16 × 16 bytes: byte j of line i becomes byte i of line j. Lines are `step` bytes apart.
[[gnu::always_inline]] inline void turn_bytes(const std::byte* lines, u64 step, SixteenBytes (&out)[16]) {
  SixteenBytes other[16];
  for (u64 i = 0; i < 16; ++i) out[i] = sixteen_at(lines + i * step);
  const auto shuffle = [](const SixteenBytes(&from)[16], SixteenBytes(&to)[16]) __attribute__((always_inline)) {
    for (u64 i = 0; i < 8; ++i) {
      to[2 * i] = lower_in_turns<u8>(from[i], from[i + 8]);
      to[2 * i + 1] = upper_in_turns<u8>(from[i], from[i + 8]);
    }
  };
  // Each step moves the last bit of a byte's index to the front of its line's index.
  shuffle(out, other);
  shuffle(other, out);
  shuffle(out, other);
  shuffle(other, out);
}

}  // namespace modelutils
