// weights_manifest.map: the list by which C-Kernel-Engine loads the entries. Source: docs/formats/bump5.md, "The map".
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bump/bump5_layout.h"

namespace modelutils::bump5 {

/// One line. The texts are views into it.
struct MapLine {
  std::string_view name;
  std::string_view dtype;
  u64 file_offset = 0;
  u64 size = 0;
  u64 runtime_offset = 0;  ///< where in the engine's memory the entry goes: it must be file_offset
};

/// The text: two comments, then the entries by offset (an empty one behind the one at the same place), numbers as 16
/// hexadecimal digits.
std::string map_text(std::span<const Entry> entries);

/// Calls `visit` with the number (from 1) and content of every line that is neither empty nor a comment; nothing for
/// one that has fewer than five fields, or a number that is neither decimal, 0x hexadecimal nor 0 octal, or too large.
void visit_map(std::string_view text, const std::function<void(u64 line, const std::optional<MapLine>&)>& visit);

}  // namespace modelutils::bump5
