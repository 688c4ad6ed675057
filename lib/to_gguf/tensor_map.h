// Which rows of a Hugging Face or MLX directory make each GGUF tensor: names, shapes, stacking, order. Decided from
// headers alone, unless a head may be a copy of the embedding (the two are compared) or has to be
// normalised (its columns are measured); used by the converter and by verify --against. The rows of lib/arch say how;
// docs/conversion.md explains.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "adapter/merge.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "base/finding_log.h"
#include "model/hf_model.h"
#include "transfer/recipe.h"

namespace modelutils {

/// One GGUF tensor and where its rows come from: parts one after another, none of generated tensors (rope factors).
struct MappedTensor : TensorRecipe {
  bool must_be_f32 = false;
  std::string_view f32_because = {};  ///< the row's reason, where it is not that the runtime requires it
  bool is_whole = false;       ///< small: vectors, biases, what is computed; read and written at once (read_whole())
  bool is_transposed = false;  ///< single elements are picked from large tensors
  bool is_scaled = false;      ///< its parts have factors or its columns lengths, and it is not read whole
  std::vector<float> column_lengths;                  ///< what the columns are divided by; empty: nothing
  std::shared_ptr<const adapter::TensorMerge> merge;  ///< what adapters add to its values

  u64 columns() const { return ne.front(); }
  /// Rows of ne0 elements.
  u64 rows() const;
  /// Rows that are streamed: 1 if the tensor is read whole.
  u64 streamed_rows() const { return is_whole ? 1 : rows(); }
  /// Pieces of a row that are read as they are stored, each by itself.
  u64 pieces() const { return is_whole || is_transposed ? 1 : columns() / unit; }
  /// Are its rows computed when they are read? They are then plain elements, whatever the source is quantised as.
  bool has_computed_rows() const { return !is_whole && (is_transposed || is_scaled || merge != nullptr); }
};

/// A key that holds one number of each layer, which the directory keeps as tensors of one element.
struct LayerNumbers {
  std::string key;
  std::vector<std::size_t> matrices;  ///< indices into HfModel::matrices, one for each layer
};

struct TensorMap {
  arch::Sizes sizes;
  std::vector<MappedTensor> tensors;  ///< in the order in which they are written
  std::vector<LayerNumbers> numbers;
  std::vector<LeftOut> left_out;    ///< of what HfModel keeps: a tied lm_head, biases of zeros
  arch::Sizes block_sizes;          ///< those of the blocks that predict further tokens, if there are any
  FindingLog remarks;               ///< notes: what config.json says otherwise than the tensors, which decide
  bool shifts_block_norms = false;  ///< the blocks' norms are as published, though MLX saved the directory
};

/// Maps every tensor of the model. Errors (kind input): "convert-unmapped" lists the tensors that have no place,
/// "convert-missing", "convert-shape", "convert-config" (config.json contradicts the tensors), "convert-experts",
/// "convert-output-head", "convert-rope"; those of reading.
Result<TensorMap> map_tensors(const HfModel& model);

}  // namespace modelutils
