// Where the planes of a matrix are, and reading its rows.
#pragma once

#include <array>

#include "base/byte_source.h"
#include "base/error.h"
#include "forms/stored_form.h"

namespace modelutils {

/// A stored tensor that is a plane of a matrix.
struct StoredPlane {
  const ByteSource* file = nullptr;
  u64 offset = 0;  ///< absolute
};

struct StoredMatrix {
  StoredForm form;
  u64 elements = 0;
  u64 columns = 1;  ///< elements of a row; elements run on from one row into the next
  std::array<StoredPlane, max_planes> planes;
};

/// Lines of a plane for rows [first, first + count), `layout.line_bytes` for each, whatever rows share. Errors:
/// reading.
Status read_lines(const StoredPlane& plane, const PlaneLayout& layout, u64 first, u64 count, MutableBytes out);

/// Rows [first, first + count). The buffers of `out` are reused. Errors: reading.
Status read_rows(const StoredMatrix& matrix, u64 first, u64 count, StoredRows& out);

}  // namespace modelutils
