// Runs a dumper: opens every path, prints as much as can be read, and reports the findings.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "cli/dump_options.h"

namespace modelutils::cli {

/// An opened model.
struct Opened {
  std::shared_ptr<const void> model;  ///< owns the data that `source` refers to
  std::unique_ptr<ListingSource> source;
  Findings findings;            ///< of the container rules
  std::vector<Error> warnings;  ///< only the first is printed, without -v
  std::vector<Error> errors;    ///< parts of the model, or models of a folder, that cannot be read
  /// If set, writes the output instead of a model's, e.g. a list of the models in a folder.
  std::function<void(TextOutput& out)> instead = {};
  std::vector<std::string> paths = {};  ///< if not empty, these models are shown instead
  /// Estimates whether the model fits into memory (--fit).
  std::function<Result<memory::FitReport>(const memory::FitRequest&)> fit = {};
  /// The tokenizer's keys.
  TokenizerKeys tokenizer = {};
  /// Returns the chat template `name` (chat_source()).
  std::function<Result<ChatSource>(std::string_view name)> chat = {};
};

using Open = std::function<Result<Opened>(const std::string& path, const DumpRequest& request)>;

/// Parses the command line and dumps every path. Returns the exit status.
int run_dumper(Command command, const DumpArguments& arguments, const Open& open, int argc, char** argv);

}  // namespace modelutils::cli
