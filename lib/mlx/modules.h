// The modules of a directory: which tensors form one, whether it is quantised and how, and its logical shape.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "mlx/quantization.h"
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

}  // namespace modelutils::mlx
