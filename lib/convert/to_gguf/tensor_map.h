// Maps the tensors of a Hugging Face or MLX directory to GGUF tensors: names, shapes, stacking and row order, following
// the tables in lib/arch. Used by the converter and by verify --against; docs/conversion.md explains the rules. Only
// reads headers, except to compare an output head with the embedding and to measure the columns of a head that must be
// normalised.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arch/sizes.h"
#include "base/error.h"
#include "base/log.h"
#include "convert/merge/merge.h"
#include "convert/transfer/recipe.h"
#include "model/hf_model.h"
#include "tensor/types.h"

namespace modelutils {

/// A GGUF tensor and the parts that its rows come from, in order. Generated tensors (rope factors) have no parts.
struct MappedTensor : TensorRecipe {
  bool must_be_f32 = false;
  bool has_unit_rows = false;         ///< every row is divided by its length
  bool is_product = false;            ///< the parts after the first are factors of its values; the tensor is whole
  bool is_of_experts = false;         ///< the values are numbers of experts, written as I32; the tensor is whole
  std::string_view f32_because = {};  ///< the row's reason for F32, if it is not a requirement of llama.cpp
  std::optional<TensorType> type;     ///< if set, the type to encode the values as
  bool is_whole = false;       ///< small (vectors, biases, computed values): read and written at once with read_whole()
  bool is_transposed = false;  ///< assembled from single elements of large tensors
  bool is_scaled = false;      ///< has factors per part, column or row lengths, and is not read whole
  std::vector<float> column_lengths;                  ///< divisors of the columns; empty if they are not divided
  std::shared_ptr<const adapter::TensorMerge> merge;  ///< what adapters add to the values

  u64 columns() const { return ne.front(); }
  /// Returns the number of rows of ne0 elements.
  u64 rows() const;
  /// Returns the number of rows to stream; 1 if the tensor is read whole.
  u64 streamed_rows() const { return is_whole ? 1 : rows(); }
  /// Returns the number of pieces per row, each of which is read as stored.
  u64 pieces() const { return is_whole || is_transposed ? 1 : columns() / unit; }
  /// True if rows are computed while reading. They are then plain elements, even if the source is quantised.
  bool has_computed_rows() const { return !is_whole && (is_transposed || is_scaled || merge != nullptr); }
};

/// A key with one number per layer, which the directory stores as tensors of one element.
struct LayerNumbers {
  std::string key;
  std::vector<std::size_t> matrices;  ///< indices into HfModel::matrices, one per layer
};

struct TensorMap {
  arch::Sizes sizes;
  std::vector<MappedTensor> tensors;  ///< in output order
  std::vector<LayerNumbers> numbers;
  std::vector<LeftOut> left_out;    ///< parts of HfModel that are not written: a tied lm_head, all-zero biases
  arch::Sizes block_sizes;          ///< sizes of the blocks that predict further tokens, if any
  FindingLog remarks;               ///< notes where config.json contradicts the tensors, which win
  bool shifts_block_norms = false;  ///< the blocks' norms lack the 1 that MLX adds to others
};

/// Maps every tensor of the model. Errors (kind input): "convert-unmapped" lists tensors that nothing uses;
/// "convert-missing", "convert-shape", "convert-config" (config.json contradicts the tensors), "convert-experts",
/// "convert-output-head", "convert-rope"; those of reading.
Result<TensorMap> map_tensors(const HfModel& model);

}  // namespace modelutils
