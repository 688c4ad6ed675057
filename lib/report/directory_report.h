// What gguf2mlx did, in its two forms. docs/json.md describes the JSON form ("gguf2mlx/1").
#pragma once

#include <string>

#include "to_directory/report.h"

namespace modelutils {

/// One JSON object and a line feed.
std::string directory_json(const to_directory::DirectoryReport& report);

/// For people: what is not exact, tensors of one source type, form and reason together (with `all` a line for each
/// tensor, exact ones too), what was assumed and left out, then the totals. Escaped.
std::string directory_text(const to_directory::DirectoryReport& report, bool all);

}  // namespace modelutils
