// Analyses the scales of stored rows piece by piece, for choosing the target type.
#pragma once

#include <array>

#include "base/error.h"
#include "forms/stored_form.h"
#include "transfer/carriers.h"

namespace modelutils {

/// Locations and layouts of the planes. Planes without bytes are not read; without plane 0, the codes are not analysed.
struct AnalysedRows {
  std::array<StoredPlane, max_planes> planes;
  std::array<PlaneLayout, max_planes> layouts;
};

/// Adds the statistics of rows [first, first + count), each with `columns` elements. Lines that several rows share are
/// read once. Memory: half a MiB, or one row if that is larger. Fails only if reading fails.
Status analyse_rows(const StoredForm& form, u64 columns, const AnalysedRows& rows, u64 first, u64 count,
                    ScaleAnalysis& analysis);

}  // namespace modelutils
