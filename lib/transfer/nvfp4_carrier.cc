#include "transfer/nvfp4_carrier.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "transfer/repack_blocks.h"

namespace modelutils {

namespace {

MlxForm blocks_of(u64 columns) {
  return {mlx::default_params(mlx::Mode::nvfp4), TensorType::U8, TensorType::F32, columns};
}

}  // namespace

void analyse_nvfp4(const StoredForm& form, u64 /*columns*/, const StoredPlanes& planes, ScaleAnalysis& analysis) {
  analysis.values += planes[1].size();
  for (const std::byte scale : planes[1]) {
    const u8 byte = static_cast<u8>(scale);
    const bool is_nan = (byte & 0x7F) == 0x7F;
    analysis.not_finite += is_nan ? 1 : 0;
    analysis.negative += !is_nan && byte >= 0x80 ? 1 : 0;
  }
  for (Bytes left = planes[2]; !left.empty(); left = left.subspan(sizeof(float))) {
    const float factor = nvfp4_factor(form, left.data());
    const double bound = 6.0 * 448 * std::abs(double{factor});
    if (!std::isfinite(factor)) {
      ++analysis.not_finite;
    } else if (bound > double{std::numeric_limits<float>::max()}) {
      ++analysis.overflowing;
    }
    if (!(bound <= analysis.largest)) analysis.largest = std::isnan(bound) ? HUGE_VAL : bound;
  }
}

Result<Target> choose_nvfp4(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis,
                            const RepackOptions& options, bool must_be_f32) {
  if (analysis.has_bad_scales()) {
    return input_error("convert-scale", "has scales that are negative, NaN or too large; the file is damaged");
  }
  const auto encoded = [](TensorType type, bool exact, std::string reason) {
    return Target{type, Carry::encode, exact, std::move(reason)};
  };
  if (must_be_f32) return encoded(TensorType::F32, true, "llama.cpp requires F32 here");
  if (options.may_scale && !options.compat && columns % 64 == 0) {
    Target target{TensorType::NVFP4, Carry::blocks, true, "times the tensor .scale"};
    target.has_scale = true;
    return target;
  }
  std::string reason = columns % 64 != 0 ? "rows do not fill NVFP4's blocks of 64"
                       : options.compat  ? "for runtimes without NVFP4"
                                         : "llama.cpp does not apply the scale of a whole tensor here";
  if (options.exact && options.fallback != TensorType::F32) {
    return input_error("convert-inexact",
                       fmt::format("{} would become {} with an error ({}); --fallback f32 carries it exactly",
                                   form_info(form).text(form), type_name(options.fallback), reason));
  }
  TensorType type = options.fallback;
  if (type == TensorType::Q8_0 && columns % 32 != 0) {
    reason += "; rows do not fill blocks of 32";
    type = TensorType::F16;
  }
  if (type == TensorType::F16 && !(analysis.largest <= 65504)) type = TensorType::F32;
  return encoded(type, type == TensorType::F32, std::move(reason));
}

bool nvfp4_carries_exactly(const StoredForm& /*form*/, u64 /*columns*/, const ScaleAnalysis& /*analysis*/,
                           TensorType type) {
  return type == TensorType::F32 || type == TensorType::NVFP4;  // together with its ".scale" tensor
}

void repack_nvfp4(const StoredForm& /*form*/, u64 columns, const Target& target, const StoredPlanes& planes,
                  std::span<const float> /*exact*/, MutableBytes out) {
  repack_blocks(blocks_of(columns), target.type, planes[0], planes[1], {}, out);
}

}  // namespace modelutils
