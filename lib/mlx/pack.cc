#include "mlx/pack.h"

#include <cstring>
#include <optional>

#include <fmt/core.h>
#include "base/byte_reader.h"
#include "base/checked_math.h"
#include "tensor/half.h"

namespace modelutils::mlx {

u64 bf16_to_f16_in_place(MutableBytes values) {
  u64 inexact = 0;
  for (std::size_t i = 0; i + 2 <= values.size(); i += 2) {
    const float value = bf16_to_f32(load<u16>(values.data() + i));
    const u16 half = f32_to_f16(value);
    std::memcpy(values.data() + i, &half, 2);
    const float back = f16_to_f32(half);
    if (back != value && !(back != back && value != value)) ++inexact;
  }
  return inexact;
}

Status check_matrix(const MatrixSizes& matrix) {
  const Params& params = matrix.params;
  if (const auto problem = params_problem(params.mode, params.bits, params.group_size)) {
    return input_error("mlx-pack-size", *problem);
  }
  if (!is_scale_type(params.mode, matrix.scale_type)) {
    return input_error("mlx-pack-size", fmt::format("mode {1} does not use scales of type {0}",
                                                    type_name(matrix.scale_type), mode_name(params.mode)));
  }
  const u64 groups_of_row = matrix.columns / params.group_size;
  const auto groups = checked_mul(matrix.rows, groups_of_row);
  const auto weight_bytes = groups ? checked_mul(*groups, params.group_bytes()) : std::nullopt;
  const auto scale_bytes = groups ? checked_mul(*groups, type_info(matrix.scale_type).block_bytes) : std::nullopt;
  const bool has_biases = mode_info(params.mode).has_biases;
  if (matrix.columns % params.group_size != 0 || weight_bytes != matrix.weight_bytes ||
      scale_bytes != matrix.scales_bytes || (has_biases ? *scale_bytes : 0) != matrix.biases_bytes) {
    return input_error("mlx-pack-size", fmt::format("{} × {} elements of {} bits in groups of {} do not match {} bytes "
                                                    "of weights, {} of scales and {} of biases",
                                                    matrix.rows, matrix.columns, params.bits, params.group_size,
                                                    matrix.weight_bytes, matrix.scales_bytes, matrix.biases_bytes));
  }
  return {};
}

Result<PackedLayout> fused_layout(std::span<const MatrixSizes> modules, bool bf16_to_f16) {
  if (modules.empty()) return input_error("mlx-pack-empty", "there are no modules to pack");
  const MatrixSizes& first = modules.front();
  PackedLayout layout;
  layout.scale_type = bf16_to_f16 && first.scale_type == TensorType::BF16 ? TensorType::F16 : first.scale_type;
  u64 total = 0;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const MatrixSizes& module = modules[i];
    MU_TRY(check_matrix(module));
    if (module.params != first.params || module.columns != first.columns || module.scale_type != first.scale_type) {
      return input_error(
          "mlx-pack-mismatch",
          fmt::format("module {} has {} columns, {} {} bits, group size {}, scales {}; the first has {} columns, {} {} "
                      "bits, group size {}, scales {}",
                      i, module.columns, mode_name(module.params.mode), module.params.bits, module.params.group_size,
                      type_name(module.scale_type), first.columns, mode_name(first.params.mode), first.params.bits,
                      first.params.group_size, type_name(first.scale_type)));
    }
    layout.weight_bytes += module.weight_bytes;
    layout.scales_bytes += module.scales_bytes;
    layout.biases_bytes += module.biases_bytes;
    // Can overflow because the same module may be listed any number of times.
    std::optional<u64> sum = total;
    for (const u64 bytes : {module.weight_bytes, module.scales_bytes, module.biases_bytes}) {
      if (sum) sum = checked_add(*sum, bytes);
    }
    if (!sum) return input_error("mlx-pack-size", "the size of the fused matrix does not fit in 64 bits");
    total = *sum;
  }
  return layout;
}

}  // namespace modelutils::mlx
