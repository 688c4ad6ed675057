// The modules of a directory: which tensors form one, whether it is quantised and how, and its logical shape. For
// engine loaders, packs one into a contiguous buffer, or fuses several row-wise.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/types.h"
#include "model/mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils::mlx {

/// The input of find_modules(): one tensor. The tensors of all shards form one list.
struct TensorRef {
  std::string_view name;
  std::optional<TensorType> type;
  std::span<const u64> shape;  ///< safetensors order
};

inline constexpr std::size_t no_tensor = ~std::size_t{0};

/// A module with a `.weight`. Members are indexes into the list of tensors, or no_tensor.
struct Module {
  std::string_view path;  ///< the weight's name in the file without ".weight"
  std::size_t weight = no_tensor;
  std::size_t scales = no_tensor;
  std::size_t biases = no_tensor;  ///< quantisation offsets
  std::size_t bias = no_tensor;    ///< the layer's own bias
  bool quantized = false;          ///< it has scales in MLX's form
  std::optional<Params> params;    ///< parameters from the config for a quantised module, if it has usable ones
  bool decodable = false;          ///< quantised, and all types and shapes match `params`
  std::vector<u64> shape;          ///< safetensors order: the logical shape if decodable, else the weight's stored
                                   ///< shape
};

struct Modules {
  std::vector<Module> list;  ///< ordered by their weights' position in the list of tensors
  /// Scope model: "mlx-scales-missing", "mlx-biases-missing", "mlx-biases-unexpected", "mlx-weight-missing",
  /// "mlx-weight-type", "mlx-scales-type", "mlx-scales-shape", "mlx-biases-type", "mlx-biases-shape",
  /// "mlx-config-missing", "mlx-config-contradiction", "mlx-override-unused" (a note). At most 1,000 per code.
  FindingLog findings;
};

/// Finds all modules in time proportional to the number of tensors. The paths point into the names. The first of
/// duplicate names counts.
Modules find_modules(std::span<const TensorRef> tensors, const Quantization& quantization);

// For engine loaders: the layout of a quantised module in one contiguous buffer, or of several fused row-wise.

/// A quantised matrix: `rows` rows (the product of all leading dimensions) of `columns` logical elements.
struct MatrixSizes {
  Params params;
  u64 rows = 0;
  u64 columns = 0;
  TensorType scale_type = TensorType::F16;
  u64 weight_bytes = 0;  ///< rows × columns × bits / 8
  u64 scales_bytes = 0;  ///< rows × columns / group_size × element size
  u64 biases_bytes = 0;  ///< same as `scales_bytes`; 0 in the FP modes
};

/// The sizes of the three parts in a packed buffer. They are stored in this order without gaps, each row after row as
/// in the files.
struct PackedLayout {
  u64 weight_bytes = 0;
  u64 scales_bytes = 0;
  u64 biases_bytes = 0;
  TensorType scale_type = TensorType::F16;  ///< type of scales and biases in the buffer

  u64 scales_offset() const { return weight_bytes; }
  u64 biases_offset() const { return weight_bytes + scales_bytes; }
  u64 total_bytes() const { return weight_bytes + scales_bytes + biases_bytes; }
};

/// Checks that the matrix's sizes agree with its parameters. Error: "mlx-pack-size".
Status check_matrix(const MatrixSizes& matrix);

/// Returns the layout of the modules fused row-wise: all weights, then all scales, then all biases, each part in module
/// order. `bf16_to_f16` changes BF16 scales and biases to F16. Errors: "mlx-pack-size"; "mlx-pack-mismatch" if the
/// modules differ in parameters, columns or scale type (the message names the first that differs); "mlx-pack-empty" for
/// no modules.
Result<PackedLayout> fused_layout(std::span<const MatrixSizes> modules, bool bf16_to_f16);

/// Converts BF16 values to F16 in place, rounded to nearest even. Any alignment; the size must be even. Returns the
/// count of values that F16 does not hold exactly.
u64 bf16_to_f16_in_place(MutableBytes values);

}  // namespace modelutils::mlx
