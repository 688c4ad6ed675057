// A look at the scales of stored rows, in pieces: what the choice of a target depends on.
#pragma once

#include <array>

#include "base/error.h"
#include "forms/stored_matrix.h"
#include "transfer/carriers.h"

namespace modelutils {

/// Where the planes of rows are, and how they follow the rows; a plane without bytes is not read. Without plane 0 the
/// codes are not looked at.
struct AnalysedRows {
  std::array<StoredPlane, max_planes> planes;
  std::array<PlaneLayout, max_planes> layouts;
};

/// Adds what rows [first, first + count), of `columns` elements, tell. Lines that rows share are read once. Memory:
/// half a MiB, or what one row takes. Errors: reading.
Status analyse_rows(const StoredForm& form, u64 columns, const AnalysedRows& rows, u64 first, u64 count,
                    ScaleAnalysis& analysis);

}  // namespace modelutils
