// Reports whether a model fits, for people and as JSON.
#pragma once

#include <string>

#include "io/text_output.h"
#include "memory/fit.h"

namespace modelutils {

struct FitOptions {
  bool layers = false;  ///< text: also list every layer's caches
  bool color = false;
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit
};

/// Writes sizes in GiB with a row for each context, the command to run the model, and alternatives that would fit.
void write_fit_text(TextOutput& out, const std::string& path, const memory::FitReport& report,
                    const FitOptions& options);
/// Writes one object on one line (docs/json.md, "fit/1").
void write_fit_json(TextOutput& out, const std::string& path, const memory::FitReport& report);

}  // namespace modelutils
