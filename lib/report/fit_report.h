// Whether a model fits, for people and as JSON.
#pragma once

#include <string>

#include "io/text_output.h"
#include "memory/fit.h"

namespace modelutils {

struct FitOptions {
  bool layers = false;  ///< text: also every layer's caches
  bool color = false;
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit
};

/// Sizes in GiB, a row for each context; what to run it with; what else would fit.
void write_fit_text(TextOutput& out, const std::string& path, const memory::FitReport& report,
                    const FitOptions& options);
/// One object on one line (docs/json.md, "fit/1").
void write_fit_json(TextOutput& out, const std::string& path, const memory::FitReport& report);

}  // namespace modelutils
