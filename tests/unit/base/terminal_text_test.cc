#include "base/terminal_text.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace modelutils {
namespace {

TEST(TerminalText, CutAtTheEnd) {
  EXPECT_EQ(cut_text("abc", 3), "abc");
  EXPECT_EQ(cut_text("abcd", 3), "ab…");
  EXPECT_EQ(cut_text("世界人", 4), "世…");
  EXPECT_EQ(cut_text("世界", 4), "世界");
  EXPECT_EQ(cut_text("abc", 0), "");
  EXPECT_EQ(display_width(cut_text("世界人民", 6)), 5U);
}

TEST(TerminalText, CutInTheMiddle) {
  EXPECT_EQ(cut_middle("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_middle("abcdef", 5), "ab…ef");
  EXPECT_EQ(cut_middle("abcdef", 4), "ab…f");
  EXPECT_EQ(cut_middle("abcdef", 1), "…");
  EXPECT_EQ(cut_middle("abcdef", 0), "");
  EXPECT_EQ(cut_middle("世界人民", 6), "世…民");
  EXPECT_EQ(cut_middle("ab\u0301cdefg", 5), "ab\u0301…fg");
}

TEST(TerminalText, WrapsAtSpaces) {
  const auto wrapped = [](std::string_view text, std::size_t column, std::size_t indent) {
    std::string out;
    append_wrapped(out, text, column, indent, 10);
    return out;
  };
  EXPECT_EQ(wrapped("one two three", 0, 2), "one two\n  three\n");
  EXPECT_EQ(wrapped("one two", 4, 2), " one\n  two\n");
  EXPECT_EQ(wrapped("26 of 33", 0, 2), "26 of 33\n") << "the first word ends at the indent";
  EXPECT_EQ(wrapped("1 of 33", 0, 4), "1 of 33\n") << "the first word ends before the indent";
}

}  // namespace
}  // namespace modelutils
