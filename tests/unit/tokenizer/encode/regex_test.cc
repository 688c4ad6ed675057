// Regular expressions of pre-tokenizers. Expected values: the results of std::regex.
#include "tokenizer/encode/regex.h"

#include <gtest/gtest.h>

#include "tokenizer/encode/characters.h"

using namespace modelutils;
using namespace modelutils::tokenizer;

namespace {

using Lengths = std::vector<u32>;

Lengths regex_cut(std::string_view regex, std::string_view text) {
  const auto made = EncodeRegex::compile(regex);
  if (!made) return {9999};
  const std::vector<char32_t> points = code_points(text);
  const Lengths whole = {static_cast<u32>(points.size())};
  return made->cut(RegexText(points), whole);
}

}  // namespace

TEST(EncodeRegex, TheEarlierAlternativeCounts) {
  EXPECT_EQ(regex_cut("a|ab|b", "ab"), (Lengths{1, 1}));
  EXPECT_EQ(regex_cut("ab|a|b", "ab"), (Lengths{2}));
}

TEST(EncodeRegex, RepetitionsAreGreedyAndGiveBack) {
  EXPECT_EQ(regex_cut(R"(\s+(?!\S)|\s+)", "   x"), (Lengths{2, 1, 1}));
  EXPECT_EQ(regex_cut(R"(\s*[\r\n]+)", "  \n \n  x"), (Lengths{5, 3}));
  EXPECT_EQ(regex_cut("a{2,3}", "aaaaa"), (Lengths{3, 2}));
  EXPECT_EQ(regex_cut("a{2}b?", "aaab"), (Lengths{2, 2}));
}

TEST(EncodeRegex, WhatFailedOnceIsTriedAgainBehindAMatch) {
  // The first alternative's loop fails at the end; that must not exclude a later start.
  EXPECT_EQ(regex_cut("(?:ab)+c|a|b", "ababababc"), (Lengths{9}));
  EXPECT_EQ(regex_cut("(?:ab)+c|a|b", "ababxabc"), (Lengths{1, 1, 1, 1, 1, 3}));
}

TEST(EncodeRegex, TheEndOfAPiece) {
  EXPECT_EQ(regex_cut(R"(\s+$)", "a  b  "), (Lengths{4, 2}));
}

TEST(EncodeRegex, ClassesStandForCharactersOutsideAscii) {
  EXPECT_EQ(regex_cut(R"(\p{L}+)", "aé中1"), (Lengths{3, 1}));
  EXPECT_EQ(regex_cut(R"(\p{N}+)", "a1٣²"), (Lengths{1, 3}));
  EXPECT_EQ(regex_cut(R"(\p{Lu}+)", "aB"), (Lengths{2})) << "case is not seen";
  EXPECT_EQ(regex_cut("[一-龥]+", "a一龥b"), (Lengths{1, 2, 1}));
}

TEST(EncodeRegex, WhatMatchesTheEmptyTextIsRefused) {
  EXPECT_EQ(regex_cut("a*", "a"), Lengths{9999});
  EXPECT_EQ(regex_cut("(?:a?)+", "a"), Lengths{9999});
  EXPECT_EQ(regex_cut("a(?=b", "ab"), Lengths{9999});
  EXPECT_EQ(regex_cut(R"(\w)", "a"), Lengths{9999});
}

TEST(EncodeRegex, NestedRepetitionsOfAHostileTextEnd) {
  // 2^10,000 possibilities for an engine without memoisation.
  const std::string text(20000, 'a');
  EXPECT_EQ(regex_cut("(?:a|a)+b|a", text).size(), text.size());
}
