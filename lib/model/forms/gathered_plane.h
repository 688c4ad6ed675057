// Planes that are not stored row by row: codes packed in words along or across rows, and transposed scales, as in GPTQ,
// AWQ and compressed-tensors (docs/formats/hf-quantized.md). Each code is unpacked to a byte.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/types.h"
#include "tensor/half.h"

namespace modelutils {

// Transposes nibbles packed across rows, so that each row's nibbles are in order, one per byte. Processes sixteen bytes
// at a time, with shuffles that compilers map to single vector instructions.

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

/// The location of element `column` of row `row`. Streams are sequences of bits, little-endian, in words of 32 bits.
struct Gather {
  enum class Kind : u8 {
    none,              ///< stored row by row: nothing to gather
    codes_in_rows,     ///< each row is a stream; they start every `stride` bytes
    words_of_columns,  ///< each row is a stream; its word w is at w × stride + 4 × row
    codes_of_columns,  ///< each column is a stream; they start every `stride` bytes, with row r's code at bit r × bits
    words_of_rows,     ///< each column is a stream; its word w is at w × stride + 4 × column
    values_in_rows,    ///< values of `bits` bits; a row starts at row × stride
    values_of_columns  ///< values of `bits` bits, at column × stride + row × bits / 8
  };
  Kind kind = Kind::none;
  u8 bits = 0;
  u8 codes_in_word = 0;      ///< 0: codes run on across words
  bool is_shuffled = false;  ///< AWQ: of eight codes, code k is in nibble {0, 4, 1, 5, 2, 6, 3, 7}[k]
  u64 stride = 0;            ///< bytes
  u64 columns = 0;           ///< elements per row

  bool operator==(const Gather&) const = default;
};

/// Reads rows [first, first + count) of the plane at `offset`: `gather.columns` codes (one byte each) or values per
/// row. Reads the bytes that these rows need, and small gaps between them. Fails only if reading fails.
Status read_gathered(const ByteSource& file, u64 offset, const Gather& gather, u64 first, u64 count, MutableBytes out);

// The same in two steps, file access and unpacking, so that one read can serve more rows than are unpacked at a time.

/// True if rows lie across the lines of the file, so that reading many costs little more than reading one.
bool lies_across(const Gather& gather);

/// The bytes that a range of rows needs from the file: consecutive pieces of lines.
struct GatheredPieces {
  u64 first = 0;  ///< row
  u64 count = 0;
  u64 line_bytes = 0;
  std::vector<std::byte> bytes;  ///< may be longer than necessary
};

/// Reads the pieces for rows [first, first + count) of the plane at `offset`. Fails only if reading fails.
Status read_pieces(const ByteSource& file, u64 offset, const Gather& gather, u64 first, u64 count, GatheredPieces& out);

/// Unpacks some of these rows, with the same result as read_gathered().
void gather_rows(const Gather& gather, const GatheredPieces& pieces, u64 first, u64 count, MutableBytes out);

}  // namespace modelutils
