// Carrier for FormKind::nvfp4 (carriers.cc): NVFP4 blocks with a ".scale" tensor if the runtime applies it, else
// decoded.
#pragma once

#include "transfer/carriers.h"

namespace modelutils {

void analyse_nvfp4(const StoredForm& form, u64 columns, const StoredPlanes& planes, ScaleAnalysis& analysis);
/// Fails with "convert-inexact" or "convert-scale".
Result<Target> choose_nvfp4(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis,
                            const RepackOptions& options, bool must_be_f32);
bool nvfp4_carries_exactly(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis, TensorType type);
void repack_nvfp4(const StoredForm& form, u64 columns, const Target& target, const StoredPlanes& planes,
                  std::span<const float> exact, MutableBytes out);

}  // namespace modelutils
