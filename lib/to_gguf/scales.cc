#include "to_gguf/scales.h"

#include "to_gguf/rows.h"
#include "transfer/row_analysis.h"

namespace modelutils {

Status analyse_tensor(const HfModel& model, const MappedTensor& tensor, bool with_codes, ScaleAnalysis& analysis) {
  const StoredForm& form = model.matrices[tensor.parts.front().source].form;
  for (const RecipePart& part : tensor.parts) {
    const SourceMatrix& matrix = model.matrices[part.source];
    AnalysedRows rows;
    for (std::size_t i = with_codes ? 0 : 1; i < max_planes; ++i) {
      rows.planes[i] = model.plane(*matrix.planes[i]);
      rows.layouts[i] = layout_of(matrix, i, part.from.source_rows);
    }
    MU_TRY(part.from.for_each_range([&](u64 first, u64 count) -> Status {
      return analyse_rows(form, matrix.columns, rows, first, count, analysis);
    }));
  }
  return {};
}

}  // namespace modelutils
