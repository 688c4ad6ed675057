// Printable text made to fit a number of terminal columns. For text that escape() has made safe to print.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// `text` shortened to `columns` terminal columns, the last of them "…".
std::string cut_text(std::string_view text, std::size_t columns);

/// The same, but what is left out is in the middle: the end of a tensor's name or of a path says as much as the
/// beginning. "model.layers.10…down_proj.weight".
std::string cut_middle(std::string_view text, std::size_t columns);

}  // namespace modelutils
