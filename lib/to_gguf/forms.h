// How each tensor of a directory is carried into GGUF: which type, whether exactly, and the encoding of its rows.
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
  bool measured = true;     ///< false: whether it is exact was not looked at, `exact` says nothing
  std::string source;       ///< name of the first source, or "generated"
  std::string source_form;  ///< for the report
  std::string reason;
  Target target;  ///< for quantised sources
};

/// How closely a plan looks at the scales and biases of quantised tensors.
enum class Look : u8 {
  all,   ///< at all of them
  size,  ///< only where the size depends on them (ScaleUse), if they are finite and within f16, as MLX writes them
};

/// Chooses type and encoding. Looks at scales and biases of a quantised tensor, with options.exact at all of them; at
/// weights only where groups of zeros matter. Errors: "convert-inexact" (with options.exact), reading.
Result<GgufForm> choose_form(const HfModel& model, const MappedTensor& tensor, const RepackOptions& options, Look look);

/// Encodes rows [first, first + count) (multiples of row_granule()) into `out`. `scratch` belongs to the calling
/// thread. `error`, if given, collects the difference to the exact values.
Status encode_rows(const HfModel& model, const MappedTensor& tensor, const GgufForm& form, u64 first, u64 count,
                   MutableBytes out, StoredRows& scratch, ValueSums* error);

}  // namespace modelutils::to_gguf
