// A model -> a GGUF of another mix of types: planned from headers, then streamed, checked, renamed.
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
      {};                            ///< of --tensor, then of the recipe: the first that selects decides
  std::string like = {};             ///< a GGUF whose types are taken
  std::string importance = {};       ///< an importance matrix
  std::optional<u64> max_size = {};  ///< bytes of the whole file
  std::optional<u64> gpu = {};       ///< bytes of memory into which the model is to fit with `context` tokens
  std::optional<u64> context = {};
  to_gguf::MlxToGgufOptions conversion = {};  ///< of a directory: tokenizer, name, links
  bool pure = false;
  bool keep_exact = false;  ///< what is quantised already is copied where the wanted type has as many bits or more
  bool exact = false;       ///< refuse a tensor that changes
  bool correct = false;     ///< QuantizeOptions::correct
  bool force = false;
  bool dry_run = false;
  unsigned threads = default_threads();
  /// Hands over the report before the output gets its name: an error of it is one of the run. Not in a dry run.
  std::function<Status(const QuantizeReport&)> deliver = {};
};

/// Quantises, or with dry_run only plans. `progress` is restarted with the bytes to be written. Nothing is left under
/// the final name on an error.
///
/// Errors: those of open_model_source(), choose_types(), ImportanceMatrix and AtomicOutput; "quantize-…"
/// (docs/findings.md); "glob-no-match" for an override that selects nothing that may be quantised.
Result<QuantizeReport> quantize_model(const QuantizeRequest& request, Progress& progress);

}  // namespace modelutils::requantize
