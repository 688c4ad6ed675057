#include "tokenizer/merges_text.h"

#include <fmt/core.h>

#include "base/utf8.h"

namespace modelutils::tokenizer {

Result<std::vector<Merge>> parse_merges_text(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  if (!is_utf8(text)) return input_error("hf-tok-merge", "merges.txt is not UTF-8");
  std::vector<Merge> merges;
  u64 line_number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++line_number;
    if (line_number == 1 && line.starts_with('#')) continue;
    const std::size_t left = line.find_first_not_of(blanks);
    if (left == std::string_view::npos) continue;
    const std::size_t left_end = line.find_first_of(blanks, left);
    const std::size_t right = left_end == std::string_view::npos ? left_end : line.find_first_not_of(blanks, left_end);
    const std::size_t right_end =
        right == std::string_view::npos ? right : std::min(line.find_first_of(blanks, right), line.size());
    if (right == std::string_view::npos || line.find_first_not_of(blanks, right_end) != std::string_view::npos) {
      return input_error("hf-tok-merge", "must have exactly two parts", fmt::format("merges.txt line {}", line_number));
    }
    merges.push_back({line.substr(left, left_end - left), line.substr(right, right_end - right)});
  }
  return merges;
}

}  // namespace modelutils::tokenizer
