// Finds the differences between two models of any format. The engine of model-diff.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "compare/compared_model.h"
#include "compare/key_changes.h"
#include "compare/measure.h"

namespace modelutils {

struct CompareOptions {
  std::vector<std::string> ignored_keys;     ///< globs, also of tokenizer keys
  std::vector<std::string> ignored_tensors;  ///< globs over the names used for both sides
  bool data = false;                         ///< measure the values
  bool quick = false;                        ///< do not measure values unless requested
  std::optional<double> max_rms;             ///< largest relative RMS (a fraction) that counts as equal; implies `data`
  bool layout = false;                       ///< also compare the locations in the files
  unsigned threads = default_threads();
  Progress* progress = nullptr;
};

/// A fact that differs between the models. Facts derived from keys or tensors, or about the file format, are reported
/// but do not make models differ.
struct FactChange {
  std::string name;
  std::string a, b;
  bool counts = true;
};

struct LayoutChange {
  std::string name;
  std::string a, b;  ///< empty if only the order differs
};

/// A tensor and the comparison of its values.
struct TensorChange {
  TensorPair pair;
  const Measurement* measured = nullptr;  ///< nullptr if values were not compared
};

struct ModelDiff {
  ComparedModel a, b;
  std::vector<FactChange> identity;
  bool has_keys = false;  ///< both models have keys of one kind, and these were compared
  KeyChanges keys;
  bool has_tokenizer = false;  ///< likewise
  KeyChanges tokenizer;
  TensorChanges tensors;
  bool values_compared = false;  ///< on request, or for small models whose tensors have the same types and shapes
  Measurements measured;         ///< parallel to tensors.same_shape if values were compared; otherwise empty
  std::optional<double> max_rms;
  std::vector<LayoutChange> layout;
  std::vector<std::string> remarks;  ///< omitted comparisons and their reasons; raw text

  /// Tensors of the same shape whose values differ, or could not be compared.
  std::vector<TensorChange> changed_values() const;
  /// True if a measurement counts as equal under --max-rms.
  bool is_within(const Measurement& measured) const;
  /// True if a changed type counts as a difference. With --max-rms only the values decide.
  bool types_count() const { return !max_rms; }
  /// True if there is no difference that counts.
  bool equal() const;
  /// True if equal and there are no other differences to report.
  bool is_silent() const { return equal() && identity.empty() && tensors.retyped == 0 && changed_values().empty(); }
  /// Returns the note "diff-values" if values were not compared and might differ although the tensors have the same
  /// types and shapes.
  std::optional<Finding> values_left_out() const;
  /// The first read error while measuring values.
  const Error* read_error() const;
};

/// Compares two open models. Errors: reading headers and arrays. Errors in reading the data are recorded in the result.
Result<std::unique_ptr<ModelDiff>> compare_models(Model a, Model b, const CompareOptions& options);

}  // namespace modelutils
