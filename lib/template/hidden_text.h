// Characters that a reader does not see, or that change what he sees.
#pragma once

#include <algorithm>
#include <cstring>
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

/// Are all eight bytes printable ASCII? (Each subtraction sets the high bit of a byte that is a hit; it may set others
/// only by a borrow, which comes from a hit, or in bytes above ASCII, which are hits.)
inline bool are_printable_eight(const char* at) {
  constexpr u64 ones = 0x0101010101010101, highs = 0x8080808080808080;
  u64 word;
  std::memcpy(&word, at, sizeof word);
  return ((word | (word - ones * 0x20) | ((word ^ (ones * 0x7F)) - ones)) & highs) == 0;
}

/// Calls `take` with the offset and the value of each hidden character until it returns false.
template <typename Take>
void find_hidden(std::string_view text, Take&& take) {
  char32_t before = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (i + 8 <= text.size() && are_printable_eight(text.data() + i)) {  // most of a template
      i += 8;
      before = static_cast<char32_t>(text[i - 1]);
      continue;
    }
    if ((text[i] >= 0x20 && text[i] < 0x7F) || text[i] == '\n') {  // and what is next to a line's end
      before = static_cast<char32_t>(text[i++]);
      continue;
    }
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
