// What changed in a text, word by word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/style.h"

namespace modelutils {

/// A run of words that both texts have, or only one of them. A view into it.
struct WordRun {
  enum class Kind : u8 { same, removed, added };
  Kind kind = Kind::same;
  std::string_view text;
};

/// The fewest words removed and added that make `b` of `a`, in their order; before an added run the removed one that it
/// replaces. Words are runs of letters and digits, runs of blanks, and every other character. Where the texts differ in
/// more than some thousand words, all between the first and the last difference is one change.
std::vector<WordRun> word_diff(std::string_view a, std::string_view b);

/// The same as one line for people, in the manner of git: "… some [-old-]{+new+} words …", or in colours without the
/// brackets. Escaped; of what did not change only some words next to a change, of long runs the beginning.
std::string word_diff_text(std::string_view a, std::string_view b, const Style& style);

}  // namespace modelutils
