// weights_manifest.map, the list from which C-Kernel-Engine loads the entries. Source: docs/formats/bump5.md, "The
// map".
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bump/bump5_layout.h"

namespace modelutils::bump5 {

/// One line; the fields point into the text.
struct MapLine {
  std::string_view name;
  std::string_view dtype;
  u64 file_offset = 0;
  u64 size = 0;
  u64 runtime_offset = 0;  ///< offset in the engine's memory; must equal file_offset
};

/// Returns the map's text: two comments, then the entries by offset, numbers as 16 hexadecimal digits. An empty entry
/// follows the one at the same offset.
std::string map_text(std::span<const Entry> entries);

/// Calls `visit` with the number (from 1) and content of every line that is not empty or a comment. The content is
/// nullopt if the line has fewer than five fields, or a number that is too large or not decimal, hexadecimal (0x) or
/// octal (0).
void visit_map(std::string_view text, const std::function<void(u64 line, const std::optional<MapLine>&)>& visit);

}  // namespace modelutils::bump5
