#include "verify/against/gguf_directory.h"

#include "to_gguf/mlx_scales.h"
#include "to_gguf/tensor_map.h"
#include "verify/against/tensors.h"

namespace modelutils {

namespace {

Result<bool> is_exact_form(const HfModel& model, const MappedTensor& source, TensorType type) {
  if (source.parts.empty()) return true;
  const SourceMatrix& matrix = model.matrices[source.parts.front().matrix];
  if (!matrix.quantized || source.has_computed_rows()) return type == TensorType::F32 || type == matrix.values.type;
  ScaleAnalysis analysis;
  MU_TRY(analyse_tensor(model, source, false, analysis));
  return carries_exactly(form_of(matrix), analysis, type);
}

}  // namespace

Result<FindingLog> compare_with_mlx(const CheckedModel& checked, const Model&, Model source) {
  MU_ASSIGN(const auto model, understand_model(std::move(*source.safetensors)));
  MU_ASSIGN(const TensorMap map, map_tensors(*model));
  std::vector<ExpectedSource> sources;
  for (const MappedTensor& mapped : map.tensors) {
    sources.push_back({mapped.name, mapped.ne, [&] { return values_for_comparison(*model, mapped); },
                       [&](TensorType type) { return is_exact_form(*model, mapped, type); }});
  }
  return compare_with_sources(sources, checked.catalog);
}

}  // namespace modelutils
