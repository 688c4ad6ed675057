#include "forms/gathered_plane.h"

#include <array>
#include <cstring>
#include <vector>

#include "base/byte_reader.h"
#include "mlx/spread_codes.h"

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

// Eight codes at a time, the first of them at a byte: of streams whose codes run on, or whose words are filled by them.
bool is_in_eights(const Gather& gather) {
  const bool fills_words = gather.codes_in_word == 0 || gather.codes_in_word * gather.bits == 32;
  return fills_words && !gather.is_shuffled && gather.bits >= 2 && gather.bits <= 8;
}

void put_eight(u64 codes, std::byte* out) {
  std::memcpy(out, &codes, sizeof codes);
}

// Nibbles of bytes, the low one first. Simple for the sake of the vectoriser.
void nibbles_of_bytes(const std::byte* __restrict in, u64 bytes, std::byte* __restrict out) {
  for (u64 i = 0; i < bytes; ++i) {
    out[2 * i] = in[i] & std::byte{15};
    out[2 * i + 1] = in[i] >> 4;
  }
}

// Codes [0, columns) of one row's stream at `words`, of which `bytes` are there.
void codes_of_stream(const Gather& gather, u64 columns, const std::byte* words, u64 bytes, std::byte* out) {
  u64 i = 0;
  if (is_in_eights(gather) && gather.bits == 4) {
    nibbles_of_bytes(words, columns / 2, out);
    i = columns / 2 * 2;
  } else if (is_in_eights(gather) && gather.bits == 8) {
    std::memcpy(out, words, columns);
    i = columns;
  } else if (is_in_eights(gather)) {
    for (const std::byte* at = words; i + 8 <= columns && at + sizeof(u64) <= words + bytes;
         i += 8, at += gather.bits) {
      put_eight(mlx::spread_codes(load<u64>(at), gather.bits), out + i);
    }
  }
  for (; i < columns; ++i) out[i] = code_at(gather, i, words, 0, word_bytes);
}

// The same of `count` rows whose words alternate, 32 codes at a time: as many words as a code has bits.
void codes_of_word_columns(const Gather& gather, u64 columns, const std::byte* words, u64 count, MutableBytes out) {
  const u64 step = count * word_bytes;
  u64 whole = 0;
  if (is_in_eights(gather) && gather.bits == 4) {
    whole = columns / 8 * 8;
    constexpr u64 words_at_once = 8;  // a line of the cache in every row of `out`
    for (u64 from = 0; from < whole / 8; from += words_at_once) {
      const u64 end = std::min(from + words_at_once, whole / 8);
      for (u64 row = 0; row < count; ++row) {
        for (u64 w = from; w < end; ++w) {
          const u64 codes = mlx::spread_codes(load<u32>(words + w * step + row * word_bytes), 4);
          put_eight(codes, out.data() + row * columns + 8 * w);
        }
      }
    }
  } else if (is_in_eights(gather)) {
    whole = columns / 32 * 32;
    std::array<std::byte, 32 + sizeof(u64)> stream{};
    for (u64 i = 0; i < whole; i += 32) {
      const std::byte* run = words + i / 32 * gather.bits * step;
      for (u64 row = 0; row < count; ++row) {
        for (u64 w = 0; w < gather.bits; ++w) {
          std::memcpy(stream.data() + w * word_bytes, run + w * step + row * word_bytes, word_bytes);
        }
        std::byte* const to = out.data() + row * columns + i;
        for (u64 e = 0; e < 4; ++e) {
          put_eight(mlx::spread_codes(load<u64>(stream.data() + e * gather.bits), gather.bits), to + 8 * e);
        }
      }
    }
  }
  for (u64 row = 0; row < count; ++row) {
    const std::byte* own = words + row * word_bytes;
    for (u64 i = whole; i < columns; ++i) out[row * columns + i] = code_at(gather, i, own, 0, step);
  }
}

// Byte i of word k becomes byte k of word i: blocks of four, of two, of one byte change their places.
void transpose_bytes(std::array<u64, 8>& words) {
  const auto exchange = [&](std::size_t distance, u64 kept) {
    const unsigned shift = static_cast<unsigned>(8 * distance);
    for (std::size_t i = 0; i < 8; ++i) {
      if ((i & distance) != 0) continue;
      const u64 low = words[i];
      const u64 high = words[i + distance];
      words[i] = (low & kept) | (high & kept) << shift;
      words[i + distance] = (low >> shift & kept) | (high & ~kept);
    }
  };
  exchange(4, 0x00000000FFFFFFFFu);
  exchange(2, 0x0000FFFF0000FFFFu);
  exchange(1, 0x00FF00FF00FF00FFu);
}

// Rows of AWQ's nibbles, eight in a word of every column: `words` of a column are `step` bytes behind those of the one
// before. As many whole words as `count` rows fill.
void shuffled_rows(u64 columns, const std::byte* words, u64 step, u64 count, std::byte* out) {
  constexpr std::array<u64, 8> rows = {0, 2, 4, 6, 1, 3, 5, 7};  // of the nibbles
  constexpr u64 columns_at_once = 64;                            // a line of the cache in every row of `out`
  for (u64 begin = 0; begin < columns; begin += columns_at_once) {
    const u64 end = std::min(begin + columns_at_once, columns);
    for (u64 w = 0; w < count / 8; ++w) {
      std::byte* const to = out + 8 * w * columns;
      const std::byte* const from = words + w * word_bytes;
      u64 i = begin;
      for (; i + 8 <= end; i += 8) {
        std::array<u64, 8> square;
        for (u64 k = 0; k < 8; ++k) square[k] = mlx::spread_codes(load<u32>(from + (i + k) * step), 4);
        transpose_bytes(square);
        for (u64 k = 0; k < 8; ++k) put_eight(square[k], to + rows[k] * columns + i);
      }
      for (; i < end; ++i) {
        const u64 codes = mlx::spread_codes(load<u32>(from + i * step), 4);
        for (u64 k = 0; k < 8; ++k) to[rows[k] * columns + i] = static_cast<std::byte>(codes >> (8 * k));
      }
    }
  }
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
  if (stride == bytes) return file.read_exact(offset, out);
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
  // Kept for the next call: memory of this size would go back to the system, which clears it again.
  static thread_local std::vector<std::byte> read;
  switch (gather.kind) {
    case Kind::none: return {};
    case Kind::codes_in_rows: {
      const u64 bytes = (last_word(gather, columns - 1) + 1) * word_bytes;
      MU_TRY(read_pieces(file, offset + first * gather.stride, gather.stride, count, bytes, read));
      for (u64 row = 0; row < count; ++row) {
        codes_of_stream(gather, columns, read.data() + row * bytes, bytes, out.data() + row * columns);
      }
      return {};
    }
    case Kind::words_of_columns: {
      const u64 words = last_word(gather, columns - 1) + 1;
      const u64 bytes = count * word_bytes;
      MU_TRY(read_pieces(file, offset + first * word_bytes, gather.stride, words, bytes, read));
      codes_of_word_columns(gather, columns, read.data(), count, out);
      return {};
    }
    case Kind::codes_of_columns: {
      const u64 from = place_of(gather, gather.is_shuffled ? first / 8 * 8 : first).word;
      const u64 bytes = (last_word(gather, first + count - 1) - from + 1) * word_bytes;
      MU_TRY(read_pieces(file, offset + from * word_bytes, gather.stride, columns, bytes, read));
      u64 done = 0;
      if (gather.is_shuffled && gather.bits == 4 && first % 8 == 0) {
        done = count / 8 * 8;
        shuffled_rows(columns, read.data(), bytes, done, out.data());
      }
      for (u64 i = 0; i < columns; ++i) {
        const std::byte* words = read.data() + i * bytes;
        for (u64 row = done; row < count; ++row) {
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
