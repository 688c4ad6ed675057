// Characters that a reader does not see, or that change what he sees.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "template/remark.h"

namespace modelutils::jinja {

/// Invisible and control characters, but for variation selectors and what joins emoji and letters of scripts that are
/// written joined. `before`: the character before it.
bool is_hidden(char32_t c, char32_t before);
std::string hidden_message(char32_t c);

/// Calls `take` with the offset and the value of each hidden character until it returns false.
template <typename Take>
void find_hidden(std::string_view text, Take&& take) {
  char32_t before = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text.substr(i));
    if (point.valid && is_hidden(point.value, before) && !take(i, point.value)) return;
    // A variation selector does not part an emoji from what joins it.
    if (point.value < 0xFE00 || point.value > 0xFE0F) before = point.valid ? point.value : 0;
    i += std::max<std::size_t>(point.size, 1);
  }
}

/// The first one of a source, whether it parses or not.
std::vector<Remark> hidden_text(std::string_view source);

}  // namespace modelutils::jinja
