// Carriers choose the GGUF type for a tensor's stored form, tell whether the values survive bit for bit, and convert
// them. The table in carriers.cc has one row per kind of form. If no block type fits, values are decoded and re-encoded
// (encoders.h); the error is measured only here. docs/conversion.md explains the choices.
#pragma once

#include <array>

#include "base/error.h"
#include "convert/transfer/encoders.h"
#include "convert/transfer/mlx_target.h"
#include "model/forms/stored_form.h"
#include "tensor/value_sums.h"

namespace modelutils {

/// Converts the forms of one kind to GGUF types. Rows have `columns` elements.
struct Carrier {
  FormKind kind;
  /// Which part of the choice depends on the scales, provided that all are finite.
  ScaleUse (*scale_use)(const StoredForm& form, u64 columns, const RepackOptions& options);
  /// Adds the statistics of some rows' scales, and of their codes (plane 0) unless those are empty.
  void (*analyse)(const StoredForm& form, u64 columns, const StoredPlanes& planes, ScaleAnalysis& analysis);
  /// After analysing only the scales: true if the codes could improve the choice.
  bool (*wants_codes)(const StoredForm& form, const ScaleAnalysis& analysis, const Result<Target>& target,
                      const RepackOptions& options);
  /// Fails with "convert-inexact" under options.exact if no type holds the tensor bit for bit.
  Result<Target> (*choose)(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis,
                           const RepackOptions& options, bool must_be_f32);
  /// True if a tensor of `type`, converted from such a matrix, equals it in every value.
  bool (*carries_exactly)(const StoredForm& form, u64 columns, const ScaleAnalysis& analysis, TensorType type);
  /// Converts units to blocks without decoding (Carry::blocks), or given the exact values (Carry::q8_0_best). nullptr
  /// if no target of this kind needs it.
  void (*repack)(const StoredForm& form, u64 columns, const Target& target, const StoredPlanes& planes,
                 std::span<const float> exact, MutableBytes out);
};

/// Returns the table's row for a form.
const Carrier& carrier_of(const StoredForm& form);

/// Converts whole rows; planes may be unaligned. `out` must have rows × row_bytes(target.type, columns) bytes. If
/// `error` is not null, adds the deviation from the exact values, which requires decoding both sides (except for
/// Carry::copy). Thread-safe. Precondition: `target` was chosen for this form.
void carry_rows(const StoredForm& form, u64 columns, const Target& target, const StoredPlanes& planes, MutableBytes out,
                ValueSums* error, const EncodeHints& hints = {});

// Analyses the scales of stored rows piece by piece, for choosing the target type.

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
