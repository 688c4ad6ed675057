// What changed between two models of any format. The engine of model-diff.
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
  std::vector<std::string> ignored_tensors;  ///< globs over the names that both sides go by
  bool data = false;                         ///< measure the values
  bool quick = false;                        ///< do not measure values unless requested
  std::optional<double> max_rms;             ///< of values that still count as equal, as a fraction; implies `data`
  bool layout = false;                       ///< also say where in the files things are
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
  std::string a, b;  ///< empty where only the order differs
};

/// A tensor and what its values say.
struct TensorChange {
  TensorPair pair;
  const Measurement* measured = nullptr;  ///< nothing if values were not compared
};

struct ModelDiff {
  ComparedModel a, b;
  std::vector<FactChange> identity;
  bool has_keys = false;  ///< both have keys of one kind, and they were compared
  KeyChanges keys;
  bool has_tokenizer = false;  ///< likewise
  KeyChanges tokenizer;
  TensorChanges tensors;
  bool values_compared = false;  ///< asked for; or of small models whose tensors have the same types and shapes
  Measurements measured;         ///< of tensors.same_shape, if they were compared; else empty
  std::optional<double> max_rms;
  std::vector<LayoutChange> layout;
  std::vector<std::string> remarks;  ///< omitted comparisons and their reasons; raw text

  /// Tensors of the same shape whose values differ, or could not be compared.
  std::vector<TensorChange> changed_values() const;
  /// True if a measurement counts as equal under --max-rms.
  bool is_within(const Measurement& measured) const;
  /// True if a changed type counts as a difference: not if --max-rms judges by the values.
  bool types_count() const { return !max_rms; }
  /// True if nothing that counts differs.
  bool equal() const;
  /// True if equal and there are no other differences to report.
  bool is_silent() const { return equal() && identity.empty() && tensors.retyped == 0 && changed_values().empty(); }
  /// The note "diff-values": values that were not compared might tell models of the same tensors apart.
  std::optional<Finding> values_left_out() const;
  /// The first reading that failed while values were measured.
  const Error* read_error() const;
};

/// Compares two opened models. Errors: reading headers and arrays. What of the data cannot be read is in the diff.
Result<std::unique_ptr<ModelDiff>> compare_models(Model a, Model b, const CompareOptions& options);

}  // namespace modelutils
