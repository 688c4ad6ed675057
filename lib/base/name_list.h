// Lists of names in one text: "a|b|c".
#pragma once

#include <string_view>

namespace modelutils {

/// Calls `visit` with each name in a text like "a|b|c".
template <typename Visit>
void for_each_name(std::string_view names, Visit visit) {
  while (!names.empty()) {
    const std::size_t bar = names.find('|');
    visit(names.substr(0, bar));
    names.remove_prefix(bar == std::string_view::npos ? names.size() : bar + 1);
  }
}

}  // namespace modelutils
