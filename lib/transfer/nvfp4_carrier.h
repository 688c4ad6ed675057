// The row of FormKind::nvfp4 in the table of carriers (carriers.cc): NVFP4 blocks with a tensor ".scale" where the
// runtime multiplies by it, else decoded.
#pragma once

#include "transfer/carriers.h"

namespace modelutils {

void analyse_nvfp4(const StoredForm& form, u64 columns, const StoredPlanes& planes, ScaleAnalysis& analysis);
/// Errors "convert-inexact", "convert-scale".
Result<Target> choose_nvfp4(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis,
                            const RepackOptions& options, bool must_be_f32);
bool nvfp4_carries_exactly(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis, TensorType type);
void repack_nvfp4(const StoredForm& form, u64 columns, const Target& target, const StoredPlanes& planes,
                  std::span<const float> exact, MutableBytes out);

}  // namespace modelutils
