// Carrier for FormKind::integers (carriers.cc): code − zero point is an integer, so block types without an offset hold
// scale × integer exactly. Conditions: docs/formats/hf-quantized.md.
#pragma once

#include "transfer/carriers.h"

namespace modelutils {

ScaleUse integer_scale_use(const StoredForm& form, u64 columns, const RepackOptions& options);
void analyse_integers(const StoredForm& form, u64 columns, const StoredPlanes& planes, ScaleAnalysis& analysis);
bool wants_integer_codes(const StoredForm& form, const ScaleAnalysis& analysis, const Result<Target>& target,
                         const RepackOptions& options);
/// Fails with "convert-inexact", "convert-scale" or "convert-zero-point".
Result<Target> choose_integers(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis,
                               const RepackOptions& options, bool must_be_f32);
bool integers_carry_exactly(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis, TensorType type);
void repack_integers(const StoredForm& form, u64 columns, const Target& target, const StoredPlanes& planes,
                     std::span<const float> exact, MutableBytes out);

}  // namespace modelutils
