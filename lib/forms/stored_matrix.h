// Locates the planes of a matrix and reads its rows.
#pragma once

#include <array>

#include "base/byte_source.h"
#include "base/error.h"
#include "forms/stored_form.h"

namespace modelutils {

/// The location of a stored tensor that is a plane of a matrix.
struct StoredPlane {
  const ByteSource* file = nullptr;
  u64 offset = 0;  ///< absolute
};

struct StoredMatrix {
  StoredForm form;
  u64 elements = 0;
  u64 columns = 1;  ///< elements per row
  std::array<StoredPlane, max_planes> planes;
};

/// Reads the lines of a plane for rows [first, first + count), `layout.line_bytes` for each row even if rows share a
/// line. Fails only if reading fails.
Status read_lines(const StoredPlane& plane, const PlaneLayout& layout, u64 first, u64 count, MutableBytes out);

/// Reads rows [first, first + count), reusing the buffers of `out`. Fails only if reading fails.
Status read_rows(const StoredMatrix& matrix, u64 first, u64 count, StoredRows& out);

}  // namespace modelutils
