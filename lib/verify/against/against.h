// verify --against: compares a model with its conversion source, by the comparison of model-diff with strict verdicts.
// Tensors are compared under their GGUF names if either model is a GGUF, otherwise under their own. docs/conversion.md
// and docs/gguf2mlx.md define the exact forms.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "model/catalog.h"
#include "model/format.h"
#include "rules/formats.h"
#include "verify/verify.h"

namespace modelutils {

// The values of a tensor whose scale factors are in another tensor: "X.weight" and "X.scale" of a GGUF.

/// Returns each tensor "X.scale" that has an "X.weight", under the name of the weight, except those for which `is_own`
/// is true: they belong to the model itself.
using Scales = std::map<std::string, const Tensor*, std::less<>>;
Scales find_scales(const Catalog& catalog, const std::function<bool(std::string_view name)>& is_own);

/// The weight multiplied by its factor, or by the factor of each expert (last dimension). The catalog must outlive it.
class ScaledValues : public TensorValues {
 public:
  ScaledValues(const Catalog& catalog, const Tensor& weight, const Tensor& scale);

  Status read(u64 first, u64 count, StoredRows& out) const override;
  void decode(const StoredRows& rows, std::span<float> out) const override;

 private:
  const Catalog& catalog_;
  const Tensor& scale_;
  MatrixValues values_;
  u64 of_factor_;  // elements that share a factor
};

// verify --against: the comparison of model-diff with strict verdicts. Tensors are compared under their GGUF names if
// either model is a GGUF, otherwise (safetensors, PyTorch checkpoints) under their own. docs/conversion.md and
// docs/gguf2mlx.md define the exact forms.

/// Compares a converted model with its source. Findings, all with scope model: "parity-missing", "parity-extra",
/// "parity-shape", "parity-type" (errors); "parity-value" names the first differing value in a tensor whose form is
/// exact (error); "parity-inexact" gives the relative RMS error of the other tensors (a note up to 1 %, otherwise an
/// error). The output head of a tied model may be missing in a directory. Keys are not compared. Errors: the source is
/// broken, a directory cannot be mapped to GGUF tensors, reading.
Result<FindingLog> compare_models_strictly(const CheckedModel& checked, const Model& converted, Model source);

/// Compares `converted` with the model in `source` and returns the findings. Includes findings about the source itself
/// (codes of opening it, "verify-no-parity"), which carry its name.
FindingLog compare_with_source(const CheckedModel& checked, const Model& converted, const PathProbe& source);

}  // namespace modelutils
