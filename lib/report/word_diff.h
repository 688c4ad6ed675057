// Word-by-word differences between two texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/style.h"

namespace modelutils {

/// A run of words that is in both texts or only in one of them. A view into the text.
struct WordRun {
  enum class Kind : u8 { same, removed, added };
  Kind kind = Kind::same;
  std::string_view text;
};

/// Returns the shortest edit that turns `a` into `b`, in order; a removed run comes before the added run that replaces
/// it. Words are runs of letters and digits, runs of blanks, and every other character. If the texts differ in more
/// than a few thousand words, everything between the first and the last difference is one change.
std::vector<WordRun> word_diff(std::string_view a, std::string_view b);

/// Returns word_diff() as one line for people, in the manner of git: "… some [-old-]{+new+} words …", or in colours
/// without the brackets. Escaped. Shows only the words next to a change and only the beginning of long changes.
std::string word_diff_text(std::string_view a, std::string_view b, const Style& style);

}  // namespace modelutils
