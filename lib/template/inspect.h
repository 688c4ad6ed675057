// Static checks for code and hidden text that have no place in a chat template.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "template/template.h"

namespace modelutils::jinja {

/// A suspicious construct in a template, or a fact that a loader should know.
struct Remark {
  std::string_view code;   ///< "template-…", docs/findings.md
  std::string message;     ///< starts with line and column
  std::size_t offset = 0;  ///< byte in the original source
  bool is_note = false;    ///< also occurs in reputable published templates
};

/// Reports, without rendering: attributes that escape the sandbox, also if their names are concatenated from pieces;
/// loading other templates; calls of functions that no program provides; hidden text in escapes; exploding sizes and
/// loops; text that is unreachable or assigned to an unused name. Linear in the template's size. `source` is the text
/// from which `parsed` was parsed.
std::vector<Remark> inspect(const Template& parsed, std::string_view source);

/// True for invisible and control characters, except variation selectors and joiners in emoji and in scripts with
/// joined letters. `before` is the preceding character.
bool is_hidden(char32_t c, char32_t before);
std::string hidden_message(char32_t c);

/// True if all eight bytes are printable ASCII. (Each subtraction sets the high bit of a byte outside the range. Other
/// high bits can be set only by a borrow, which requires such a byte, or in bytes above ASCII, which are outside the
/// range.)
inline bool are_printable_eight(const char* at) {
  constexpr u64 ones = 0x0101010101010101, highs = 0x8080808080808080;
  u64 word;
  std::memcpy(&word, at, sizeof word);
  return ((word | (word - ones * 0x20) | ((word ^ (ones * 0x7F)) - ones)) & highs) == 0;
}

/// Calls take(offset, character) for each hidden character until it returns false.
template <typename Take>
void find_hidden(std::string_view text, Take&& take) {
  char32_t before = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (i + 8 <= text.size() && are_printable_eight(text.data() + i)) {  // the common case
      i += 8;
      before = static_cast<char32_t>(text[i - 1]);
      continue;
    }
    if ((text[i] >= 0x20 && text[i] < 0x7F) || text[i] == '\n') {  // also the common characters around a line end
      before = static_cast<char32_t>(text[i++]);
      continue;
    }
    const CodePoint point = decode_utf8(text.substr(i));
    if (point.valid && is_hidden(point.value, before) && !take(i, point.value)) return;
    // A variation selector between an emoji and a joiner does not count as the preceding character.
    if (point.value < 0xFE00 || point.value > 0xFE0F) before = point.valid ? point.value : 0;
    i += std::max<std::size_t>(point.size, 1);
  }
}

/// Reports the first hidden character, also for sources that do not parse.
std::vector<Remark> hidden_text(std::string_view source);

}  // namespace modelutils::jinja
