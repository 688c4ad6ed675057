// Chooses how each tensor of a directory is stored in GGUF (type, exactness) and encodes its rows.
#pragma once

#include <string>

#include "base/error.h"
#include "model/hf_model.h"
#include "to_gguf/rows.h"
#include "to_gguf/scales.h"
#include "to_gguf/tensor_map.h"
#include "transfer/carriers.h"
#include "transfer/report.h"
#include "transfer/value_sums.h"

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

/// How closely a plan looks at the scales and biases of quantised tensors.
enum class Look : u8 {
  all,   ///< every scale and bias
  size,  ///< only those the size depends on (ScaleUse); assumes the rest are finite and fit f16, as MLX writes them
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
