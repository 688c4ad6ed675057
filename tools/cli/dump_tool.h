// The run of a dumper: every path opened, shown as far as it can be read, and judged.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "cli/dump_options.h"

namespace modelutils::cli {

/// A model that was opened.
struct Opened {
  std::shared_ptr<const void> model;  ///< what `source` looks at
  std::unique_ptr<ListingSource> source;
  Findings findings;            ///< of the rules for its container
  std::vector<Error> warnings;  ///< the first is shown; with -v all of them
  std::optional<Error> error;   ///< what could not be read and belongs to the model
  std::string instead = {};     ///< if not empty, this is shown: there is no one model to show
  /// Will it fit?
  std::function<Result<memory::FitReport>(const memory::FitRequest&)> fit = {};
  /// What it says of its tokenizer.
  TokenizerKeys tokenizer = {};
  /// The chat template of that name (chat_source()).
  std::function<Result<ChatSource>(std::string_view name)> chat = {};
};

using Open = std::function<Result<Opened>(const std::string& path, const DumpRequest& request)>;

/// Parses, shows every path; the exit status.
int run_dumper(Command command, const DumpArguments& arguments, const Open& open, int argc, char** argv);

}  // namespace modelutils::cli
