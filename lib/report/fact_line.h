// The lines of a card, "  label         one · another", broken between facts at the terminal's width.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/style.h"

namespace modelutils {

inline constexpr std::size_t fact_label_columns = 14;

/// Returns one line or several, with a line feed; empty if all facts are empty. Facts are printable and may be
/// coloured. `width`: columns of the terminal; 0: not limited.
std::string fact_lines(std::string_view label, const std::vector<std::string>& facts, std::size_t width,
                       const Style& style);

}  // namespace modelutils
