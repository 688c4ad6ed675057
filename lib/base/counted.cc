#include "base/counted.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace modelutils {

void append_thousands(std::string& out, u64 number) {
  char text[32];
  char* begin = std::end(text);
  const auto put = [&](u64 digit) { *--begin = static_cast<char>('0' + digit); };
  for (; number >= 1000; number /= 1000) {
    const u64 group = number % 1000;
    put(group % 10);
    put(group / 10 % 10);
    put(group / 100);
    *--begin = ',';
  }
  do {
    put(number % 10);
    number /= 10;
  } while (number > 0);
  out.append(begin, static_cast<std::size_t>(std::end(text) - begin));
}

std::string thousands(u64 number) {
  std::string out;
  append_thousands(out, number);
  return out;
}

std::string counted(u64 number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string counted(u64 number, std::string_view noun, std::string_view plural) {
  return fmt::format("{} {}", number, number == 1 ? noun : plural);
}

std::string incomplete_text(u64 have, u64 needed, bool at_least) {
  const double share = 100 * (static_cast<double>(have) / static_cast<double>(needed));
  const int percent = std::min(static_cast<int>(share + 0.5), 99);  // never 100 %: bytes are missing
  return fmt::format("incomplete: {} of {}{} bytes ({} %); download it again", thousands(have),
                     at_least ? "at least " : "", thousands(needed),
                     percent < 1 ? "less than 1" : std::to_string(percent));
}

}  // namespace modelutils
