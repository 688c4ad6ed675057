// verify --data: detects norm gains that were shifted by one too often or not at all.
#pragma once

#include <vector>

#include "base/log.h"
#include "model/catalog.h"
#include "model/model.h"

namespace modelutils {

/// Reads the gains of norms that some layouts publish minus one: Qwen3-Next, Qwen 3.5 (directories and GGUF files) and
/// Qwen 4's experimental class. Warnings, scope data: "data-norms-shifted", "data-norms-unshifted". Ignores read
/// errors, which the tensor checks report.
void check_norm_means(const Model& model, const Catalog& catalog, FindingLog& log);

/// Norms of a directory that those warnings are about.
struct ShiftedNorms {
  std::vector<std::size_t> tensors;  ///< indices into the catalog's tensors
  double mean = 0;                   ///< of all their gains
  float shift = 0;                   ///< what corrects them: 1 or -1
};
/// Returns the groups of norms for which check_norm_means() warns about a directory.
std::vector<ShiftedNorms> shifted_norms(const Model& model, const Catalog& catalog);

}  // namespace modelutils
