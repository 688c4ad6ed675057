// Carrier for F8_E4M3 with scales. ggml has no FP8 type. Conditions: docs/conversion.md.
#pragma once

#include "transfer/carriers.h"

namespace modelutils {

// The members of Carrier.

ScaleUse fp8_scale_use(const StoredForm& form, u64 columns, const RepackOptions& options);
void analyse_fp8(const StoredForm& form, u64 columns, const StoredPlanes& planes, ScaleAnalysis& analysis);
Result<Target> choose_fp8(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis,
                          const RepackOptions& options, bool must_be_f32);
/// Writes the elements without their scale, as BF16.
void repack_fp8(const StoredForm& form, u64 columns, const Target& target, const StoredPlanes& planes,
                std::span<const float> exact, MutableBytes out);
bool fp8_carries_exactly(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis, TensorType type);

}  // namespace modelutils
