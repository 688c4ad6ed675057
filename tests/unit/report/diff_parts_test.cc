#include "report/diff_parts.h"

#include <gtest/gtest.h>

namespace modelutils {

namespace {

std::string marked(std::string_view a, std::string_view b) {
  std::string out;
  for (const WordRun& run : word_diff(a, b)) {
    if (run.kind == WordRun::Kind::same) out += run.text;
    if (run.kind == WordRun::Kind::removed) out += "[" + std::string(run.text) + "]";
    if (run.kind == WordRun::Kind::added) out += "{" + std::string(run.text) + "}";
  }
  return out;
}

TEST(WordDiff, WordsByHand) {
  EXPECT_EQ(marked("one two three", "one 2 three"), "one [two]{2} three");
  EXPECT_EQ(marked("a b c d", "a c d e"), "a [b ]c d{ e}");
  EXPECT_EQ(marked("x.y(z)", "x.y[z]"), "x.y[(]{[}z[)]{]}");
  EXPECT_EQ(marked("", "new"), "{new}");
  EXPECT_EQ(marked("old", ""), "[old]");
  EXPECT_EQ(marked("same", "same"), "same");
  EXPECT_EQ(marked("p q r s", "p s r q"), "p [q]{s} r [s]{q}");
}

TEST(WordDiff, MoreWordsThanATableCanHoldAreOneChange) {
  std::string a = "begin ", b = "begin ";
  for (int i = 0; i < 5000; ++i) a += "x ", b += "y ";
  a += "end";
  b += "end";
  const std::vector<WordRun> runs = word_diff(a, b);
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs.front().text, "begin ");
  EXPECT_EQ(runs.back().text, " end");
}

TEST(WordDiff, TextIsEscapedAndShortened) {
  EXPECT_EQ(word_diff_text("a\033 b", "a\033 c", Style(false)), "a\\u{1b} [-b-]{+c+}");
  const std::string long_text(500, 'w');
  const std::string line =
      word_diff_text(long_text + " old " + long_text, long_text + " new " + long_text, Style(false));
  EXPECT_LT(line.size(), 200u);
  EXPECT_NE(line.find("[-old-]{+new+}"), std::string::npos) << line;
}

TEST(LineDiff, LinesByHand) {
  const auto shown = [](std::string_view a, std::string_view b) {
    std::string out;
    for (const WordRun& run : line_diff(a, b)) {
      out += run.kind == WordRun::Kind::same ? "=" : run.kind == WordRun::Kind::removed ? "-" : "+";
      out += run.text;
    }
    return out;
  };
  EXPECT_EQ(shown("a\nb\nc\n", "a\nx\nc\n"), "=a\n-b\n+x\n=c\n");
  EXPECT_EQ(shown("a\nb", "a\nb\n"), "=a\n-b+b\n");
  EXPECT_EQ(shown("", "a\n"), "+a\n");
  EXPECT_EQ(shown("one word\n", "one word more\n"), "-one word\n+one word more\n");
}

}  // namespace

}  // namespace modelutils
