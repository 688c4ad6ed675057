#include "transfer/row_analysis.h"

#include <algorithm>
#include <vector>

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

Status analyse_rows(const StoredForm& form, u64 columns, const AnalysedRows& rows, u64 first, u64 count,
                    ScaleAnalysis& analysis) {
  u64 row_bytes = 1;
  for (const PlaneLayout& layout : rows.layouts) row_bytes += layout.line_bytes / layout.rows;
  const u64 most = std::max<u64>(analysis_bytes / row_bytes, 1);
  StoredRows bytes;
  for (u64 row = 0; row < count && !analysis.is_settled; row += most) {
    const u64 now = std::min(most, count - row);
    for (std::size_t i = 0; i < max_planes; ++i) {
      MU_TRY(read_own_lines(rows.planes[i], rows.layouts[i], first + row, now, bytes.planes[i]));
    }
    carrier_of(form).analyse(form, columns, planes_of(bytes), analysis);
  }
  return {};
}

}  // namespace modelutils
