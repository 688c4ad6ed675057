// The plan of a run: source, types, header. Refuses everything that can be refused without reading values.
#pragma once

#include <memory>
#include <vector>

#include "convert/requantize/quantize_model.h"
#include "convert/requantize/source.h"
#include "convert/transfer/plan.h"
#include "formats/imatrix/importance.h"

namespace modelutils::requantize {

struct PlannedTensor {
  std::size_t source = 0;  ///< index into Source::tensors()
  TensorType type = TensorType::F32;
  bool copied = true;
  const quantize::ImportanceEntry* importance = nullptr;
};

struct QuantizePlan : Plan {
  std::unique_ptr<Source> source;
  std::shared_ptr<const quantize::ImportanceMatrix> importance;  ///< nullptr for none
  std::vector<PlannedTensor> tensors;                            ///< in output order
  std::vector<std::size_t> reading;                              ///< indices into `tensors`, parallel to `stream`
  QuantizeReport report;
};

/// Shows `progress` while it measures errors to choose types.
Result<QuantizePlan> plan_quantize(const QuantizeRequest& request, Progress& progress);

/// Returns the importance entry for a tensor that becomes `type`, or nullptr if there is none. Errors: "imatrix-size",
/// "quantize-needs-importance".
Result<const quantize::ImportanceEntry*> importance_of(const quantize::ImportanceMatrix* matrix, const Tensor& tensor,
                                                       TensorType type, const quantize::Mix* mix);

}  // namespace modelutils::requantize
