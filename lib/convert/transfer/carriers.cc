#include "convert/transfer/carriers.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "convert/transfer/encoders.h"
#include "convert/transfer/integer_carrier.h"
#include "convert/transfer/mlx_target.h"
#include "tensor/dequantize.h"
#include "tensor/half.h"
#include "tensor/quantize/quantize.h"
#include "tensor/value_sums.h"

namespace modelutils {

namespace {

// Approximate number of elements decoded at a time: their float32 values stay in the first-level cache.
constexpr u64 decoded_elements = 4096;

// Plain tensors: elements and blocks of one type, which are copied if possible.

ScaleUse plain_scale_use(const StoredForm& /*form*/, u64 /*columns*/, const RepackOptions& /*options*/) {
  return ScaleUse::nothing;
}

void analyse_nothing(const StoredForm& /*form*/, u64 /*columns*/, const StoredPlanes& /*planes*/,
                     ScaleAnalysis& /*analysis*/) {}

bool wants_no_codes(const StoredForm& /*form*/, const ScaleAnalysis& /*analysis*/, const Result<Target>& /*target*/,
                    const RepackOptions& /*options*/) {
  return false;
}

Result<Target> choose_plain(const StoredForm& form, u64 /*columns*/, const ScaleAnalysis& /*analysis*/,
                            const RepackOptions& /*options*/, bool must_be_f32) {
  const TensorType type = must_be_f32 ? TensorType::F32 : form.type();
  return Target{type, type == form.type() ? Carry::copy : Carry::encode, true, {}, false};
}

bool plain_carries_exactly(const StoredForm& form, u64 /*columns*/, const ScaleAnalysis& /*analysis*/,
                           TensorType type) {
  return type == TensorType::F32 || type == form.type();
}

// Groups quantised by MLX.

MlxForm mlx_groups(const StoredForm& form, u64 columns) {
  return {form.params, form.types[1], form.types[2], columns};
}

ScaleUse mlx_scale_use(const StoredForm& form, u64 columns, const RepackOptions& options) {
  return scale_use(mlx_groups(form, columns), options);
}

void analyse_mlx(const StoredForm& form, u64 columns, const StoredPlanes& planes, ScaleAnalysis& analysis) {
  analyse_scales(mlx_groups(form, columns), planes[1], planes[2], planes[0], analysis);
}

// True if reading the codes may improve the choice: groups of zeros may be the only ones whose exponents are out of
// range or whose scales F16 rounds.
bool mlx_wants_codes(const StoredForm& form, const ScaleAnalysis& analysis, const Result<Target>& target,
                     const RepackOptions& options) {
  const mlx::Mode mode = form.params.mode;
  const bool is_mx = mode == mlx::Mode::mxfp4 || mode == mlx::Mode::mxfp8;
  const bool is_ideal =
      target && (target->carry == Carry::blocks || (mode == mlx::Mode::mxfp8 && target->type == TensorType::BF16));
  // With --exact, this also applies if only scales that F16 rounds prevent an exact result.
  const bool nearly_exact = mode == mlx::Mode::affine && options.exact && analysis.inexact > 0 &&
                            analysis.too_large == 0 && form.params.bits <= 5;
  return nearly_exact || (is_mx && !is_ideal);
}

Result<Target> choose_mlx(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis,
                          const RepackOptions& options, bool must_be_f32) {
  return choose_target(mlx_groups(form, columns), analysis, options, must_be_f32);
}

bool mlx_carries_exactly(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis, TensorType type) {
  return carries_exactly(mlx_groups(form, columns), analysis, type);
}

void repack_mlx(const StoredForm& form, u64 columns, const Target& target, const StoredPlanes& planes,
                std::span<const float> exact, MutableBytes out) {
  const MlxForm groups = mlx_groups(form, columns);
  if (target.carry == Carry::blocks) return repack_blocks(groups, target.type, planes[0], planes[1], planes[2], out);
  encode_q8_0_best(groups, planes[0], planes[1], planes[2], exact, out);
}

// F8_E4M3 with scales. ggml has no FP8 type. Conditions: docs/conversion.md.

constexpr double greatest_e4m3 = 448;

// True if the product of every E4M3 number with `scale` is exact in BF16. E4M3 numbers are n × 2^e with n < 16 and −9 ≤
// e ≤ 5, so this holds for powers of two within BF16's exponent range.
bool is_exact_in_bf16(float scale) {
  int exponent = 0;
  return std::frexp(std::abs(scale), &exponent) == 0.5f && exponent >= -116 && exponent <= 120;
}

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

// Writes the elements without their scale, as BF16.
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

// NVFP4: blocks with a ".scale" tensor if the runtime applies it, else decoded.

MlxForm blocks_of(u64 columns) {
  return {mlx::default_params(mlx::Mode::nvfp4), TensorType::U8, TensorType::F32, columns};
}

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

// Fails with "convert-inexact" or "convert-scale".
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

// clang-format off
constexpr std::array carriers = {
    Carrier{FormKind::plain, plain_scale_use, analyse_nothing, wants_no_codes, choose_plain, plain_carries_exactly, nullptr},
    Carrier{FormKind::mlx, mlx_scale_use, analyse_mlx, mlx_wants_codes, choose_mlx, mlx_carries_exactly, repack_mlx},
    Carrier{FormKind::fp8, fp8_scale_use, analyse_fp8, wants_no_codes, choose_fp8, fp8_carries_exactly, repack_fp8},
    Carrier{FormKind::integers, integer_scale_use, analyse_integers, wants_integer_codes, choose_integers, integers_carry_exactly, repack_integers},
    Carrier{FormKind::nvfp4, fp8_scale_use, analyse_nvfp4, wants_no_codes, choose_nvfp4, nvfp4_carries_exactly, repack_nvfp4},
};
// clang-format on

// Splits rows into pieces of whole units and whole blocks, and locates their planes.
class Pieces {
 public:
  Pieces(const StoredForm& form, u64 columns, const StoredPlanes& planes)
      : unit_(form_info(form).unit(form, columns)), planes_(planes) {
    for (std::size_t i = 0; i < max_planes; ++i) bytes_[i] = form_info(form).plane(form, i, unit_).line_bytes;
  }

  u64 unit() const { return unit_; }

  StoredPlanes at(u64 first, u64 count) const {
    StoredPlanes piece;
    for (std::size_t i = 0; i < max_planes; ++i) {
      if (bytes_[i] > 0) piece[i] = planes_[i].subspan(first / unit_ * bytes_[i], count / unit_ * bytes_[i]);
    }
    return piece;
  }

 private:
  u64 unit_;
  const StoredPlanes& planes_;
  std::array<u64, max_planes> bytes_{};  // bytes per unit
};

// Returns the values in place if they are float32 at an aligned address; empty if they need decoding.
std::span<const float> floats_at(const StoredForm& form, Bytes values) {
  const bool are_floats = form.is_plain() && form.type() == TensorType::F32 &&
                          std::bit_cast<std::uintptr_t>(values.data()) % alignof(float) == 0;
  if (!are_floats) return {};
  return {reinterpret_cast<const float*>(values.data()), values.size() / sizeof(float)};
}

}  // namespace

const Carrier& carrier_of(const StoredForm& form) {
  return *std::ranges::find(carriers, form.kind, &Carrier::kind);
}

void carry_rows(const StoredForm& form, u64 columns, const Target& target, const StoredPlanes& planes, MutableBytes out,
                ValueSums* error, const EncodeHints& hints) {
  if (target.carry == Carry::copy) {
    std::memcpy(out.data(), planes[0].data(), out.size());
    return;
  }
  const Carrier& carrier = carrier_of(form);
  if (target.carry == Carry::blocks) carrier.repack(form, columns, target, planes, {}, out);
  if (target.carry == Carry::blocks && error == nullptr) return;

  const Pieces pieces(form, columns, planes);
  const TypeInfo& info = type_info(target.type);
  // With importance data, encode whole rows, because the weights are per column.
  const u64 unit = hints.importance.empty() ? std::lcm(pieces.unit(), u64{info.block_elements}) : columns;
  const u64 most = unit * std::max<u64>(decoded_elements / unit, 1);
  const u64 elements = out.size() / info.block_bytes * info.block_elements;
  const auto at_once = static_cast<std::size_t>(std::min(most, elements));
  std::vector<float> exact(floats_at(form, planes[0]).empty() ? at_once : 0);
  std::vector<float> carried(error != nullptr ? at_once : 0);
  for (u64 first = 0; first < elements; first += most) {
    const u64 count = std::min(most, elements - first);
    const StoredPlanes source = pieces.at(first, count);
    const MutableBytes to =
        out.subspan(first / info.block_elements * info.block_bytes, count / info.block_elements * info.block_bytes);
    std::span<const float> values = floats_at(form, source[0]);
    if (values.empty()) {
      form_info(form).decode(form, pieces.unit(), source, {exact.data(), count});
      values = {exact.data(), count};
    }
    if (target.carry == Carry::encode && hints.as_ggml) {
      quantize_rows(target.type, values, info.block_elements, to);
    } else if (target.carry == Carry::encode) {
      encoder_of(target.type)->encode(values, hints.importance.empty() ? count : columns, hints, to);
    }
    if (target.carry == Carry::q8_0_best) carrier.repack(form, columns, target, source, values, to);
    if (error == nullptr) continue;
    const std::span<float> decoded(carried.data(), count);
    dequantize(target.type, to, decoded);
    measure(values, decoded, *error);
  }
}

namespace {

constexpr u64 analysis_bytes = u64{512} << 10;

// Reads lines of a plane, each once if several rows share it.
Status read_own_lines(const StoredPlane& plane, const PlaneLayout& layout, u64 first, u64 count,
                      std::vector<std::byte>& out) {
  if (layout.rows == 1) {
    out.resize(static_cast<std::size_t>(count * layout.line_bytes));
    return read_lines(plane, layout, first, count, out);
  }
  const u64 line = first / layout.rows;
  const u64 lines = (first + count - 1) / layout.rows - line + 1;
  out.resize(static_cast<std::size_t>(lines * layout.line_bytes));
  return read_lines(plane, {layout.line_bytes}, line, lines, out);
}

// True if groups can be analysed as separate matrices, reading all rows of a group at once: the codes are packed across
// rows, columns are adjacent, and every group starts at the start of a line in the file.
bool is_made_of_groups(const StoredForm& form, u64 columns, const AnalysedRows& rows) {
  using Kind = Gather::Kind;
  if (form.kind != FormKind::integers || rows.layouts[0].line_bytes == 0) return false;
  const IntegerParams& of = form.integers;
  const Kind codes = rows.layouts[0].gather.kind;
  const bool are_across =
      codes == Kind::codes_of_columns || (codes == Kind::words_of_columns && of.codes.codes_in_word == 0);
  return are_across && !of.is_scattered && of.group > 0 && of.group % 32 == 0 && columns % of.group == 0 &&
         rows.layouts[1].gather.kind == Kind::values_of_columns &&
         (!of.has_zeros || rows.layouts[2].gather.kind == Kind::codes_of_columns);
}

// Returns the planes of one such group.
AnalysedRows group_of(const StoredForm& form, const AnalysedRows& rows, u64 group) {
  const IntegerParams& of = form.integers;
  AnalysedRows part;
  const auto narrow = [&](std::size_t plane, u64 columns, u64 line) {
    part.planes[plane] = rows.planes[plane];
    part.layouts[plane] = rows.layouts[plane];
    if (part.layouts[plane].line_bytes == 0) return;
    part.layouts[plane].line_bytes = part.layouts[plane].line_bytes / part.layouts[plane].gather.columns * columns;
    part.layouts[plane].gather.columns = columns;
    part.planes[plane].offset += line * part.layouts[plane].gather.stride;
  };
  const bool are_words = rows.layouts[0].gather.kind == Gather::Kind::words_of_columns;
  const u64 column = group * of.group;
  narrow(0, of.group, are_words ? column * of.bits / 32 : column);
  narrow(1, 1, group);
  if (of.has_zeros) narrow(2, 1, group);
  return part;
}

Status analyse_pieces(const StoredForm& form, u64 columns, const AnalysedRows& rows, u64 first, u64 count,
                      ScaleAnalysis& analysis) {
  u64 row_bytes = 1;
  for (const PlaneLayout& layout : rows.layouts) row_bytes += layout.line_bytes / layout.rows;
  const u64 most = std::max<u64>(analysis_bytes / row_bytes, 1);
  StoredRows bytes;
  for (u64 row = 0; row < count && !analysis.is_settled; row += most) {
    const u64 now = std::min(most, count - row);
    for (std::size_t i = 0; i < max_planes; ++i) {
      MU_TRY(read_own_lines(rows.planes[i], rows.layouts[i], first + row, now, bytes.planes[i]));
    }
    carrier_of(form).analyse(form, columns, planes_of(bytes), analysis);
  }
  return {};
}

}  // namespace

Status analyse_rows(const StoredForm& form, u64 columns, const AnalysedRows& rows, u64 first, u64 count,
                    ScaleAnalysis& analysis) {
  if (!is_made_of_groups(form, columns, rows)) return analyse_pieces(form, columns, rows, first, count, analysis);
  for (u64 group = 0; group < columns / form.integers.group && !analysis.is_settled; ++group) {
    MU_TRY(analyse_pieces(form, form.integers.group, group_of(form, rows, group), first, count, analysis));
  }
  return {};
}

}  // namespace modelutils
