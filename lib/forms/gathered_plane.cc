#include "forms/gathered_plane.h"

#include <array>
#include <cstring>
#include <vector>

#include "base/byte_reader.h"

namespace modelutils {

namespace {

constexpr u64 word_bytes = 4;

// Number of the word and the bit in it where a code of a stream begins.
struct Place {
  u64 word;
  unsigned bit;
};

Place place_of(const Gather& gather, u64 number) {
  if (gather.codes_in_word != 0) {
    return {number / gather.codes_in_word, static_cast<unsigned>(number % gather.codes_in_word) * gather.bits};
  }
  if (gather.is_shuffled) {
    constexpr std::array<unsigned, 8> nibbles = {0, 4, 1, 5, 2, 6, 3, 7};
    return {number / 8, nibbles[number % 8] * 4};
  }
  const u64 at = number * gather.bits;
  return {at / 32, static_cast<unsigned>(at % 32)};
}

// Of words whose numbers begin with `first_word`, `step` bytes apart.
std::byte code_at(const Gather& gather, u64 number, const std::byte* words, u64 first_word, u64 step) {
  const Place place = place_of(gather, number);
  const std::byte* word = words + (place.word - first_word) * step;
  u64 bits = load<u32>(word);
  if (place.bit + gather.bits > 32) bits |= u64{load<u32>(word + step)} << 32;
  return static_cast<std::byte>((bits >> place.bit) & ((1u << gather.bits) - 1));
}

// The last word that codes [.., last] reach.
u64 last_word(const Gather& gather, u64 last) {
  const Place place = place_of(gather, last);
  if (gather.is_shuffled) return place.word;
  return place.word + (place.bit + gather.bits > 32 ? 1 : 0);
}

// `lines` pieces of `bytes`, `stride` apart, one after another. At once where little lies between them.
Status read_pieces(const ByteSource& file, u64 offset, u64 stride, u64 lines, u64 bytes, std::vector<std::byte>& out) {
  out.resize(static_cast<std::size_t>(lines * bytes));
  if (lines == 0 || bytes == 0) return {};
  constexpr u64 most_at_once = u64{1} << 20;
  const u64 together = stride <= 4 * bytes ? std::max<u64>(most_at_once / stride, 1) : 1;
  std::vector<std::byte> span;
  for (u64 line = 0; line < lines; line += together) {
    const u64 now = std::min(together, lines - line);
    if (now == 1) {
      MU_TRY(file.read_exact(offset + line * stride, MutableBytes(out).subspan(line * bytes, bytes)));
      continue;
    }
    span.resize(static_cast<std::size_t>((now - 1) * stride + bytes));
    MU_TRY(file.read_exact(offset + line * stride, span));
    for (u64 i = 0; i < now; ++i) std::memcpy(out.data() + (line + i) * bytes, span.data() + i * stride, bytes);
  }
  return {};
}

}  // namespace

Status read_gathered(const ByteSource& file, u64 offset, const Gather& gather, u64 first, u64 count, MutableBytes out) {
  using Kind = Gather::Kind;
  const u64 columns = gather.columns;
  if (count == 0 || columns == 0) return {};
  std::vector<std::byte> read;
  switch (gather.kind) {
    case Kind::none: return {};
    case Kind::codes_in_rows: {
      const u64 bytes = (last_word(gather, columns - 1) + 1) * word_bytes;
      MU_TRY(read_pieces(file, offset + first * gather.stride, gather.stride, count, bytes, read));
      for (u64 row = 0; row < count; ++row) {
        const std::byte* words = read.data() + row * bytes;
        for (u64 i = 0; i < columns; ++i) out[row * columns + i] = code_at(gather, i, words, 0, word_bytes);
      }
      return {};
    }
    case Kind::words_of_columns: {
      const u64 words = last_word(gather, columns - 1) + 1;
      const u64 bytes = count * word_bytes;
      MU_TRY(read_pieces(file, offset + first * word_bytes, gather.stride, words, bytes, read));
      for (u64 row = 0; row < count; ++row) {
        const std::byte* own = read.data() + row * word_bytes;
        for (u64 i = 0; i < columns; ++i) out[row * columns + i] = code_at(gather, i, own, 0, bytes);
      }
      return {};
    }
    case Kind::codes_of_columns: {
      const u64 from = place_of(gather, gather.is_shuffled ? first / 8 * 8 : first).word;
      const u64 bytes = (last_word(gather, first + count - 1) - from + 1) * word_bytes;
      MU_TRY(read_pieces(file, offset + from * word_bytes, gather.stride, columns, bytes, read));
      for (u64 i = 0; i < columns; ++i) {
        const std::byte* words = read.data() + i * bytes;
        for (u64 row = 0; row < count; ++row) {
          out[row * columns + i] = code_at(gather, first + row, words, from, word_bytes);
        }
      }
      return {};
    }
    case Kind::words_of_rows: {
      const u64 from = place_of(gather, first).word;
      const u64 words = last_word(gather, first + count - 1) - from + 1;
      MU_TRY(read_pieces(file, offset + from * gather.stride, gather.stride, words, gather.stride, read));
      for (u64 row = 0; row < count; ++row) {
        for (u64 i = 0; i < columns; ++i) {
          out[row * columns + i] = code_at(gather, first + row, read.data() + i * word_bytes, from, gather.stride);
        }
      }
      return {};
    }
    case Kind::values_in_rows: {
      const u64 bytes = columns * (gather.bits / 8);
      MU_TRY(read_pieces(file, offset + first * gather.stride, gather.stride, count, bytes, read));
      std::memcpy(out.data(), read.data(), read.size());
      return {};
    }
    case Kind::values_of_columns: {
      const u64 width = gather.bits / 8;
      const u64 bytes = count * width;
      MU_TRY(read_pieces(file, offset + first * width, gather.stride, columns, bytes, read));
      for (u64 i = 0; i < columns; ++i) {
        for (u64 row = 0; row < count; ++row) {
          std::memcpy(out.data() + (row * columns + i) * width, read.data() + i * bytes + row * width, width);
        }
      }
      return {};
    }
  }
  return {};
}

}  // namespace modelutils
