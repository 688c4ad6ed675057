// The result of a conversion for each tensor: source form, target form, and whether it is exact or the measured error,
// as sums that can be accumulated.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/instructions.h"
#include "base/log.h"
#include "base/types.h"
#include "model/hf_model.h"

namespace modelutils {

// The deviation between two arrays of values, as sums that can be accumulated.

/// d is b − a. The sums cover values that are finite on both sides; others are only counted.
struct ValueSums {
  double aa = 0;       ///< sum of a²
  double bb = 0;       ///< sum of b²
  double ab = 0;       ///< sum of a × b
  double dd = 0;       ///< sum of d²
  double max_abs = 0;  ///< largest |d|
  u64 different = 0;   ///< values that are not equal; −0 equals +0, NaN equals NaN
  u64 unordered = 0;   ///< those of them with NaN or infinity on one side, or infinities of different sign

  void add(const ValueSums& other);
  /// sqrt(dd / aa): the error of b relative to a. Infinite if only b has nonzero values.
  double rms() const;
  /// Returns the cosine of the angle between a and b; 1 if both are all zeros, 0 if only one is.
  double cosine() const;
};

/// Formats an error, given as a fraction, in the form used everywhere: as a percentage with two significant digits,
/// "0.53 %", "12 %", "120 %"; or "0", or "infinite".
std::string error_percent(double fraction);

/// Compares two arrays of equal length. max_abs is at least `known`, a difference known from elsewhere. The result does
/// not depend on `instructions`. max_abs and the counts are exact; the other sums have a relative error of at most
/// 2^-20, the cosine an error of at most 2^-18: squares are added as floats, up to 16 of them, before they are added to
/// a double. Arrays for which this does not hold (some value is not finite, squares are too small or too large for a
/// float, or one side is more than four times as long as the other) are summed value by value in doubles.
ValueSums sums_of(std::span<const float> a, std::span<const float> b, double known = 0,
                  WideInstructions instructions = widest_instructions());

/// Accumulates the error of `carried` against `exact` in aa, dd and max_abs: infinite if only one side is NaN or
/// infinite. NaN on both sides is no difference. The other sums are unspecified. Faster than sums_of(). dd and aa do
/// not depend on `instructions`.
void measure(std::span<const float> exact, std::span<const float> carried, ValueSums& error,
             WideInstructions instructions = widest_instructions());

/// Returns the first index where the arrays differ, or nullopt.
std::optional<std::size_t> first_difference(std::span<const float> a, std::span<const float> b);

struct TensorReport {
  std::string name;                  ///< in the target; for a quantised tensor, its weight's name
  std::string source;                ///< name in the source; several are joined by " + " or only the first is given;
                                     ///< "generated" or "key" without one
  std::string source_form;           ///< "affine 4-bit, group 64, F16 scales", "BF16", "Q4_K + Q6_K"
  std::string form;                  ///< in the target: a type's name or an MLX form
  std::vector<u64> shape;            ///< logical shape, in the target's order
  u64 bytes = 0;                     ///< including scales and biases
  std::optional<bool> exact = true;  ///< nullopt: not measured, in a dry run
  std::string reason;                ///< explains a form that is not obvious, and what is inexact
  std::optional<double> rms;         ///< relative; nullopt if unknown
  std::optional<double> max_abs;     ///< nullopt if unknown
  std::string file = {};             ///< pt2st, st-edit: base name of its file
};

struct OutputFile {
  std::string path;
  u64 bytes = 0;
  u64 tensors = 0;
};

/// The tool that reports, which determines the report's title and contents.
enum class ReportKind : u8 { mlx2gguf, gguf2mlx, pt2st, st_edit };

struct TransferReport {
  ReportKind kind = ReportKind::mlx2gguf;
  std::string input, output;  ///< `output` is a directory, or a file of pt2st
  std::string architecture;
  std::string name;               ///< mlx2gguf: the model's name
  std::string model_type;         ///< gguf2mlx
  std::vector<OutputFile> files;  ///< files with weights, followed by those without tensors
  std::vector<TensorReport> tensors;
  std::vector<LeftOut> left_out;     ///< tensors that were not converted
  std::vector<std::string> assumed;  ///< settings of config.json that no GGUF key provides
  /// pt2st: tensors omitted because they share the elements of another: the omitted name and the written one.
  std::vector<std::pair<std::string, std::string>> shared;
  std::string wrapper;  ///< pt2st: prefix removed from the names; empty if there is none
  FindingLog remarks;   ///< warnings and notes of all steps
  bool dry_run = false;

  /// Counts of tensors known to be inexact, and of tensors without a measurement.
  u64 inexact_tensors() const;
  u64 unmeasured_tensors() const;
  /// Total size of the output files.
  u64 bytes() const;
};

}  // namespace modelutils
