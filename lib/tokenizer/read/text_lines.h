// Vocabularies that are text files with one token per line.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/types.h"

namespace modelutils::tokenizer {

/// Calls `visit(line)`, which returns a Status, for each line that is not empty, without its LF or CR LF. Stops at the
/// first error and returns it, with the line in `where` ("line 3", counted from 1).
template <typename Visit>
Status each_line(std::string_view text, const Visit& visit) {
  for (u64 number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    Status visited = visit(line);
    if (!visited) {
      Error error = std::move(visited.error());
      error.where = fmt::format("line {}", number);
      return tl::make_unexpected(std::move(error));
    }
  }
  return {};
}

}  // namespace modelutils::tokenizer
