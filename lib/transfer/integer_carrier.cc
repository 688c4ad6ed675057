#include "transfer/integer_carrier.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/byte_reader.h"
#include "tensor/half.h"

namespace modelutils {

namespace {

constexpr u64 block = 32;  // elements of Q4_0, Q5_0, Q8_0

bool has_codes(const ScaleAnalysis& analysis) {
  return analysis.least <= analysis.greatest;
}

// The narrowest block type whose codes hold the integers; Q4_0 also with a negative scale.
std::optional<TensorType> type_for(const ScaleAnalysis& analysis) {
  const auto within = [&](i32 low, i32 high) { return analysis.least >= low && analysis.greatest <= high; };
  if (within(-8, 7) || within(-7, 8)) return TensorType::Q4_0;
  if (within(-16, 15)) return TensorType::Q5_0;
  if (within(-128, 127)) return TensorType::Q8_0;
  return std::nullopt;
}

// Is every block of 32 within one group?
bool fills_blocks(const StoredForm& form, u64 columns) {
  const IntegerParams& of = form.integers;
  return !of.is_scattered && columns % block == 0 && of.group % block == 0;
}

std::optional<TensorType> exact_type(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis) {
  if (!has_codes(analysis)) return std::nullopt;
  if (fills_blocks(form, columns) && analysis.inexact == 0 && analysis.too_large == 0) {
    if (const auto type = type_for(analysis)) return type;
  }
  if (analysis.not_bf16 == 0) return TensorType::BF16;
  if (analysis.not_f16 == 0) return TensorType::F16;
  return std::nullopt;
}

std::string why_no_block(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis) {
  if (form.integers.is_scattered) return "groups are scattered over the columns (act-order)";
  if (!fills_blocks(form, columns)) return "groups do not fill blocks of 32";
  if (analysis.inexact > 0)
    return fmt::format("{} of {} scales are not exact in f16", analysis.inexact, analysis.values);
  return fmt::format("codes minus zero points reach from {} to {}", analysis.least, analysis.greatest);
}

}  // namespace

ScaleUse integer_scale_use(const StoredForm& /*form*/, u64 /*columns*/, const RepackOptions& /*options*/) {
  return ScaleUse::size;
}

void analyse_integers(const StoredForm& form, u64 columns, const StoredPlanes& planes, ScaleAnalysis& analysis) {
  const IntegerParams& of = form.integers;
  const u64 width = type_info(form.types[1]).block_bytes;
  const double greatest = std::ldexp(1, of.is_signed ? of.bits - 1 : of.bits);  // of code minus zero point
  for (Bytes left = planes[1]; !left.empty(); left = left.subspan(width)) {
    const float scale = scale_at(form.types[1], left.data());
    ++analysis.values;
    if (!std::isfinite(scale)) {
      ++analysis.not_finite;
    } else if (std::abs(double{scale}) * greatest > double{std::numeric_limits<float>::max()}) {
      ++analysis.overflowing;
    } else if (!(std::abs(scale) < 65520.0f)) {
      ++analysis.too_large;
    } else if (form.types[1] != TensorType::F16 && f16_to_f32(f32_to_f16(scale)) != scale) {
      ++analysis.inexact;
    }
  }
  if (of.zeros_plus_one) {
    const auto above = static_cast<std::byte>((1u << of.bits) - 1);
    for (const std::byte zero : planes[2]) analysis.bad_zeros += zero == above ? 1 : 0;
  }
  if (planes[0].empty()) return;
  std::vector<i32> numbers(static_cast<std::size_t>(columns));
  std::vector<float> scales(static_cast<std::size_t>(columns));
  // Where blocks hold the values, it does not matter whether 16 bits do.
  const bool may_be_blocks = fills_blocks(form, columns) && analysis.inexact == 0 && analysis.too_large == 0;
  for (u64 row = 0; row * columns < planes[0].size(); ++row) {
    integers_of_row(form, columns, planes, row, numbers, scales);
    for (u64 i = 0; i < columns; ++i) {
      analysis.least = std::min(analysis.least, numbers[i]);
      analysis.greatest = std::max(analysis.greatest, numbers[i]);
      if (may_be_blocks) continue;
      const float value = scales[i] * static_cast<float>(numbers[i]);
      analysis.not_f16 += f16_to_f32(f32_to_f16(value)) == value ? 0 : 1;
      analysis.not_bf16 += bf16_to_f32(f32_to_bf16(value)) == value ? 0 : 1;
      if (!(std::abs(double{value}) <= analysis.largest)) analysis.largest = std::abs(double{value});
    }
  }
  if (!may_be_blocks) return;
  analysis.not_f16 = analysis.not_bf16 = 1;  // not looked at
}

bool wants_integer_codes(const StoredForm& /*form*/, const ScaleAnalysis& analysis, const Result<Target>& target,
                         const RepackOptions& /*options*/) {
  return target.has_value() && !has_codes(analysis);
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
    return input_error(
        "convert-zero-point",
        fmt::format("has {} stored zero points of {}, which readers of this version take for 0 or for {}; "
                    "convert the unquantised model",
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
  if (!has_codes(analysis)) return encoded(TensorType::F32, true, {});  // the codes are looked at next
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
  if (type == TensorType::Q8_0 && columns % block != 0) {
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
  std::vector<i32> numbers(static_cast<std::size_t>(columns));
  std::vector<float> scales(static_cast<std::size_t>(columns));
  std::byte* to = out.data();
  for (u64 row = 0; to < out.data() + out.size(); ++row) {
    integers_of_row(form, columns, planes, row, numbers, scales);
    for (u64 first = 0; first < columns; first += block) {
      const i32* in = numbers.data() + first;
      float scale = scales[static_cast<std::size_t>(first)];
      i32 sign = 1;
      // Q4_0 has -8 … 7: a block with 8, which then has no -8, is negated together with its scale.
      if (target.type == TensorType::Q4_0 && std::find(in, in + block, 8) != in + block) {
        sign = -1;
        scale = -scale;
      }
      const u16 half = f32_to_f16(scale);
      std::memcpy(to, &half, sizeof half);
      to += sizeof half;
      if (target.type == TensorType::Q8_0) {
        for (u64 i = 0; i < block; ++i) *to++ = static_cast<std::byte>(in[i]);
        continue;
      }
      const i32 offset = target.type == TensorType::Q4_0 ? 8 : 16;
      if (target.type == TensorType::Q5_0) {
        u32 high = 0;
        for (u64 i = 0; i < block; ++i) high |= static_cast<u32>((in[i] + offset) >> 4) << i;
        std::memcpy(to, &high, sizeof high);
        to += sizeof high;
      }
      for (u64 i = 0; i < block / 2; ++i) {
        const i32 low = (sign * in[i] + offset) & 15, high = (sign * in[i + block / 2] + offset) & 15;
        *to++ = static_cast<std::byte>(low | high << 4);
      }
    }
  }
}

}  // namespace modelutils
