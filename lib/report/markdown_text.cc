#include "report/markdown_text.h"

#include <algorithm>

namespace modelutils {

namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool ends_with_www(std::string_view text) {
  return text.size() >= 3 && std::ranges::all_of(text.substr(text.size() - 3), [](char c) { return (c | 32) == 'w'; });
}

// True if GitHub would create a link at this position: www.x, https://x, a@b, @name, #12.
bool is_in_link(std::string_view before, std::string_view from) {
  const auto next = [&](std::size_t i) { return i < from.size() ? from[i] : ' '; };
  switch (from.front()) {
    case '.': return ends_with_www(before);
    case ':': return next(1) == '/' && next(2) == '/';
    case '@': return is_letter_or_digit(next(1));
    case '#': return next(1) >= '0' && next(1) <= '9';
    default: return false;
  }
}

}  // namespace

// Some renderers look for links after they have replaced escapes and entities. Only a comment breaks up such text.
std::string markdown_text(std::string_view printable, std::string_view marks) {
  constexpr std::string_view nothing = "<!-- -->";
  std::string out;
  for (std::size_t i = 0; i < printable.size(); ++i) {
    const char c = printable[i];
    const bool is_link = is_in_link(printable.substr(0, i), printable.substr(i));
    const bool parts_behind = c == '@' || c == '#';
    if (is_link && !parts_behind) out += nothing;
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      default:
        if (marks.find(c) != marks.npos) out += '\\';
        out += c;
    }
    if (is_link && parts_behind) out += nothing;
  }
  return out;
}

}  // namespace modelutils
