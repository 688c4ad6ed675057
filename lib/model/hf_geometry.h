// Hyper-parameters of a Hugging Face or MLX directory, from the tensors' shapes first and config.json second.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "model/architecture.h"
#include "model/hf_model.h"

namespace modelutils {

/// Shape (safetensors order) of the source of a GGUF tensor, e.g. "blk.0.attn_q.weight"; nullptr if there is none. For
/// stacks of experts the shape of the whole stack.
using ShapeOf = std::function<const std::vector<u64>*(std::string_view gguf_name)>;

/// Derives every number, and compares it with config.json where that states it. Errors: "convert-missing" (a tensor
/// that decides), "convert-config" (a contradiction, or a number that only config.json could tell and does not),
/// "convert-shape".
Result<HyperParameters> hf_geometry(const HfModel& model, u64 n_layer, const ShapeOf& shape_of);

}  // namespace modelutils
