// Converts a model to a GGUF with another mix of types: plans from headers, then streams, checks, renames and reports.
// A recipe is a file with one setting per line: "type=MIX" sets the mix, "PATTERN=TYPE" the type of matching tensors;
// the first match applies.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "convert/to_gguf/mlx_to_gguf.h"
#include "convert/transfer/report.h"
#include "io/standard_output.h"
#include "tensor/quantize/mix.h"
#include "tensor/types.h"
#include "tensor/value_sums.h"

namespace modelutils::requantize {

// Reports how each tensor was converted and how much its values changed.

/// The error of converted values: unweighted, and weighted by importance.
struct TensorError {
  ValueSums plain;
  ValueSums weighted;  ///< only aa and dd

  void add(const TensorError& other);
};

struct QuantizedTensor {
  std::string name;
  std::vector<u64> ne;
  std::string source;  ///< its form in the source
  TensorType type = TensorType::F32;
  u64 bytes = 0;
  u64 source_bytes = 0;
  bool copied = true;       ///< the blocks are those of the source
  bool weighted = false;    ///< quantised with importance
  bool undivided = false;   ///< F16, because no block divides its rows
  bool may_change = false;  ///< a mix or a pattern may choose its type
  std::string reason;       ///< the reason for the type, if it is not the mix
  bool measured = false;    ///< `error` is valid
  TensorError error = {};
};

struct QuantizeReport {
  std::string input;
  std::string output;
  std::string architecture;
  std::string mix;                          ///< name; empty if types were chosen one by one
  std::string importance;                   ///< path; empty for none
  u64 file_bytes = 0;                       ///< output size with header and padding
  u64 source_file_bytes = 0;                ///< size of the source's files; 0 if unknown (a pipe)
  u64 source_tensor_bytes = 0;              ///< size of the source's tensors as stored
  std::vector<QuantizedTensor> tensors;     ///< in file order
  std::string sample;                       ///< rows that were measured to choose types; empty for none
  std::optional<TransferReport> projector;  ///< the one written beside the model
  FindingLog remarks;
  bool dry_run = false;

  u64 bytes() const;
  u64 source_bytes() const;
  u64 elements() const;
  /// Returns the lines of a recipe that reproduces the types.
  std::vector<std::string> recipe() const;
  /// Returns the indices into `tensors` of those that were quantised, worst first.
  std::vector<std::size_t> worst_first() const;
};

struct QuantizeRequest {
  std::string input = {};   ///< a GGUF file, any part of a split model, a directory, or an image model
  std::string output = {};  ///< "-" streams to standard output
  const quantize::Mix* mix = nullptr;
  std::vector<quantize::TypeOverride> overrides =
      {};                            ///< those of --tensor, then those of the recipe; the first match decides
  std::string like = {};             ///< a GGUF whose types to use
  std::string importance = {};       ///< an importance matrix
  std::optional<u64> max_size = {};  ///< limit on the file size in bytes
  std::optional<u64> gpu = {};       ///< memory in bytes that the model must fit into with `context` tokens
  std::optional<u64> context = {};
  std::optional<std::pair<TensorType, TensorType>> cache = {};  ///< with `gpu`: types of keys and values; default: F16
  to_gguf::MlxToGgufOptions conversion = {};  ///< for directories: tokenizer, name, links, projector beside the model
  bool pure = false;
  bool keep_exact = false;  ///< copy quantised tensors if the wanted type has as many bits or more
  bool exact = false;       ///< refuse tensors whose values would change
  bool correct = false;     ///< QuantizeOptions::correct
  bool force = false;
  bool dry_run = false;
  unsigned threads = default_threads();
  /// Receives the report before the output gets its final name. If it fails, the run fails. Not called in a dry run.
  std::function<Status(const QuantizeReport&)> deliver = {};
};

/// Quantises, or only plans with dry_run. Restarts `progress` with the number of bytes to read for --max-size and
/// --gpu, then with the number of bytes to write. A projector is planned before anything is measured, and written
/// after the model; both appear together. On an error no output is left under its final name.
///
/// Errors: those of open_model_source(), choose_types(), ImportanceMatrix and AtomicOutput; "quantize-…"
/// (docs/findings.md); "glob-no-match" for an override that matches no quantisable tensor.
Result<QuantizeReport> quantize_model(const QuantizeRequest& request, Progress& progress);

// Recipes: files with one setting per line. "type=MIX" sets the mix, "PATTERN=TYPE" the type of matching tensors; the
// first match applies. Empty lines and lines that begin with # are ignored.

struct Recipe {
  const quantize::Mix* mix = nullptr;  ///< nullptr if the recipe names none
  std::vector<quantize::TypeOverride> overrides;
};

/// Parses "PATTERN=TYPE". Error (usage): names `flag` and the problem.
Result<quantize::TypeOverride> parse_override(std::string_view flag, std::string_view text);

/// Parses the name of a mix, ignoring case. Error (usage): lists the known names.
Result<const quantize::Mix*> parse_mix(std::string_view flag, std::string_view text);

/// Reads a recipe. Errors: those of opening; "quantize-recipe" with the line.
Result<Recipe> read_recipe(const std::string& path);

}  // namespace modelutils::requantize
