#include "base/counted.h"

#include <fmt/format.h>

#include <algorithm>

namespace modelutils {

std::string thousands(u64 number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3;) {
    i -= 3;
    text.insert(i, 1, ',');
  }
  return text;
}

std::string counted(u64 number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string counted(u64 number, std::string_view noun, std::string_view plural) {
  return fmt::format("{} {}", number, number == 1 ? noun : plural);
}

std::string incomplete_text(u64 have, u64 needed, bool at_least) {
  const double share = 100 * (static_cast<double>(have) / static_cast<double>(needed));
  const int percent = std::min(static_cast<int>(share + 0.5), 99);  // never 100: something is missing
  return fmt::format("incomplete: {} of {}{} bytes ({} %); download it again", thousands(have),
                     at_least ? "at least " : "", thousands(needed),
                     percent < 1 ? "less than 1" : std::to_string(percent));
}

}  // namespace modelutils
