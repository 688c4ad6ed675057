#include "transfer/carriers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "tensor/dequantize.h"
#include "transfer/fp8_carrier.h"
#include "transfer/integer_carrier.h"
#include "transfer/nvfp4_carrier.h"
#include "transfer/q8_0_best.h"
#include "transfer/repack_blocks.h"
#include "transfer/value_sums.h"

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

// True if looking at the codes may help: groups of zeros can be the only ones with exponents out of range or with
// scales that f16 rounds.
bool mlx_wants_codes(const StoredForm& form, const ScaleAnalysis& analysis, const Result<Target>& target,
                     const RepackOptions& options) {
  const mlx::Mode mode = form.params.mode;
  const bool is_mx = mode == mlx::Mode::mxfp4 || mode == mlx::Mode::mxfp8;
  const bool is_ideal =
      target && (target->carry == Carry::blocks || (mode == mlx::Mode::mxfp8 && target->type == TensorType::BF16));
  // With --exact, only scales that f16 rounds prevent an exact result.
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
    if (target.carry == Carry::encode) {
      encoder_of(target.type)->encode(values, hints.importance.empty() ? count : columns, hints, to);
    }
    if (target.carry == Carry::q8_0_best) carrier.repack(form, columns, target, source, values, to);
    if (error == nullptr) continue;
    const std::span<float> decoded(carried.data(), count);
    dequantize(target.type, to, decoded);
    measure(values, decoded, *error);
  }
}

}  // namespace modelutils
