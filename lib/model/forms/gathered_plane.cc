#include "model/forms/gathered_plane.h"

#include <array>
#include <cstring>
#include <vector>

#include "base/byte_reader.h"
#include "model/mlx/quantization.h"

namespace modelutils {

namespace {

constexpr u64 word_bytes = 4;

// The start of a code in a stream: the word's number, and the bit in it.
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

// Returns code `number`. `words` starts with word `first_word`; words are `step` bytes apart.
std::byte code_at(const Gather& gather, u64 number, const std::byte* words, u64 first_word, u64 step) {
  const Place place = place_of(gather, number);
  const std::byte* word = words + (place.word - first_word) * step;
  u64 bits = load<u32>(word);
  if (place.bit + gather.bits > 32) bits |= u64{load<u32>(word + step)} << 32;
  return static_cast<std::byte>((bits >> place.bit) & ((1u << gather.bits) - 1));
}

// True if every eight codes start at a byte boundary: if codes run on across words, or fill the words completely.
bool is_in_eights(const Gather& gather) {
  const bool fills_words = gather.codes_in_word == 0 || gather.codes_in_word * gather.bits == 32;
  return fills_words && !gather.is_shuffled && gather.bits >= 2 && gather.bits <= 8;
}

void put_eight(u64 codes, std::byte* out) {
  std::memcpy(out, &codes, sizeof codes);
}

// Splits bytes into nibbles, the low one first. A simple loop, so that the compiler vectorises it.
void nibbles_of_bytes(const std::byte* __restrict in, u64 bytes, std::byte* __restrict out) {
  for (u64 i = 0; i < bytes; ++i) {
    out[2 * i] = in[i] & std::byte{15};
    out[2 * i + 1] = in[i] >> 4;
  }
}

// Unpacks codes [0, columns) of one row's stream, which has `bytes` bytes at `words`.
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

// Unpacks 4-bit codes of `count` rows whose words are interleaved. Output rows start every `row_bytes` bytes.
void nibbles_of_word_columns(u64 columns, u64 row_bytes, const std::byte* words, u64 step, u64 count, std::byte* out) {
  constexpr u64 words_at_once = 32;  // a few cache lines in every row of `out`
  for (u64 from = 0; from < columns / 8; from += words_at_once) {
    const u64 end = std::min(from + words_at_once, columns / 8);
    u64 row = 0;
    for (; row + 4 <= count; row += 4) {
      u64 w = from;
      for (; w + 4 <= end; w += 4) {
        turn_four_words(words + w * step + row * word_bytes, step, out + row * row_bytes + 8 * w, row_bytes);
      }
      for (; w < end; ++w) {
        for (u64 r = row; r < row + 4; ++r) {
          put_eight(mlx::spread_codes(load<u32>(words + w * step + r * word_bytes), 4), out + r * row_bytes + 8 * w);
        }
      }
    }
    for (; row < count; ++row) {
      for (u64 w = from; w < end; ++w) {
        put_eight(mlx::spread_codes(load<u32>(words + w * step + row * word_bytes), 4), out + row * row_bytes + 8 * w);
      }
    }
  }
}

// Unpacks `count` rows whose words are interleaved, 32 codes at a time, which take as many words as a code has bits.
// The next word of a row is `step` bytes further.
void codes_of_word_columns(const Gather& gather, u64 columns, const std::byte* words, u64 step, u64 count,
                           MutableBytes out) {
  u64 whole = 0;
  if (is_in_eights(gather) && gather.bits == 4) {
    whole = columns / 8 * 8;
    nibbles_of_word_columns(whole, columns, words, step, count, out.data());
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

// Unpacks 4-bit codes packed along the columns, eight rows per word, in order or in AWQ's order. The words of the next
// column are `step` bytes further. Processes only the whole words among `count` rows.
void nibbles_of_columns(bool is_shuffled, u64 columns, const std::byte* words, u64 step, u64 count, std::byte* out) {
  constexpr std::array<u64, 8> shuffled = {0, 2, 4, 6, 1, 3, 5, 7};  // the rows of a word's nibbles
  constexpr std::array<u64, 8> in_order = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::array<u64, 8>& rows = is_shuffled ? shuffled : in_order;
  constexpr u64 columns_at_once = 64;  // one cache line in every row of `out`
  constexpr u64 words_at_once = 4;
  constexpr u64 rows_at_once = 8 * words_at_once;
  std::array<std::array<std::byte, columns_at_once>, rows_at_once> tile;
  for (u64 begin = 0; begin < columns; begin += columns_at_once) {
    const u64 width = std::min(columns_at_once, columns - begin);
    u64 w = 0;
    // Output rows may have addresses that conflict in the cache, so collect lines in a tile and copy them whole.
    for (; w + words_at_once <= count / 8; w += words_at_once) {
      u64 i = 0;
      for (; i + 16 <= width; i += 16) {
        SixteenBytes squares[16];
        turn_bytes(words + (begin + i) * step + w * word_bytes, step, squares);
        for (u64 j = 0; j < 16; ++j) {
          const u64 first = j / word_bytes * 8;
          put_sixteen(squares[j] & 15, tile[first + rows[j % word_bytes * 2]].data() + i);
          put_sixteen(squares[j] >> 4, tile[first + rows[j % word_bytes * 2 + 1]].data() + i);
        }
      }
      for (; i < width; ++i) {
        for (u64 k = 0; k < words_at_once; ++k) {
          const u64 codes = mlx::spread_codes(load<u32>(words + (begin + i) * step + (w + k) * word_bytes), 4);
          for (u64 n = 0; n < 8; ++n) tile[8 * k + rows[n]][i] = static_cast<std::byte>(codes >> (8 * n));
        }
      }
      for (u64 r = 0; r < rows_at_once; ++r) std::memcpy(out + (8 * w + r) * columns + begin, tile[r].data(), width);
    }
    for (; w < count / 8; ++w) {
      for (u64 i = begin; i < begin + width; ++i) {
        const u64 codes = mlx::spread_codes(load<u32>(words + i * step + w * word_bytes), 4);
        for (u64 n = 0; n < 8; ++n) out[(8 * w + rows[n]) * columns + i] = static_cast<std::byte>(codes >> (8 * n));
      }
    }
  }
}

// Transposes values stored by column, `step` bytes apart, to `count` rows.
template <typename Value>
void values_across(u64 columns, const std::byte* values, u64 step, u64 count, std::byte* out) {
  constexpr u64 rows_at_once = 32;  // at least one cache line of every column
  for (u64 begin = 0; begin < count; begin += rows_at_once) {
    const u64 end = std::min(begin + rows_at_once, count);
    for (u64 i = 0; i < columns; ++i) {
      const std::byte* from = values + i * step;
      for (u64 row = begin; row < end; ++row) {
        std::memcpy(out + (row * columns + i) * sizeof(Value), from + row * sizeof(Value), sizeof(Value));
      }
    }
  }
}

// Returns the last word touched by codes up to and including `last`.
u64 last_word(const Gather& gather, u64 last) {
  const Place place = place_of(gather, last);
  if (gather.is_shuffled) return place.word;
  return place.word + (place.bit + gather.bits > 32 ? 1 : 0);
}

// The location of pieces: `lines` pieces of `bytes` each, `stride` apart.
struct Pieces {
  u64 offset = 0;  // relative to the plane
  u64 stride = 0;
  u64 lines = 0;
  u64 bytes = 0;
};

// Returns the word of a column's stream where row `first` starts.
u64 first_word(const Gather& gather, u64 first) {
  return place_of(gather, gather.is_shuffled ? first / 8 * 8 : first).word;
}

Pieces pieces_of(const Gather& gather, u64 first, u64 count) {
  using Kind = Gather::Kind;
  const u64 width = gather.bits / 8;
  const u64 columns = gather.columns;
  switch (gather.kind) {
    case Kind::none: break;
    case Kind::codes_in_rows:
      return {first * gather.stride, gather.stride, count, (last_word(gather, columns - 1) + 1) * word_bytes};
    case Kind::words_of_columns:
      return {first * word_bytes, gather.stride, last_word(gather, columns - 1) + 1, count * word_bytes};
    case Kind::codes_of_columns: {
      const u64 from = first_word(gather, first);
      return {from * word_bytes, gather.stride, columns,
              (last_word(gather, first + count - 1) - from + 1) * word_bytes};
    }
    case Kind::words_of_rows: {
      const u64 from = first_word(gather, first);
      return {from * gather.stride, gather.stride, last_word(gather, first + count - 1) - from + 1, gather.stride};
    }
    case Kind::values_in_rows: return {first * gather.stride, gather.stride, count, columns * width};
    case Kind::values_of_columns: return {first * width, gather.stride, columns, count * width};
  }
  return {};
}

// Reads the pieces one by one, or several at once if the gaps between them are small.
Status read_lines_of(const ByteSource& file, u64 offset, const Pieces& pieces, std::vector<std::byte>& out) {
  const u64 stride = pieces.stride;
  const u64 bytes = pieces.bytes;
  // The buffer only grows, because resize() clears what it adds.
  const auto total = static_cast<std::size_t>(pieces.lines * bytes);
  if (out.size() < total) out.resize(total);
  if (total == 0) return {};
  if (stride == bytes) return file.read_exact(offset, MutableBytes(out).first(total));
  constexpr u64 most_at_once = u64{1} << 20;
  constexpr u64 most_between = u64{4} << 10;  // reading this much takes about as long as another read call
  const u64 together = stride - bytes <= most_between ? std::max<u64>(most_at_once / stride, 1) : 1;
  // Kept between calls: freeing memory of this size returns it to the system, which would have to clear it again.
  static thread_local std::vector<std::byte> span;
  for (u64 line = 0; line < pieces.lines; line += together) {
    const u64 now = std::min(together, pieces.lines - line);
    if (now == 1) {
      MU_TRY(file.read_exact(offset + line * stride, MutableBytes(out).subspan(line * bytes, bytes)));
      continue;
    }
    const auto read = static_cast<std::size_t>((now - 1) * stride + bytes);
    if (span.size() < read) span.resize(read);
    MU_TRY(file.read_exact(offset + line * stride, MutableBytes(span).first(read)));
    for (u64 i = 0; i < now; ++i) std::memcpy(out.data() + (line + i) * bytes, span.data() + i * stride, bytes);
  }
  return {};
}

}  // namespace

bool lies_across(const Gather& gather) {
  using Kind = Gather::Kind;
  return gather.kind == Kind::words_of_columns || gather.kind == Kind::codes_of_columns ||
         gather.kind == Kind::words_of_rows || gather.kind == Kind::values_of_columns;
}

Status read_pieces(const ByteSource& file, u64 offset, const Gather& gather, u64 first, u64 count,
                   GatheredPieces& out) {
  out.first = first;
  out.count = count;
  if (count == 0 || gather.columns == 0) return {};
  const Pieces pieces = pieces_of(gather, first, count);
  out.line_bytes = pieces.bytes;
  return read_lines_of(file, offset + pieces.offset, pieces, out.bytes);
}

void gather_rows(const Gather& gather, const GatheredPieces& pieces, u64 first, u64 count, MutableBytes out) {
  using Kind = Gather::Kind;
  const u64 columns = gather.columns;
  if (count == 0 || columns == 0) return;
  const u64 step = pieces.line_bytes;
  const u64 behind = first - pieces.first;  // rows to skip
  const std::byte* const read = pieces.bytes.data();
  switch (gather.kind) {
    case Kind::none: return;
    case Kind::codes_in_rows:
      for (u64 row = 0; row < count; ++row) {
        codes_of_stream(gather, columns, read + (behind + row) * step, step, out.data() + row * columns);
      }
      return;
    case Kind::words_of_columns:
      codes_of_word_columns(gather, columns, read + behind * word_bytes, step, count, out);
      return;
    case Kind::codes_of_columns: {
      const u64 from = first_word(gather, pieces.first);
      u64 done = 0;
      if (gather.bits == 4 && first % 8 == 0 && (gather.is_shuffled || is_in_eights(gather))) {
        done = count / 8 * 8;
        const std::byte* const words = read + (first_word(gather, first) - from) * word_bytes;
        nibbles_of_columns(gather.is_shuffled, columns, words, step, done, out.data());
      }
      for (u64 i = 0; i < columns && done < count; ++i) {
        for (u64 row = done; row < count; ++row) {
          out[row * columns + i] = code_at(gather, first + row, read + i * step, from, word_bytes);
        }
      }
      return;
    }
    case Kind::words_of_rows: {
      const u64 from = first_word(gather, pieces.first);
      for (u64 row = 0; row < count; ++row) {
        for (u64 i = 0; i < columns; ++i) {
          out[row * columns + i] = code_at(gather, first + row, read + i * word_bytes, from, step);
        }
      }
      return;
    }
    case Kind::values_in_rows: std::memcpy(out.data(), read + behind * step, count * step); return;
    case Kind::values_of_columns: {
      const u64 width = gather.bits / 8;
      const std::byte* const values = read + behind * width;
      (width == 2 ? values_across<u16> : values_across<u32>)(columns, values, step, count, out.data());
      return;
    }
  }
}

Status read_gathered(const ByteSource& file, u64 offset, const Gather& gather, u64 first, u64 count, MutableBytes out) {
  static thread_local GatheredPieces pieces;  // kept between calls, as in read_lines_of()
  MU_TRY(read_pieces(file, offset, gather, first, count, pieces));
  gather_rows(gather, pieces, first, count, out);
  return {};
}

}  // namespace modelutils
