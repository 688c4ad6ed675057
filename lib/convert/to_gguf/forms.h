// Chooses how each tensor of a directory is stored in GGUF (type, exactness), after analysing its scales and biases
// piece by piece, and encodes its rows, also those of tensors that transpose their sources.
#pragma once

#include <string>

#include "base/error.h"
#include "convert/to_gguf/rows.h"
#include "convert/to_gguf/tensor_map.h"
#include "convert/transfer/carriers.h"
#include "model/hf_model.h"
#include "tensor/value_sums.h"

namespace modelutils {

// Analyses all scales and biases of a mapped tensor, piece by piece.

/// Adds all scales and biases of a tensor with quantised parts to `analysis`. `with_codes` also reads the weights, for
/// forms in which all-zero groups are ignored. Errors: those of reading.
Status analyse_tensor(const HfModel& model, const MappedTensor& tensor, bool with_codes, ScaleAnalysis& analysis);

// Reads rows of a mapped tensor that transposes its sources: per head, per expert, or as a whole.

/// Returns the element type of a transposed tensor's rows: the source's, or F32 if it is quantised.
TensorType values_type(const Weight& matrix);

/// Returns how many output rows of `columns` elements can be filled from strips of consecutive source elements; 1 if
/// none can.
u64 rows_of_strips(const arch::RowView& view, u64 columns);

/// Implements read_stored_rows() for transposed tensors: puts rows [first, first + count) into `out.values` as elements
/// of values_type(). Reads strips of source rows, so memory use does not grow with the source. Errors: those of
/// reading.
Status read_transposed_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& out);

}  // namespace modelutils

namespace modelutils::to_gguf {

struct GgufForm {
  TensorType type = TensorType::F32;
  bool exact = true;
  bool measured = true;     ///< false if exactness was not checked; `exact` is then meaningless
  std::string source;       ///< name of the first source, or "generated"
  std::string source_form;  ///< for the report
  std::string reason;
  Target target;  ///< only set for quantised sources
};

/// How thoroughly a plan examines the scales and biases of quantised tensors.
enum class Look : u8 {
  all,   ///< every scale and bias
  size,  ///< only those the size depends on; assumes that the rest are finite and fit F16, as MLX writes them
};

/// Chooses the tensor's type and encoding. Reads the scales and biases of quantised tensors as `look` says (all of them
/// with options.exact), and the weights only if all-zero groups matter. Errors: "convert-inexact" (with options.exact);
/// those of reading.
Result<GgufForm> choose_form(const HfModel& model, const MappedTensor& tensor, const RepackOptions& options, Look look);

/// Encodes rows [first, first + count), both multiples of row_granule(), into `out`. `scratch` belongs to the calling
/// thread. If `error` is not null, accumulates the difference from the exact values in it.
Status encode_rows(const HfModel& model, const MappedTensor& tensor, const GgufForm& form, u64 first, u64 count,
                   MutableBytes out, StoredRows& scratch, ValueSums* error);

}  // namespace modelutils::to_gguf
