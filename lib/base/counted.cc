#include "base/counted.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace modelutils {

std::string thousands(u64 number) {
  char text[32];
  char* begin = std::end(text);
  for (int digits = 0; digits == 0 || number > 0; ++digits, number /= 10) {
    if (digits > 0 && digits % 3 == 0) *--begin = ',';
    *--begin = static_cast<char>('0' + number % 10);
  }
  return {begin, std::end(text)};
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
