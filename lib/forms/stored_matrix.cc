#include "forms/stored_matrix.h"

#include <algorithm>
#include <cstring>

namespace modelutils {

Status read_lines(const StoredPlane& plane, const PlaneLayout& layout, u64 first, u64 count, MutableBytes out) {
  const u64 bytes = layout.line_bytes;
  if (bytes == 0 || count == 0) return {};
  if (layout.gather.kind != Gather::Kind::none) {
    return read_gathered(*plane.file, plane.offset, layout.gather, first, count, out);
  }
  if (layout.rows == 1) return plane.file->read_exact(plane.offset + first * bytes, out.first(count * bytes));
  // Read each line once, to the end of the output, and copy it to its rows front to back.
  const u64 first_line = first / layout.rows;
  const u64 lines = (first + count - 1) / layout.rows - first_line + 1;
  const MutableBytes read = out.subspan((count - lines) * bytes, lines * bytes);
  MU_TRY(plane.file->read_exact(plane.offset + first_line * bytes, read));
  for (u64 row = 0; row < count; ++row) {
    const u64 line = (first + row) / layout.rows - first_line;
    std::memmove(out.data() + row * bytes, read.data() + line * bytes, bytes);
  }
  return {};
}

Status read_rows(const StoredMatrix& matrix, u64 first, u64 count, StoredRows& out) {
  const FormInfo& info = form_info(matrix.form);
  for (std::size_t i = 0; i < max_planes; ++i) {
    const PlaneLayout layout = info.plane(matrix.form, i, matrix.columns);
    out.planes[i].resize(count * layout.line_bytes);
    MU_TRY(read_lines(matrix.planes[i], layout, first, count, out.planes[i]));
  }
  return {};
}

}  // namespace modelutils
