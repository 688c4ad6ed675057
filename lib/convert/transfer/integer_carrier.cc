#include "convert/transfer/integer_carrier.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/byte_reader.h"
#include "model/forms/gathered_plane.h"
#include "tensor/half.h"

namespace modelutils {

namespace {

constexpr u64 codes_per_block = 32;  // block size of Q4_0, Q5_0 and Q8_0

bool has_codes(const ScaleAnalysis& analysis) {
  return analysis.least <= analysis.greatest;
}

// Returns the narrowest block type whose codes hold the integers; in Q4_0, the scale may be negated.
std::optional<TensorType> type_for(i32 least, i32 greatest) {
  const auto within = [&](i32 low, i32 high) { return least >= low && greatest <= high; };
  if (within(-8, 7) || within(-7, 8)) return TensorType::Q4_0;
  if (within(-16, 15)) return TensorType::Q5_0;
  if (within(-128, 127)) return TensorType::Q8_0;
  return std::nullopt;
}

// True if every block of 32 elements lies within one group.
bool fills_blocks(const StoredForm& form, u64 columns) {
  const IntegerParams& of = form.integers;
  return !of.is_scattered && columns % codes_per_block == 0 && of.group % codes_per_block == 0;
}

std::optional<TensorType> exact_type(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis) {
  if (!has_codes(analysis)) return std::nullopt;
  if (fills_blocks(form, columns) && analysis.inexact == 0 && analysis.too_large == 0) {
    if (const auto type = type_for(analysis.least, analysis.greatest)) return type;
  }
  if (analysis.not_bf16 == 0) return TensorType::BF16;
  if (analysis.not_f16 == 0) return TensorType::F16;
  return std::nullopt;
}

// Finds the range of code − zero point, for rows whose groups fill blocks.
void look_at_codes(const StoredForm& form, u64 columns, const StoredPlanes& planes, ScaleAnalysis& analysis) {
  const IntegerParams& of = form.integers;
  const u64 width = of.group == 0 ? columns : of.group;
  const std::byte* codes = planes[0].data();
  const auto add = [&](const auto* from, u64 count, i32 zero) {
    auto least = *from;
    auto greatest = *from;
    for (u64 i = 1; i < count; ++i) {
      least = std::min(least, from[i]);
      greatest = std::max(greatest, from[i]);
    }
    analysis.least = std::min(analysis.least, i32{least} - zero);
    analysis.greatest = std::max(analysis.greatest, i32{greatest} - zero);
  };
  for (u64 row = 0; row * columns < planes[0].size(); ++row) {
    for (u64 first = 0; first < columns; first += width) {
      const u64 count = std::min(width, columns - first);
      const std::byte* from = codes + row * columns + first;
      const i32 zero = integer_group(form, columns, planes, row, first / width).zero;
      if (of.is_signed)
        add(reinterpret_cast<const i8*>(from), count, zero);
      else
        add(reinterpret_cast<const u8*>(from), count, zero);
    }
  }
}

// Bounds code − zero point by the zero points and the width of the codes.
void bound_codes(const StoredForm& form, const StoredPlanes& planes, ScaleAnalysis& analysis) {
  const IntegerParams& of = form.integers;
  const i32 half = 1 << (of.bits - 1);
  if (of.is_signed || !of.has_zeros) {
    analysis.least_possible = -half;
    analysis.greatest_possible = half - 1;
    return;
  }
  if (planes[2].empty()) return;
  u8 least = 255;
  u8 greatest = 0;
  for (const std::byte stored : planes[2]) {
    least = std::min(least, static_cast<u8>(stored));
    greatest = std::max(greatest, static_cast<u8>(stored));
  }
  const i32 more = of.zeros_plus_one ? 1 : 0;
  analysis.least_possible = std::min(analysis.least_possible, -(greatest + more));
  analysis.greatest_possible = std::max(analysis.greatest_possible, 2 * half - 1 - (least + more));
}

void look_at_scales(const StoredForm& form, Bytes scales, ScaleAnalysis& analysis) {
  const u64 width = type_info(form.types[1]).block_bytes;
  analysis.values += scales.size() / width;
  if (form.types[1] == TensorType::F16) {  // F16 holds all scales, and no code makes the product infinite
    for (u64 i = 0; i < scales.size(); i += width) {
      analysis.not_finite += (load<u16>(scales.data() + i) & 0x7C00) == 0x7C00 ? 1 : 0;
    }
    return;
  }
  const IntegerParams& of = form.integers;
  // maximum magnitude of code − zero point
  const double greatest = std::ldexp(1, of.is_signed ? of.bits - 1 : of.bits);
  for (Bytes left = scales; !left.empty(); left = left.subspan(width)) {
    const float scale = scale_at(form.types[1], left.data());
    if (!std::isfinite(scale)) {
      ++analysis.not_finite;
    } else if (std::abs(double{scale}) * greatest > double{std::numeric_limits<float>::max()}) {
      ++analysis.overflowing;
    } else if (!(std::abs(scale) < 65520.0f)) {
      ++analysis.too_large;
    } else if (f16_to_f32(f32_to_f16(scale)) != scale) {
      ++analysis.inexact;
    }
  }
}

std::string why_no_block(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis) {
  if (form.integers.is_scattered) return "groups are scattered over the columns (act-order)";
  if (!fills_blocks(form, columns)) return "groups do not fill blocks of 32";
  if (analysis.inexact > 0)
    return fmt::format("{} of {} scales are not exact in f16", analysis.inexact, analysis.values);
  return fmt::format("codes minus zero points range from {} to {}", analysis.least, analysis.greatest);
}

// Writes a block of integers after its scale; the codes are given as two halves.
template <TensorType TYPE>
[[gnu::always_inline]] inline void put_block(SixteenBytes first, SixteenBytes second, std::byte* out) {
  if constexpr (TYPE == TensorType::Q8_0) {
    put_sixteen(first, out);
    put_sixteen(second, out + sizeof first);
  } else {
    constexpr u8 offset = TYPE == TensorType::Q4_0 ? 8 : 16;
    first += offset;
    second += offset;
    if constexpr (TYPE == TensorType::Q5_0) {
      BlockCodes eights;
      std::memcpy(eights.data(), &first, sizeof first);
      std::memcpy(eights.data() + 2, &second, sizeof second);
      store_fifth_bits(eights, reinterpret_cast<u8*>(out));
      out += sizeof(u32);
    }
    put_sixteen((first & 15) | second << 4, out);
  }
}

bool has_any(SixteenBytes mask) {
  const auto halves = bits_as<std::array<u64, 2>>(mask);
  return (halves[0] | halves[1]) != 0;
}

template <TensorType TYPE>
void repack(const StoredForm& form, u64 columns, const StoredPlanes& planes, std::byte* out) {
  const IntegerParams& of = form.integers;
  const u64 width = of.group == 0 ? columns : of.group;
  const bool is_f16 = form.types[1] == TensorType::F16;
  const u64 packed_bytes = type_info(TYPE).block_bytes;
  const i32 greatest_code = (1 << (of.is_signed ? of.bits - 1 : of.bits)) - 1;
  const std::byte* codes = planes[0].data();
  const std::byte* scale = planes[1].data();
  for (u64 row = 0; row * columns < planes[0].size(); ++row) {
    const std::byte* const row_end = codes + columns;
    for (u64 group = 0; codes != row_end; ++group, scale += sizeof(u16)) {
      const IntegerGroup shared = integer_group(form, columns, planes, row, group);
      const u16 half = is_f16 ? load<u16>(scale) : f32_to_f16(shared.scale);
      const i32 zero = shared.zero;
      const auto less = static_cast<u8>(zero);
      // Q4_0 codes are −8 … 7. A block that contains 8 contains no −8, so negate the block and its scale.
      const bool may_have_eight = TYPE == TensorType::Q4_0 && greatest_code - zero >= 8;
      const std::byte* const group_end = codes + std::min<u64>(width, static_cast<u64>(row_end - codes));
      for (; codes != group_end; codes += codes_per_block, out += packed_bytes) {
        SixteenBytes first = sixteen_at(codes) - less;
        SixteenBytes second = sixteen_at(codes + codes_per_block / 2) - less;
        u16 own_half = half;
        if (may_have_eight && has_any(bits_as<SixteenBytes>((first == 8) | (second == 8)))) {
          first = -first;
          second = -second;
          own_half ^= 0x8000;
        }
        std::memcpy(out, &own_half, sizeof own_half);
        put_block<TYPE>(first, second, out + sizeof own_half);
      }
    }
  }
}

}  // namespace

ScaleUse integer_scale_use(const StoredForm& /*form*/, u64 /*columns*/, const RepackOptions& /*options*/) {
  return ScaleUse::size;
}

void analyse_integers(const StoredForm& form, u64 columns, const StoredPlanes& planes, ScaleAnalysis& analysis) {
  const IntegerParams& of = form.integers;
  look_at_scales(form, planes[1], analysis);
  if (of.zeros_plus_one) {
    const auto above = static_cast<std::byte>((1u << of.bits) - 1);
    for (const std::byte zero : planes[2]) analysis.bad_zeros += zero == above ? 1 : 0;
  }
  if (planes[0].empty()) {
    bound_codes(form, planes, analysis);
    return;
  }
  // If block types hold the values, it is irrelevant whether 16-bit types do.
  if (fills_blocks(form, columns) && analysis.inexact == 0 && analysis.too_large == 0) {
    look_at_codes(form, columns, planes, analysis);
    analysis.not_f16 = analysis.not_bf16 = 1;  // not examined
    const auto possible = type_for(analysis.least_possible, analysis.greatest_possible);
    if (analysis.scales_fit && possible && possible == type_for(analysis.least, analysis.greatest)) {
      analysis.least = analysis.least_possible;
      analysis.greatest = analysis.greatest_possible;
      analysis.is_settled = true;
    }
    return;
  }
  std::vector<i32> numbers(static_cast<std::size_t>(columns));
  std::vector<float> scales(static_cast<std::size_t>(columns));
  for (u64 row = 0; row * columns < planes[0].size(); ++row) {
    integers_of_row(form, columns, planes, row, numbers, scales);
    for (u64 i = 0; i < columns; ++i) {
      analysis.least = std::min(analysis.least, numbers[i]);
      analysis.greatest = std::max(analysis.greatest, numbers[i]);
      const float value = scales[i] * static_cast<float>(numbers[i]);
      analysis.not_f16 += f16_to_f32(f32_to_f16(value)) == value ? 0 : 1;
      analysis.not_bf16 += bf16_to_f32(f32_to_bf16(value)) == value ? 0 : 1;
      if (!(std::abs(double{value}) <= analysis.largest)) analysis.largest = std::abs(double{value});
    }
  }
}

bool wants_integer_codes(const StoredForm& /*form*/, const ScaleAnalysis& analysis, const Result<Target>& target,
                         const RepackOptions& /*options*/) {
  return target.has_value() && !has_codes(analysis) && target->carry != Carry::blocks;
}

Result<Target> choose_integers(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis,
                               const RepackOptions& options, bool must_be_f32) {
  if (analysis.has_bad_scales()) {
    return input_error("convert-scale",
                       fmt::format("has {} scales that are NaN, infinite or so large that values become infinite; the "
                                   "file is damaged",
                                   analysis.not_finite + analysis.overflowing));
  }
  if (analysis.bad_zeros > 0) {
    return input_error("convert-zero-point",
                       fmt::format("has {} stored zero points of {}, which readers of this version interpret as 0 or "
                                   "as {}; convert the unquantised model",
                                   analysis.bad_zeros, (1u << form.integers.bits) - 1, 1u << form.integers.bits));
  }
  const auto encoded = [](TensorType type, bool exact, std::string reason) {
    return Target{type, Carry::encode, exact, std::move(reason)};
  };
  if (must_be_f32) return encoded(TensorType::F32, true, "llama.cpp requires F32 here");
  if (analysis.too_large > 0) {
    return encoded(TensorType::F32, true,
                   fmt::format("{} of {} scales are too large for f16", analysis.too_large, analysis.values));
  }
  if (!has_codes(analysis)) {
    // If even the bounds fit the narrowest type, the codes need not be read; otherwise they are read next.
    ScaleAnalysis bounds = analysis;
    bounds.least = analysis.least_possible;
    bounds.greatest = analysis.greatest_possible;
    if (exact_type(form, columns, bounds) != TensorType::Q4_0) return encoded(TensorType::F32, true, {});
    return choose_integers(form, columns, bounds, options, must_be_f32);
  }
  if (const auto type = exact_type(form, columns, analysis)) {
    const bool is_block = type_info(*type).is_quantized;
    return Target{*type, is_block ? Carry::blocks : Carry::encode, true,
                  is_block ? fmt::format("codes minus zero points lie in {} to {}", analysis.least, analysis.greatest)
                           : why_no_block(form, columns, analysis) + "; every value is exact in 16 bits"};
  }
  std::string reason = why_no_block(form, columns, analysis);
  if (options.exact && options.fallback != TensorType::F32) {
    return input_error("convert-inexact",
                       fmt::format("{} would become {} with an error ({}); --fallback f32 carries it exactly",
                                   text_with_scales(form), type_name(options.fallback), reason));
  }
  TensorType type = options.fallback;
  if (type == TensorType::Q8_0 && columns % codes_per_block != 0) {
    reason += "; rows do not fill blocks of 32";
    type = TensorType::F16;
  }
  if (type == TensorType::F16 && !(analysis.largest <= 65504)) {
    reason += "; values too large for F16";
    type = TensorType::F32;
  }
  return encoded(type, type == TensorType::F32, std::move(reason));
}

bool integers_carry_exactly(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis, TensorType type) {
  return type == TensorType::F32 || exact_type(form, columns, analysis) == type;
}

void repack_integers(const StoredForm& form, u64 columns, const Target& target, const StoredPlanes& planes,
                     std::span<const float> /*exact*/, MutableBytes out) {
  switch (target.type) {
    case TensorType::Q4_0: return repack<TensorType::Q4_0>(form, columns, planes, out.data());
    case TensorType::Q5_0: return repack<TensorType::Q5_0>(form, columns, planes, out.data());
    default: return repack<TensorType::Q8_0>(form, columns, planes, out.data());
  }
}

}  // namespace modelutils
