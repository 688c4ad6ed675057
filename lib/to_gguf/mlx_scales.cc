#include "to_gguf/mlx_scales.h"

#include <algorithm>
#include <vector>

namespace modelutils {

namespace {

constexpr u64 analysis_bytes = u64{512} << 10;

}  // namespace

MlxForm form_of(const SourceMatrix& matrix) {
  return {*matrix.quantized, matrix.scales.type, matrix.biases.type, matrix.columns};
}

Status analyse_tensor(const HfModel& model, const MappedTensor& tensor, bool with_codes, ScaleAnalysis& analysis) {
  const MlxForm form = form_of(model.matrices[tensor.parts.front().matrix]);
  std::vector<std::byte> scales;
  std::vector<std::byte> biases;
  std::vector<std::byte> codes;
  for (const MappedPart& part : tensor.parts) {
    const SourceMatrix& matrix = model.matrices[part.matrix];
    const u64 scale_bytes = matrix.scales.bytes / part.view.source_rows;
    const u64 bias_bytes = matrix.biases.bytes / part.view.source_rows;
    const u64 code_bytes = with_codes ? matrix.values.bytes / part.view.source_rows : 0;
    const u64 most = std::max<u64>(analysis_bytes / std::max<u64>(scale_bytes + bias_bytes + code_bytes, 1), 1);
    const auto look_at = [&](u64 first, u64 rows) -> Status {
      for (u64 row = 0; row < rows; row += most) {
        const u64 count = std::min(most, rows - row);
        scales.resize(count * scale_bytes);
        biases.resize(count * bias_bytes);
        codes.resize(count * code_bytes);
        MU_TRY(model.source(matrix.scales).read_exact(matrix.scales.offset + (first + row) * scale_bytes, scales));
        if (bias_bytes > 0) {
          MU_TRY(model.source(matrix.biases).read_exact(matrix.biases.offset + (first + row) * bias_bytes, biases));
        }
        if (with_codes) {
          MU_TRY(model.source(matrix.values).read_exact(matrix.values.offset + (first + row) * code_bytes, codes));
        }
        analyse_scales(form, scales, biases, codes, analysis);
      }
      return {};
    };
    MU_TRY(part.view.for_each_range(look_at));
  }
  return {};
}

}  // namespace modelutils
