// Which rows of a Hugging Face or MLX directory make each GGUF tensor: names, shapes, stacking, order. Decided from
// headers alone, unless a Gemma has an output head (its bytes are compared with the embedding's) or a head has to be
// normalised (its columns are measured); used by the converter and by verify --against. The rows of lib/arch say how;
// docs/conversion.md explains.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "adapter/merge.h"
#include "arch/names.h"
#include "arch/row_view.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "model/hf_model.h"

namespace modelutils {

/// Rows of one source matrix. Of tensors that are read whole or transposed, rows are single elements; of those whose
/// rows come in pieces, they are pieces.
struct MappedPart {
  std::size_t matrix = 0;  ///< index into HfModel::matrices
  arch::RowView view;
  float factor = 1;  ///< of its values
};

/// One GGUF tensor and where its rows come from.
struct MappedTensor {
  std::string name;
  std::vector<u64> ne;  ///< ne0 first
  bool must_be_f32 = false;
  std::string_view f32_because = {};  ///< the row's reason, where it is not that the runtime requires it
  bool is_whole = false;          ///< small: vectors, biases, what is computed; read and written at once (read_whole())
  bool is_transposed = false;     ///< the views of its parts pick single elements
  u64 pieces = 1;                 ///< of a row, that the views pick one by one
  bool is_scaled = false;         ///< its parts or columns have factors, and it is not read whole
  std::vector<MappedPart> parts;  ///< one after another; empty for generated tensors
  arch::Operation operation = arch::Operation::none;  ///< of tensors that are read whole
  float operand = 0;                                  ///< of the operation
  std::vector<float> column_lengths;                  ///< what the columns are divided by; empty: nothing
  std::vector<float> generated;                       ///< rope factors
  std::shared_ptr<const adapter::TensorMerge> merge;  ///< what adapters add to its values

  u64 columns() const { return ne.front(); }
  /// Rows of ne0 elements.
  u64 rows() const;
  /// Rows that are read and written as units: 1 if the tensor is read whole.
  u64 units() const { return is_whole ? 1 : rows(); }
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
  std::vector<LeftOut> left_out;    ///< of what HfModel keeps: a tied lm_head
  arch::Sizes block_sizes;          ///< those of the blocks that predict further tokens, if there are any
  bool shifts_block_norms = false;  ///< the blocks' norms are as published, though MLX saved the directory
};

/// Maps every tensor of the model. Errors (kind input): "convert-unmapped" lists the tensors that have no place,
/// "convert-missing", "convert-shape", "convert-config" (config.json contradicts the tensors), "convert-experts",
/// "convert-output-head", "convert-rope"; those of reading.
Result<TensorMap> map_tensors(const HfModel& model);

}  // namespace modelutils
