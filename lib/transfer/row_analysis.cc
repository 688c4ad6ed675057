#include "transfer/row_analysis.h"

#include <algorithm>
#include <vector>

namespace modelutils {

namespace {

constexpr u64 analysis_bytes = u64{512} << 10;

// Reads lines of a plane, each once if several rows share it.
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

// True if groups can be analysed as separate matrices, reading all rows of a group at once: the codes are packed across
// rows, columns are adjacent, and every group starts at the start of a line in the file.
bool is_made_of_groups(const StoredForm& form, u64 columns, const AnalysedRows& rows) {
  using Kind = Gather::Kind;
  if (form.kind != FormKind::integers || rows.layouts[0].line_bytes == 0) return false;
  const IntegerParams& of = form.integers;
  const Kind codes = rows.layouts[0].gather.kind;
  const bool are_across =
      codes == Kind::codes_of_columns || (codes == Kind::words_of_columns && of.codes.codes_in_word == 0);
  return are_across && !of.is_scattered && of.group > 0 && of.group % 32 == 0 && columns % of.group == 0 &&
         rows.layouts[1].gather.kind == Kind::values_of_columns &&
         (!of.has_zeros || rows.layouts[2].gather.kind == Kind::codes_of_columns);
}

// Returns the planes of one such group.
AnalysedRows group_of(const StoredForm& form, const AnalysedRows& rows, u64 group) {
  const IntegerParams& of = form.integers;
  AnalysedRows part;
  const auto narrow = [&](std::size_t plane, u64 columns, u64 line) {
    part.planes[plane] = rows.planes[plane];
    part.layouts[plane] = rows.layouts[plane];
    if (part.layouts[plane].line_bytes == 0) return;
    part.layouts[plane].line_bytes = part.layouts[plane].line_bytes / part.layouts[plane].gather.columns * columns;
    part.layouts[plane].gather.columns = columns;
    part.planes[plane].offset += line * part.layouts[plane].gather.stride;
  };
  const bool are_words = rows.layouts[0].gather.kind == Gather::Kind::words_of_columns;
  const u64 column = group * of.group;
  narrow(0, of.group, are_words ? column * of.bits / 32 : column);
  narrow(1, 1, group);
  if (of.has_zeros) narrow(2, 1, group);
  return part;
}

Status analyse_pieces(const StoredForm& form, u64 columns, const AnalysedRows& rows, u64 first, u64 count,
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

}  // namespace

Status analyse_rows(const StoredForm& form, u64 columns, const AnalysedRows& rows, u64 first, u64 count,
                    ScaleAnalysis& analysis) {
  if (!is_made_of_groups(form, columns, rows)) return analyse_pieces(form, columns, rows, first, count, analysis);
  for (u64 group = 0; group < columns / form.integers.group && !analysis.is_settled; ++group) {
    MU_TRY(analyse_pieces(form, form.integers.group, group_of(form, rows, group), first, count, analysis));
  }
  return {};
}

}  // namespace modelutils
