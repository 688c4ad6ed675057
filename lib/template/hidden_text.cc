#include "template/hidden_text.h"

#include <fmt/core.h>

#include "base/escape.h"
#include "template/source.h"

namespace modelutils::jinja {

bool is_hidden(char32_t c, char32_t before) {
  if (c >= 0xFE00 && c <= 0xFE0F) return false;  // variation selectors, common with emoji
  if (c == 0x200C || c == 0x200D) return before < 0x300 || is_invisible(before);  // joiners in emoji, some scripts
  if (c < 0x20) return c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\v';
  return c == 0x7F || is_invisible(c);
}

std::string hidden_message(char32_t c) {
  return fmt::format("the chat template contains the invisible character U+{:04X}", static_cast<u32>(c));
}

std::vector<Remark> hidden_text(std::string_view source) {
  std::vector<Remark> remarks;
  find_hidden(source, [&](std::size_t at, char32_t c) {
    remarks.push_back({"template-hidden", position(source, at).text() + ": " + hidden_message(c), at});
    return false;
  });
  return remarks;
}

}  // namespace modelutils::jinja
