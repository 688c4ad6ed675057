#include "convert/transfer/mlx_target.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/byte_reader.h"
#include "model/forms/stored_form.h"
#include "tensor/half.h"

namespace modelutils {

namespace {

void look_at(TensorType type, float value, ScaleAnalysis& analysis) {
  ++analysis.values;
  if (!(std::abs(value) < 65520.0f)) {  // also NaN
    ++analysis.too_large;
  } else if (type != TensorType::F16 && f16_to_f32(f32_to_f16(value)) != value) {
    ++analysis.inexact;
  }
}

// True if all codes of a group are 0; in the FP modes also −0.
bool is_zero_group(const MlxForm& form, Bytes codes, std::size_t group) {
  const u32 size = form.params.group_bytes();
  const bool is_affine = form.params.mode == mlx::Mode::affine;
  const std::byte sign{static_cast<u8>(is_affine ? 0 : form.params.bits == 4 ? 0x88 : 0x80)};
  const Bytes bytes = codes.subspan(group * size, size);
  return std::all_of(bytes.begin(), bytes.end(), [&](std::byte byte) { return (byte & ~sign) == std::byte{0}; });
}

void analyse_affine(const MlxForm& form, Bytes scales, Bytes biases, Bytes codes, ScaleAnalysis& analysis) {
  const u32 scale_size = type_info(form.scale_type).block_bytes;
  const u32 bias_size = type_info(form.bias_type).block_bytes;
  const float greatest_code = static_cast<float>((1u << form.params.bits) - 1);
  const std::size_t groups = scales.size() / scale_size;
  for (std::size_t group = 0; group < groups; ++group) {
    const float scale = scale_at(form.scale_type, scales.data() + group * scale_size);
    const float bias = scale_at(form.bias_type, biases.data() + group * bias_size);
    // If all codes are 0, every value equals the bias, so rounding the scale is harmless.
    const bool scale_matters = codes.empty() || !(std::abs(scale) < 65520.0f) || !is_zero_group(form, codes, group);
    look_at(scale_matters ? form.scale_type : TensorType::F16, scale, analysis);
    look_at(form.bias_type, bias, analysis);
    if (bias != -128.0f * scale) analysis.symmetric = false;
    const double other_end =
        static_cast<double>(bias) + static_cast<double>(greatest_code) * static_cast<double>(scale);
    const double bound =
        std::isnan(other_end) ? other_end : std::max(std::abs(static_cast<double>(bias)), std::abs(other_end));
    if (!(bound <= analysis.largest)) analysis.largest = std::isnan(bound) ? HUGE_VAL : bound;
  }
}

}  // namespace

std::string MlxForm::text() const {
  return fmt::format("{} {}-bit, group {}, {} scales", mlx::mode_name(params.mode), params.bits, params.group_size,
                     type_name(scale_type));
}

void ScaleAnalysis::add(const ScaleAnalysis& other) {
  values += other.values;
  inexact += other.inexact;
  too_large += other.too_large;
  symmetric = symmetric && other.symmetric;
  largest = std::max(largest, other.largest);
  least_exponent = std::min(least_exponent, other.least_exponent);
  greatest_exponent = std::max(greatest_exponent, other.greatest_exponent);
  odd_scales += other.odd_scales;
  least = std::min(least, other.least);
  greatest = std::max(greatest, other.greatest);
  least_possible = std::min(least_possible, other.least_possible);
  greatest_possible = std::max(greatest_possible, other.greatest_possible);
  not_f16 += other.not_f16;
  not_bf16 += other.not_bf16;
  bad_zeros += other.bad_zeros;
  not_finite += other.not_finite;
  negative += other.negative;
  overflowing += other.overflowing;
}

ScaleAnalysis ScaleAnalysis::for_codes() const {
  ScaleAnalysis next;
  next.least_possible = least_possible;
  next.greatest_possible = greatest_possible;
  next.scales_fit = values > 0 && inexact == 0 && too_large == 0;
  return next;
}

void analyse_scales(const MlxForm& form, Bytes scales, Bytes biases, Bytes codes, ScaleAnalysis& analysis) {
  switch (form.params.mode) {
    case mlx::Mode::affine: analyse_affine(form, scales, biases, codes, analysis); break;
    case mlx::Mode::nvfp4:
      analysis.values += scales.size();
      for (std::byte scale : scales) analysis.odd_scales += static_cast<u8>(scale) >= 0x7F ? 1 : 0;
      break;
    case mlx::Mode::mxfp4:
    case mlx::Mode::mxfp8:
      analysis.values += scales.size();
      for (std::size_t group = 0; group < scales.size(); ++group) {
        const u8 exponent = static_cast<u8>(scales[group]);
        if (exponent != 255 && !codes.empty() && is_zero_group(form, codes, group)) continue;
        analysis.least_exponent = std::min(analysis.least_exponent, exponent);
        analysis.greatest_exponent = std::max(analysis.greatest_exponent, exponent);
      }
      break;
  }
}

namespace {

// True if all relevant exponents are within [low, high].
bool exponents_within(const ScaleAnalysis& analysis, u8 low, u8 high) {
  return analysis.least_exponent > analysis.greatest_exponent ||
         (analysis.least_exponent >= low && analysis.greatest_exponent <= high);
}

Target decoded(TensorType type, bool exact, std::string reason) {
  return {type, Carry::encode, exact, std::move(reason), false};
}

Target affine_fallback(const MlxForm& form, const ScaleAnalysis& analysis, TensorType fallback, std::string reason) {
  if (fallback == TensorType::Q8_0) {
    if (form.columns % 32 == 0 && analysis.largest / 127 < 65504) {
      return {TensorType::Q8_0, Carry::q8_0_best, false, std::move(reason), false};
    }
    reason += form.columns % 32 == 0 ? "; values too large for Q8_0" : "; rows do not fill blocks of 32";
    fallback = TensorType::F16;
  }
  if (fallback == TensorType::F16 && analysis.largest > 65504) {
    reason += "; values too large for F16";
    fallback = TensorType::F32;
  }
  return decoded(fallback, fallback == TensorType::F32, std::move(reason));
}

bool fills_blocks_of_32(const MlxForm& form) {
  return form.params.group_size % 32 == 0 && form.columns % 32 == 0;
}

Target affine_target(const MlxForm& form, const ScaleAnalysis& analysis, TensorType fallback) {
  if (analysis.too_large > 0) {
    return decoded(
        TensorType::F32, true,
        fmt::format("{} of {} scales and biases are too large for f16", analysis.too_large, analysis.values));
  }
  const bool fills_blocks = fills_blocks_of_32(form);
  const std::string inexact_text = analysis.inexact == 0 ? std::string()
                                                         : fmt::format("{} of {} scales and biases are rounded to f16",
                                                                       analysis.inexact, analysis.values);
  const u32 bits = form.params.bits;
  const bool is_f32 = form.scale_type == TensorType::F32 || form.bias_type == TensorType::F32;
  if (bits <= 5 && fills_blocks && !(is_f32 && analysis.inexact > 0)) {
    return {bits == 5 ? TensorType::Q5_1 : TensorType::Q4_1, Carry::blocks, analysis.inexact == 0, inexact_text, false};
  }
  if (bits == 8 && fills_blocks && analysis.symmetric && analysis.inexact == 0) {
    return {TensorType::Q8_0, Carry::blocks, true, "symmetric: bias is -128 × scale in every group", false};
  }
  if (bits <= 5 && fills_blocks)
    return affine_fallback(form, analysis, fallback, "f32 scales that f16 cannot represent");
  return affine_fallback(form, analysis, fallback,
                         fills_blocks ? fmt::format("no block type holds {}-bit codes with a bias", bits)
                                      : "groups do not fill blocks of 32");
}

Target mxfp4_target(const MlxForm& form, const ScaleAnalysis& analysis, bool compat) {
  if (!exponents_within(analysis, 0, 254)) {
    return decoded(TensorType::F32, true, "scale 255 is not finite, and runtimes refuse it in MXFP4");
  }
  if (!compat) return {TensorType::MXFP4, Carry::blocks, true, {}, false};
  if (form.columns % 32 == 0 && exponents_within(analysis, 104, 143)) {
    return {TensorType::Q5_0, Carry::blocks, true, "for runtimes without MXFP4", false};
  }
  return decoded(TensorType::BF16, true, "for runtimes without MXFP4; exponents out of range for Q5_0");
}

// The largest elements are 6 (E2M1) and 448 (E4M3).
bool may_overflow(const MlxForm& form, const ScaleAnalysis& analysis) {
  switch (form.params.mode) {
    case mlx::Mode::affine: return !(analysis.largest <= static_cast<double>(std::numeric_limits<float>::max()));
    case mlx::Mode::mxfp4: return !exponents_within(analysis, 0, 252);
    case mlx::Mode::mxfp8: return !exponents_within(analysis, 0, 246);
    case mlx::Mode::nvfp4: break;
  }
  return false;
}

}  // namespace

ScaleUse scale_use(const MlxForm& form, const RepackOptions& options) {
  switch (form.params.mode) {
    case mlx::Mode::affine: {
      const auto is_any = [&](TensorType type) { return form.scale_type == type || form.bias_type == type; };
      const bool is_f16 = form.scale_type == TensorType::F16 && form.bias_type == TensorType::F16;
      if (!fills_blocks_of_32(form)) return ScaleUse::nothing;
      if (form.params.bits <= 5 && is_f16) return ScaleUse::nothing;
      if (form.params.bits <= 5) return is_any(TensorType::F32) ? ScaleUse::size : ScaleUse::exactness;
      if (form.params.bits != 8) return ScaleUse::nothing;
      return options.fallback == TensorType::Q8_0 ? ScaleUse::exactness : ScaleUse::size;
    }
    case mlx::Mode::mxfp4: return options.compat ? ScaleUse::size : ScaleUse::nothing;
    case mlx::Mode::nvfp4: return options.compat || form.columns % 64 != 0 ? ScaleUse::nothing : ScaleUse::size;
    case mlx::Mode::mxfp8: break;
  }
  return ScaleUse::size;
}

Result<Target> choose_target(const MlxForm& form, const ScaleAnalysis& analysis, const RepackOptions& options,
                             bool must_be_f32) {
  if (must_be_f32) return decoded(TensorType::F32, true, "llama.cpp requires F32 here");
  Target target;
  switch (form.params.mode) {
    case mlx::Mode::affine: target = affine_target(form, analysis, options.fallback); break;
    case mlx::Mode::mxfp4: target = mxfp4_target(form, analysis, options.compat); break;
    case mlx::Mode::nvfp4:
      if (options.compat) {
        target = decoded(TensorType::F16, true, "for runtimes without NVFP4");
      } else if (form.columns % 64 != 0) {
        target = decoded(TensorType::F16, true, "rows do not fill NVFP4's blocks of 64");
      } else if (analysis.odd_scales > 0) {
        target = decoded(TensorType::F16, true, "scale bytes that runtimes read differently");
      } else {
        target = {TensorType::NVFP4, Carry::blocks, true, {}, false};
      }
      break;
    case mlx::Mode::mxfp8:
      target = exponents_within(analysis, 3, 246) ? decoded(TensorType::BF16, true, "every value is exact in BF16")
                                                  : decoded(TensorType::F32, true, "exponents out of range for BF16");
      break;
  }
  if (options.exact && !target.exact) {
    if (options.fallback != TensorType::F32) {
      return input_error("convert-inexact",
                         fmt::format("{} would become {} with an error ({}); --fallback f32 carries it exactly",
                                     form.text(), type_name(target.type), target.reason));
    }
    target = decoded(TensorType::F32, true, target.reason);
  }
  target.may_overflow = may_overflow(form, analysis);
  return target;
}

bool carries_exactly(const MlxForm& form, const ScaleAnalysis& analysis, TensorType type) {
  const bool scales_fit = analysis.inexact == 0 && analysis.too_large == 0;
  switch (type) {
    case TensorType::F32: return true;
    case TensorType::Q4_1: return form.params.mode == mlx::Mode::affine && form.params.bits <= 4 && scales_fit;
    case TensorType::Q5_1: return form.params.mode == mlx::Mode::affine && form.params.bits == 5 && scales_fit;
    case TensorType::Q8_0:
      return form.params.mode == mlx::Mode::affine && form.params.bits == 8 && analysis.symmetric && scales_fit;
    case TensorType::MXFP4: return form.params.mode == mlx::Mode::mxfp4 && exponents_within(analysis, 0, 254);
    case TensorType::Q5_0: return form.params.mode == mlx::Mode::mxfp4 && exponents_within(analysis, 104, 143);
    case TensorType::NVFP4: return form.params.mode == mlx::Mode::nvfp4 && analysis.odd_scales == 0;
    case TensorType::F16: return form.params.mode == mlx::Mode::nvfp4;
    case TensorType::BF16:
      return form.params.mode == mlx::Mode::nvfp4 || form.params.mode == mlx::Mode::mxfp4 ||
             (form.params.mode == mlx::Mode::mxfp8 && exponents_within(analysis, 3, 246));
    default: return false;
  }
}

}  // namespace modelutils
