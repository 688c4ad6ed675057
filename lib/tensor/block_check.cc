#include "tensor/block_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "base/byte_reader.h"
#include "tensor/dequantize.h"

// Checks a piece of data small enough for the cache in two passes: a fast one without branches tells if anything may be
// bad; only then a slow one judges each block.
namespace modelutils {
namespace {

struct Verdict {
  std::string_view field;
  std::string_view what;  // empty if nothing is wrong
  bool is_warning = false;
};

struct Rule {
  TensorType type;
  /// True if any of `blocks` blocks of `stride` bytes may be bad. May give false positives, never false negatives.
  bool (*any_bad)(const Rule& rule, const u8* in, std::size_t blocks, std::size_t stride);
  Verdict (*judge)(const Rule& rule, const u8* block);
  u32 offset = 0;                      // of the F16 scale in the block
  std::string_view second_field = {};  // name of the F16 that follows the scale
};

// ---- Floats: bad if all exponent bits are set. Adding the exponent's lowest bit then carries into the masked sign
// bit.

constexpr u64 repeat(u64 value, u32 bytes) {
  u64 word = 0;
  for (u32 shift = 0; shift < 64; shift += 8 * bytes) word |= value << shift;
  return word;
}

// flag(word) sets bits of `flags` in the bad lanes. A zero lane is never bad.
template <typename Flag>
bool any_flag(const u8* in, std::size_t size, u64 flags, const Flag& flag) {
  u64 seen = 0;
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) seen |= flag(load<u64>(in + at));
  u64 tail = 0;
  for (std::size_t k = 0; at + k < size; ++k) tail |= static_cast<u64>(in[at + k]) << (8 * k);
  return ((seen | flag(tail)) & flags) != 0;
}

template <u32 BYTES, u64 EXPONENT>
bool any_infinite(const Rule&, const u8* in, std::size_t blocks, std::size_t stride) {
  constexpr u64 mask = repeat(EXPONENT, BYTES);
  constexpr u64 lowest = repeat(EXPONENT & (~EXPONENT + 1), BYTES);
  constexpr u64 sign = repeat(u64{1} << (8 * BYTES - 1), BYTES);
  return any_flag(in, blocks * stride, sign, [](u64 word) { return (word & mask) + lowest; });
}

// True if any byte equals VALUE.
template <u8 VALUE>
bool any_byte(const Rule&, const u8* in, std::size_t blocks, std::size_t stride) {
  constexpr u64 low = repeat(0x7F, 1);
  return any_flag(in, blocks * stride, ~low, [](u64 word) {
    const u64 difference = word ^ repeat(VALUE, 1);
    return ~(((difference & low) + low) | difference);  // bit 7 of each byte: set if `difference` is zero there
  });
}

bool any_beyond_one(const Rule&, const u8* in, std::size_t blocks, std::size_t stride) {
  return any_flag(in, blocks * stride, repeat(0xFE, 1), [](u64 word) { return word; });
}

template <typename Word>
Verdict judge_float(std::string_view field, Word bits, Word exponent) {
  if ((bits & exponent) != exponent) return {};
  const Word mantissa = (exponent & (~exponent + 1)) - 1;
  return {field, (bits & mantissa) != 0 ? "NaN" : "Inf"};
}

template <typename Word, Word EXPONENT>
Verdict judge_value(const Rule&, const u8* block) {
  return judge_float<Word>("value", load<Word>(block), EXPONENT);
}

Verdict judge_complex(const Rule&, const u8* block) {
  const Verdict real = judge_float<u32>("value", load<u32>(block), 0x7F800000);
  return real.what.empty() ? judge_float<u32>("value", load<u32>(block + 4), 0x7F800000) : real;
}

template <u8 VALUE>
Verdict judge_nan_byte(const Rule&, const u8* block) {
  return *block == VALUE ? Verdict{"value", "NaN"} : Verdict{};
}

Verdict judge_e4m3(const Rule&, const u8* block) {
  return (*block & 0x7F) == 0x7F ? Verdict{"value", "NaN"} : Verdict{};
}

Verdict judge_e5m2(const Rule&, const u8* block) {
  if ((*block & 0x7C) != 0x7C) return {};
  return {"value", (*block & 3) != 0 ? "NaN" : "Inf"};
}

Verdict judge_bool(const Rule&, const u8* block) {
  return *block > 1 ? Verdict{"value", "is not 0 or 1", true} : Verdict{};
}

// ---- Blocks: only the scale fields.

template <typename Flag>
bool any_block(const u8* in, std::size_t blocks, std::size_t stride, const Flag& flag) {
  bool seen = false;
  for (; blocks > 0; --blocks, in += stride) seen |= flag(in);
  return seen;
}

bool any_half(const Rule& rule, const u8* in, std::size_t blocks, std::size_t stride) {
  u32 seen = 0;
  for (in += rule.offset; blocks > 0; --blocks, in += stride) seen |= (load<u16>(in) & 0x7C00u) + 0x0400u;
  return (seen & 0x8000) != 0;
}

Verdict judge_half(const Rule& rule, const u8* block) {
  return judge_float<u16>("d", load<u16>(block + rule.offset), 0x7C00);
}

bool any_two_halves(const Rule& rule, const u8* in, std::size_t blocks, std::size_t stride) {
  u32 seen = 0;
  for (in += rule.offset; blocks > 0; --blocks, in += stride) seen |= (load<u32>(in) & 0x7C007C00u) + 0x04000400u;
  return (seen & 0x80008000u) != 0;
}

Verdict judge_two_halves(const Rule& rule, const u8* block) {
  const Verdict scale = judge_half(rule, block);
  if (!scale.what.empty()) return scale;
  return judge_float<u16>(rule.second_field, load<u16>(block + rule.offset + 2), 0x7C00);
}

// Assembles IQ1_M's scale from the highest four bits of each of the four words at offset 48.
u16 iq1_m_scale(const u8* block) {
  const u64 words = load<u64>(block + 48);
  return static_cast<u16>((words >> 12 & 0xF) | (words >> 24 & 0xF0) | (words >> 36 & 0xF00) | (words >> 48 & 0xF000));
}

bool any_iq1_m(const Rule&, const u8* in, std::size_t blocks, std::size_t stride) {
  return any_block(in, blocks, stride, [](const u8* block) { return (iq1_m_scale(block) & 0x7C00) == 0x7C00; });
}

Verdict judge_iq1_m(const Rule&, const u8* block) {
  return judge_float<u16>("d", iq1_m_scale(block), 0x7C00);
}

// Q8_K: the largest code magnitude is 128, so a scale below 2^120 cannot overflow.
bool any_q8_k(const Rule&, const u8* in, std::size_t blocks, std::size_t stride) {
  return any_block(in, blocks, stride, [](const u8* block) { return (load<u32>(block) & 0x7FFFFFFF) >= 0x7B800000; });
}

Verdict judge_q8_k(const Rule&, const u8* block) {
  const Verdict scale = judge_float<u32>("d", load<u32>(block), 0x7F800000);
  if (!scale.what.empty()) return scale;
  int largest = 0;
  for (u32 i = 0; i < 256; ++i) largest = std::max(largest, std::abs(static_cast<int>(load<i8>(block + 4 + i))));
  return std::isinf(load<float>(block) * static_cast<float>(largest)) ? Verdict{"d", "overflows to Inf"} : Verdict{};
}

// MXFP4: ggml rejects the exponent 255; 253 and 254 overflow only with large codes.
bool any_mxfp4(const Rule&, const u8* in, std::size_t blocks, std::size_t stride) {
  return any_block(in, blocks, stride, [](const u8* block) { return *block >= 253; });
}

Verdict judge_mxfp4(const Rule& rule, const u8* block) {
  if (*block == 255) return {"e", "NaN"};
  if (*block < 253) return {};
  std::array<float, 32> values{};
  dequantize(rule.type, std::as_bytes(std::span(block, type_info(rule.type).block_bytes)), values);
  const bool overflows = std::ranges::any_of(values, [](float value) { return std::isinf(value); });
  return overflows ? Verdict{"e", "overflows to Inf"} : Verdict{};
}

// NVFP4: readers disagree about 0x7F and all values from 0x80.
bool any_nvfp4(const Rule&, const u8* in, std::size_t blocks, std::size_t stride) {
  u32 seen = 0;
  for (; blocks > 0; --blocks, in += stride) {
    const u32 scales = load<u32>(in);
    seen |= scales | ((scales & 0x7F7F7F7Fu) + 0x01010101u);
  }
  return (seen & 0x80808080u) != 0;
}

Verdict judge_nvfp4(const Rule&, const u8* block) {
  for (u32 k = 0; k < 4; ++k) {
    if (block[k] >= 0x7F) return {"scale", "is a byte that encoders never write", true};
  }
  return {};
}

using enum TensorType;

constexpr auto rules = std::to_array<Rule>({
    {F16, any_infinite<2, 0x7C00>, judge_value<u16, 0x7C00>},
    {BF16, any_infinite<2, 0x7F80>, judge_value<u16, 0x7F80>},
    {F32, any_infinite<4, 0x7F800000>, judge_value<u32, 0x7F800000>},
    {F64, any_infinite<8, 0x7FF0000000000000>, judge_value<u64, 0x7FF0000000000000>},
    {C64, any_infinite<4, 0x7F800000>, judge_complex},
    {F8_E4M3, any_infinite<1, 0x7F>, judge_e4m3},
    {F8_E5M2, any_infinite<1, 0x7C>, judge_e5m2},
    {F8_E4M3FNUZ, any_byte<0x80>, judge_nan_byte<0x80>},
    {F8_E5M2FNUZ, any_byte<0x80>, judge_nan_byte<0x80>},
    {F8_E8M0, any_byte<0xFF>, judge_nan_byte<0xFF>},
    {BOOL, any_beyond_one, judge_bool},
    {Q4_0, any_half, judge_half, 0},
    {Q4_1, any_two_halves, judge_two_halves, 0, "m"},
    {Q5_0, any_half, judge_half, 0},
    {Q5_1, any_two_halves, judge_two_halves, 0, "m"},
    {Q8_0, any_half, judge_half, 0},
    {Q8_1, any_two_halves, judge_two_halves, 0, "s"},
    {Q2_K, any_two_halves, judge_two_halves, 80, "dmin"},
    {Q3_K, any_half, judge_half, 108},
    {Q4_K, any_two_halves, judge_two_halves, 0, "dmin"},
    {Q5_K, any_two_halves, judge_two_halves, 0, "dmin"},
    {Q6_K, any_half, judge_half, 208},
    {Q8_K, any_q8_k, judge_q8_k},
    {IQ2_XXS, any_half, judge_half, 0},
    {IQ2_XS, any_half, judge_half, 0},
    {IQ2_S, any_half, judge_half, 0},
    {IQ3_XXS, any_half, judge_half, 0},
    {IQ3_S, any_half, judge_half, 0},
    {IQ1_S, any_half, judge_half, 0},
    {IQ1_M, any_iq1_m, judge_iq1_m},
    {IQ4_NL, any_half, judge_half, 0},
    {IQ4_XS, any_half, judge_half, 0},
    {TQ1_0, any_half, judge_half, 52},
    {TQ2_0, any_half, judge_half, 64},
    {MXFP4, any_mxfp4, judge_mxfp4},
    {NVFP4, any_nvfp4, judge_nvfp4},
    {Q1_0, any_half, judge_half, 0},
    {Q2_0, any_half, judge_half, 0},
});

const Rule* find_rule(TensorType type) {
  const auto found = std::ranges::find(rules, type, &Rule::type);
  return found == rules.end() ? nullptr : &*found;
}

constexpr std::size_t piece_bytes = 16 * 1024;

}  // namespace

bool has_block_check(TensorType type) {
  return find_rule(type) != nullptr;
}

BlockCheck check_blocks(TensorType type, Bytes blocks) {
  BlockCheck result;
  const Rule* rule = find_rule(type);
  if (rule == nullptr) return result;
  const std::size_t stride = type_info(type).block_bytes;
  const std::size_t count = blocks.size() / stride;
  const std::size_t per_piece = piece_bytes / stride;
  const u8* in = reinterpret_cast<const u8*>(blocks.data());
  for (std::size_t first = 0; first < count; first += per_piece) {
    const std::size_t here = std::min(per_piece, count - first);
    if (!rule->any_bad(*rule, in + first * stride, here, stride)) continue;
    for (std::size_t block = first; block < first + here; ++block) {
      const Verdict verdict = rule->judge(*rule, in + block * stride);
      if (verdict.what.empty()) continue;
      ++result.bad_blocks;
      if (!result.first || (result.first->is_warning && !verdict.is_warning)) {
        result.first = BadBlock{block, verdict.field, verdict.what, verdict.is_warning};
      }
    }
  }
  return result;
}

bool holds_only_zeros(TensorType type, Bytes blocks) {
  if (!has_decoder(type)) return false;
  const TypeInfo& info = type_info(type);
  std::array<float, 1024> values;  // room for several whole blocks: no type has more than 256 elements per block
  const std::size_t most = values.size() / info.block_elements * info.block_bytes;
  while (!blocks.empty()) {
    const Bytes piece = blocks.first(std::min(most, blocks.size()));
    const std::span<float> out = std::span(values).first(piece.size() / info.block_bytes * info.block_elements);
    dequantize(type, piece, out);
    if (!std::ranges::all_of(out, [](float value) { return value == 0; })) return false;
    blocks = blocks.subspan(piece.size());
  }
  return true;
}

}  // namespace modelutils
