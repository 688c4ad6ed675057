// Reports whether a model fits, for people and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "io/standard_output.h"
#include "model/memory/fit.h"

namespace modelutils {

// Formats command lines for copying into a shell.

/// Returns the argument for a shell, quoted if necessary; `otherwise` if it contains characters that must not reach a
/// terminal.
std::string shell_word(std::string_view argument, std::string_view otherwise);

/// Returns the command on lines of less than `width` columns, as far as possible: broken with a backslash before
/// options ("-c 4096" stays together). Lines begin with `indent` spaces, continuation lines with two more. `width` 0:
/// one line.
std::string command_lines(std::string_view command, std::size_t indent, std::size_t width);

struct FitOptions {
  bool layers = false;  ///< text: also list every layer's caches
  bool color = false;
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit
};

/// Writes sizes in GB with a row for each context, the command to run the model, and alternatives that would fit.
void write_fit_text(TextOutput& out, const std::string& path, const memory::FitReport& report,
                    const FitOptions& options);
/// Writes one object on one line (docs/json.md, "fit/1").
void write_fit_json(TextOutput& out, const std::string& path, const memory::FitReport& report);

}  // namespace modelutils
