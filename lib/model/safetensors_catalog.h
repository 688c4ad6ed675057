// The tensors of a safetensors model, in one file or many, as a catalog.
#pragma once

#include "model/tensor_catalog.h"
#include "safetensors/shard_set.h"

namespace modelutils {

/// Every tensor whose bytes lie inside its file and are as many as its dtype and shape ask for (of an unknown dtype:
/// whatever its offsets say, without a type); what is left out is for the rules to say (rules/safetensors/rules.h).
/// Shapes are turned round into ne order. Order: file by file, as the headers have them.
Catalog safetensors_catalog(const safetensors::ShardSet& set);

/// Why the catalog leaves a tensor out; empty if it does not.
std::string_view safetensors_tensor_problem(const safetensors::Document& document, const safetensors::Tensor& tensor);

}  // namespace modelutils
