// Carriers: which type of a GGUF takes the values of a stored form, whether bit for bit, and how. One row of the table
// (carriers.cc) for each kind of form; where none of its blocks fits, values are decoded and encoded (encoders.h), and
// what that loses is measured here alone. docs/conversion.md explains the choices.
#pragma once

#include "base/error.h"
#include "forms/stored_form.h"
#include "transfer/encoders.h"
#include "transfer/mlx_target.h"
#include "transfer/report.h"
#include "transfer/value_sums.h"

namespace modelutils {

/// How the forms of one kind get into a GGUF. Rows have `columns` elements.
struct Carrier {
  FormKind kind;
  /// What of the choice depends on the scales, as long as all of them are finite.
  ScaleUse (*scale_use)(const StoredForm& form, u64 columns, const RepackOptions& options);
  /// Adds what the scales of some rows tell; the codes (plane 0) may be left out.
  void (*analyse)(const StoredForm& form, u64 columns, const StoredPlanes& planes, ScaleAnalysis& analysis);
  /// After a look at the scales alone: could the codes change the choice for the better?
  bool (*wants_codes)(const StoredForm& form, const ScaleAnalysis& analysis, const Result<Target>& target,
                      const RepackOptions& options);
  /// Error "convert-inexact" under options.exact if nothing carries the tensor bit for bit.
  Result<Target> (*choose)(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis,
                           const RepackOptions& options, bool must_be_f32);
  /// Does a tensor of `type`, made from such a matrix, equal it in every value?
  bool (*carries_exactly)(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis, TensorType type);
  /// Makes blocks out of units without decoding them (Carry::blocks), or with a look at their exact values
  /// (Carry::q8_0_best). nullptr: no target of this kind asks for it.
  void (*repack)(const StoredForm& form, u64 columns, const Target& target, const StoredPlanes& planes,
                 std::span<const float> exact, MutableBytes out);
};

const Carrier& carrier_of(const StoredForm& form);

/// Carries whole rows, the planes at any address; `out` has rows × row_bytes(target.type, columns) bytes. If `error` is
/// given, the difference to the exact values is measured and added to it (costs decoding both sides; nothing for
/// Carry::copy). Any number of threads may call it at once. Precondition: `target` was chosen for this form.
void carry_rows(const StoredForm& form, u64 columns, const Target& target, const StoredPlanes& planes, MutableBytes out,
                ValueSums* error, const EncodeHints& hints = {});

}  // namespace modelutils
