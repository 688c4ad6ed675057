// The modules of a directory: which tensors belong together, which of them are quantised and how, logical shapes.
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

/// What the modules are found from: any list of tensors, shards side by side.
struct TensorRef {
  std::string_view name;
  std::optional<TensorType> type;
  std::span<const u64> shape;  ///< safetensors order
};

inline constexpr std::size_t no_tensor = ~std::size_t{0};

/// A module that owns a `.weight`. Members are indexes into the list of tensors, no_tensor where there is none.
struct Module {
  std::string_view path;  ///< name of the weight without ".weight", as in the file
  std::size_t weight = no_tensor;
  std::size_t scales = no_tensor;
  std::size_t biases = no_tensor;  ///< quantisation offsets
  std::size_t bias = no_tensor;    ///< the layer's own bias
  bool quantized = false;          ///< it has scales, and they are MLX's
  std::optional<Params> params;    ///< what the config says of a quantised module, if it says anything usable
  bool decodable = false;          ///< quantised, and every check of types and shapes against `params` passed
  std::vector<u64> shape;          ///< safetensors order: the logical shape if decodable, else the weight's as stored
};

struct Modules {
  std::vector<Module> list;  ///< in the order of their weights in the list of tensors
  /// Scope model: "mlx-scales-missing", "mlx-biases-missing", "mlx-biases-unexpected", "mlx-weight-missing",
  /// "mlx-weight-type", "mlx-scales-type", "mlx-scales-shape", "mlx-biases-type", "mlx-biases-shape",
  /// "mlx-config-missing", "mlx-config-contradiction", "mlx-override-unused" (a note). At most 1,000 of a code.
  FindingLog findings;
};

/// Time proportional to the number of tensors. The paths are views of the names. If a name appears twice, the
/// first counts.
Modules find_modules(std::span<const TensorRef> tensors, const Quantization& quantization);

}  // namespace modelutils::mlx
