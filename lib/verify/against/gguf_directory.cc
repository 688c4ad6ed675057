#include "verify/against/gguf_directory.h"

#include "to_gguf/rows.h"
#include "to_gguf/scales.h"
#include "to_gguf/tensor_map.h"
#include "to_gguf/transposed_rows.h"
#include "verify/against/tensors.h"

namespace modelutils {

namespace {

Result<bool> is_exact_form(const HfModel& model, const MappedTensor& source, TensorType type) {
  if (source.parts.empty()) return true;
  const SourceMatrix& matrix = model.matrices[source.parts.front().matrix];
  const StoredForm form = source.has_computed_rows() ? plain_form(values_type(matrix)) : matrix.form;
  ScaleAnalysis analysis;
  if (!form.is_plain()) MU_TRY(analyse_tensor(model, source, false, analysis));
  return carrier_of(form).carries_exactly(form, matrix.columns, analysis, type);
}

}  // namespace

Result<FindingLog> compare_with_mlx(const CheckedModel& checked, const Model&, Model source) {
  MU_ASSIGN(const auto model, understand_model(std::move(*source.safetensors)));
  MU_ASSIGN(const TensorMap map, map_tensors(*model));
  std::vector<ExpectedSource> sources;
  for (const MappedTensor& mapped : map.tensors) {
    sources.push_back({mapped.name, mapped.ne, [&] { return values_of(*model, mapped); },
                       [&](TensorType type) { return is_exact_form(*model, mapped, type); }});
  }
  return compare_with_sources(sources, checked.catalog);
}

}  // namespace modelutils
