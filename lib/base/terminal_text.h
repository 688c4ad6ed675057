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

/// Appends `text`, broken at spaces so that lines end before `width`, and a line feed. The first line goes on at
/// `column`; the others begin with `indent` spaces. A word that is longer than a line stays whole.
void append_wrapped(std::string& out, std::string_view text, std::size_t column, std::size_t indent, std::size_t width);

}  // namespace modelutils
