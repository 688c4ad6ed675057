// Converts a model to a GGUF with another mix of types. Plans from headers, then streams, checks and renames.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "io/progress.h"
#include "requantize/report.h"
#include "to_gguf/mlx_to_gguf.h"

namespace modelutils::requantize {

struct QuantizeRequest {
  std::string input = {};   ///< a GGUF file, any part of a split model, or a directory
  std::string output = {};  ///< "-" streams to standard output
  const quantize::Mix* mix = nullptr;
  std::vector<quantize::TypeOverride> overrides =
      {};                            ///< those of --tensor, then those of the recipe; the first match decides
  std::string like = {};             ///< a GGUF whose types to use
  std::string importance = {};       ///< an importance matrix
  std::optional<u64> max_size = {};  ///< limit on the file size in bytes
  std::optional<u64> gpu = {};       ///< memory in bytes that the model must fit into with `context` tokens
  std::optional<u64> context = {};
  to_gguf::MlxToGgufOptions conversion = {};  ///< for directories: tokenizer, name, links
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

/// Quantises, or only plans with dry_run. Restarts `progress` with the number of bytes to write. On an error no output
/// is left under its final name.
///
/// Errors: those of open_model_source(), choose_types(), ImportanceMatrix and AtomicOutput; "quantize-…"
/// (docs/findings.md); "glob-no-match" for an override that matches no quantisable tensor.
Result<QuantizeReport> quantize_model(const QuantizeRequest& request, Progress& progress);

}  // namespace modelutils::requantize
