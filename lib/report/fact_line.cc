#include "report/fact_line.h"

#include <algorithm>

#include "base/utf8.h"

namespace modelutils {

namespace {

std::size_t width_without_color(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const std::size_t escape_at = text.find('\033');
    columns += display_width(text.substr(0, escape_at));
    if (escape_at == std::string_view::npos) break;
    text.remove_prefix(std::min(text.size(), text.find('m', escape_at) + 1));
  }
  return columns;
}

}  // namespace

std::string fact_lines(std::string_view label, const std::vector<std::string>& facts, std::size_t width,
                       const Style& style) {
  std::string line = "  " + style(Paint::label, label);
  line.append(fact_label_columns - std::min(label.size(), fact_label_columns - 1), ' ');
  std::size_t column = 2 + fact_label_columns;
  bool is_first = true;
  for (const std::string& text : facts) {
    if (text.empty()) continue;
    const std::size_t columns = width_without_color(text);
    if (!is_first) {
      if (width > 0 && column + 3 + columns > width) {
        line += '\n';
        line.append(2 + fact_label_columns, ' ');
        column = 2 + fact_label_columns;
      } else {
        line += style(Paint::faint, " · ");
        column += 3;
      }
    }
    line += text;
    column += columns;
    is_first = false;
  }
  return is_first ? std::string() : line + "\n";
}

}  // namespace modelutils
