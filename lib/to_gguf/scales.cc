#include "to_gguf/scales.h"

#include <algorithm>
#include <array>
#include <vector>

#include "to_gguf/rows.h"

namespace modelutils {

namespace {

constexpr u64 analysis_bytes = u64{512} << 10;

// Of lines that rows share, each once.
Status read_own_lines(const StoredPlane& plane, const PlaneLayout& layout, u64 first, u64 count,
                      std::vector<std::byte>& out) {
  if (layout.rows == 1) {
    out.resize(static_cast<std::size_t>(count * layout.line_bytes));
    return read_lines(plane, layout, first, count, out);
  }
  const u64 line = first / layout.rows;
  const u64 lines = (first + count - 1) / layout.rows - line + 1;
  out.resize(static_cast<std::size_t>(lines * layout.line_bytes));
  return read_lines(plane, {layout.line_bytes}, line, lines, out);
}

}  // namespace

Status analyse_tensor(const HfModel& model, const MappedTensor& tensor, bool with_codes, ScaleAnalysis& analysis) {
  const StoredForm& form = model.matrices[tensor.parts.front().matrix].form;
  const Carrier& carrier = carrier_of(form);
  StoredRows bytes;
  for (const MappedPart& part : tensor.parts) {
    const SourceMatrix& matrix = model.matrices[part.matrix];
    std::array<PlaneLayout, max_planes> layouts;
    u64 row_bytes = 1;
    for (std::size_t i = with_codes ? 0 : 1; i < max_planes; ++i) {
      layouts[i] = layout_of(matrix, i, part.view.source_rows);
      if (layouts[i].rows == 1) row_bytes += layouts[i].line_bytes;
    }
    const u64 most = std::max<u64>(analysis_bytes / row_bytes, 1);
    const auto look_at = [&](u64 first, u64 rows) -> Status {
      for (u64 row = 0; row < rows; row += most) {
        const u64 count = std::min(most, rows - row);
        for (std::size_t i = 0; i < max_planes; ++i) {
          MU_TRY(read_own_lines(model.plane(matrix.planes[i]), layouts[i], first + row, count, bytes.planes[i]));
        }
        carrier.analyse(form, matrix.columns, planes_of(bytes), analysis);
      }
      return {};
    };
    MU_TRY(part.view.for_each_range(look_at));
  }
  return {};
}

}  // namespace modelutils
