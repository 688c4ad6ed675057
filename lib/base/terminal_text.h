// Fits printable text into a number of terminal columns. The text must already be escaped (escape()).
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// `text` cut to `columns` terminal columns, the last of which is "…" if it was cut.
std::string cut_text(std::string_view text, std::size_t columns);

/// Like cut_text(), but cuts the middle, as the end of a tensor name or path matters as much as the beginning:
/// "model.layers.10…down_proj.weight".
std::string cut_middle(std::string_view text, std::size_t columns);

/// Appends `text`, wrapped at spaces to lines shorter than `width`, and a line feed. The first line continues at
/// `column`; the others start with `indent` spaces. A word longer than a line is not split.
void append_wrapped(std::string& out, std::string_view text, std::size_t column, std::size_t indent, std::size_t width);

}  // namespace modelutils
