#include "transfer/fp8_carrier.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tensor/dequantize.h"
#include "tensor/half.h"

namespace modelutils {

namespace {

constexpr double greatest_e4m3 = 448;

// True if the product of every E4M3 number with `scale` is exact in BF16. E4M3 numbers are n × 2^e with n < 16 and −9 ≤
// e ≤ 5, so this holds for powers of two within BF16's exponent range.
bool is_exact_in_bf16(float scale) {
  int exponent = 0;
  return std::frexp(std::abs(scale), &exponent) == 0.5f && exponent >= -116 && exponent <= 120;
}

}  // namespace

ScaleUse fp8_scale_use(const StoredForm& /*form*/, u64 /*columns*/, const RepackOptions& /*options*/) {
  return ScaleUse::size;
}

void analyse_fp8(const StoredForm& form, u64 /*columns*/, const StoredPlanes& planes, ScaleAnalysis& analysis) {
  const u64 width = type_info(form.types[1]).block_bytes;
  for (Bytes left = planes[1]; !left.empty(); left = left.subspan(width)) {
    const float scale = scale_at(form.types[1], left.data());
    ++analysis.values;
    analysis.inexact += is_exact_in_bf16(scale) || scale == 0 ? 0 : 1;
    const double bound = std::abs(double{scale}) * greatest_e4m3;
    if (!std::isfinite(scale)) {
      ++analysis.not_finite;
    } else if (bound > double{std::numeric_limits<float>::max()}) {
      ++analysis.overflowing;
    }
    if (!(bound <= analysis.largest)) analysis.largest = std::isnan(bound) ? HUGE_VAL : bound;
  }
}

Result<Target> choose_fp8(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis,
                          const RepackOptions& options, bool must_be_f32) {
  if (analysis.has_bad_scales()) {
    return input_error("convert-scale",
                       "has a scale that is NaN or so large that values become infinite; the file is damaged");
  }
  const auto encoded = [&](TensorType type, bool exact, std::string reason) {
    return Target{type, Carry::encode, exact, std::move(reason)};
  };
  if (must_be_f32) return encoded(TensorType::F32, true, "llama.cpp requires F32 here");
  const bool has_one_scale = form.scale_rows == 0 && form.scale_columns == 0;
  if (analysis.inexact > 0 && has_one_scale && options.may_scale && !options.compat) {
    Target target{TensorType::BF16, Carry::blocks, true, "E4M3 is exact in BF16; times the tensor .scale"};
    target.has_scale = true;
    return target;
  }
  if (analysis.inexact == 0) return encoded(TensorType::BF16, true, "every value is exact in BF16");
  std::string reason = "no block type holds FP8, and scales that are not powers of two are exact only in F32";
  if (options.exact && options.fallback != TensorType::F32) {
    return input_error("convert-inexact",
                       fmt::format("{} would become {} with an error ({}); --fallback f32 carries it exactly",
                                   text_with_scales(form), type_name(options.fallback), reason));
  }
  TensorType type = options.fallback;
  if (type == TensorType::Q8_0 && columns % 32 != 0) {
    reason += "; rows do not fill blocks of 32";
    type = TensorType::F16;
  }
  if ((type == TensorType::Q8_0 && !(analysis.largest / 127 < 65504)) ||
      (type == TensorType::F16 && !(analysis.largest <= 65504))) {
    reason += fmt::format("; values too large for {}", type_name(type));
    type = TensorType::F32;
  }
  return encoded(type, type == TensorType::F32, std::move(reason));
}

void repack_fp8(const StoredForm& /*form*/, u64 /*columns*/, const Target& /*target*/, const StoredPlanes& planes,
                std::span<const float> /*exact*/, MutableBytes out) {
  std::vector<float> values(planes[0].size());
  dequantize(TensorType::F8_E4M3, planes[0], values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const u16 half = f32_to_bf16(values[i]);
    std::memcpy(out.data() + 2 * i, &half, sizeof half);
  }
}

bool fp8_carries_exactly(const StoredForm& /*form*/, u64 /*columns*/, const ScaleAnalysis& analysis, TensorType type) {
  return type == TensorType::F32 || (type == TensorType::BF16 && analysis.inexact == 0);
}

}  // namespace modelutils
