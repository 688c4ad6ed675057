// Which rows of a Hugging Face or MLX directory make each GGUF tensor: names, shapes, stacking, permutation. Decided
// from headers alone, unless a Gemma has an output head (its bytes are compared with the embedding's); used by the
// converter and by verify --against. Source: docs/conversion.md.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "model/architecture.h"
#include "model/hf_model.h"

namespace modelutils {

/// Neighbouring rows of one source matrix.
struct RowRange {
  std::size_t matrix = 0;  ///< index into HfModel::matrices
  u64 first = 0;
  u64 count = 0;
};

/// One GGUF tensor and where its rows come from.
struct MappedTensor {
  std::string name;
  std::vector<u64> ne;  ///< ne0 first
  bool must_be_f32 = false;
  std::vector<RowRange> parts;   ///< one after another; empty for generated tensors
  u64 permuted_heads = 0;        ///< > 0: the rows (elements, if 1-D) of each of so many heads are interleaved
  bool add_one = false;          ///< Gemma's norms
  std::vector<float> generated;  ///< rope factors

  u64 columns() const { return ne.front(); }
  /// Rows of ne0 elements.
  u64 rows() const;
};

struct TensorMap {
  HyperParameters parameters;
  std::vector<MappedTensor> tensors;  ///< in the order in which they are written
  std::vector<std::string> left_out;  ///< tensors that are dropped on purpose (a tied lm_head), with their reason
};

/// Maps every tensor of the model. Errors (kind input): "convert-unmapped" lists the tensors that have no place,
/// "convert-missing", "convert-shape", "convert-config" (config.json contradicts the tensors), "convert-experts",
/// "convert-output-head", "convert-rope"; those of reading.
Result<TensorMap> map_tensors(const HfModel& model);

/// Source row of row `row` of a tensor whose heads have `head_rows` rows: out[head × d + 2j + t] = in[head × d + t ×
/// d/2
/// + j].
inline u64 permuted_row(u64 row, u64 head_rows) {
  const u64 head = row / head_rows;
  const u64 within = row % head_rows;
  return head * head_rows + (within % 2) * (head_rows / 2) + within / 2;
}

}  // namespace modelutils
