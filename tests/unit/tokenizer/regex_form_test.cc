#include "tokenizer/regex_form.h"

#include <gtest/gtest.h>

namespace modelutils {
namespace {

using tokenizer::regex_form;

TEST(RegexForm, Classes) {
  EXPECT_EQ(regex_form("[\r\n]\t"), R"([\n\r]\t)");
  EXPECT_EQ(regex_form("[cab]"), "[a-c]");
  EXPECT_EQ(regex_form("[x]"), "x");
  EXPECT_EQ(regex_form("[.]"), "\\.");
  EXPECT_EQ(regex_form(R"([^\s])"), R"(\S)");
  EXPECT_EQ(regex_form(R"([^\P{L}])"), R"(\p{L})");
  EXPECT_EQ(regex_form(R"([^\s\p{N}\p{L}])"), R"([^\p{L}\p{N}\s])");
  EXPECT_EQ(regex_form(R"([\p{Lu}\p{Ll}\p{Lt}\p{Lm}\p{Lo}\p{M}])"), R"([\p{L}\p{M}])");
  EXPECT_EQ(regex_form(R"([a[bc]\d])"), R"([a-c\p{Nd}])");
  EXPECT_EQ(regex_form(R"([\p{L}&&[^\p{Han}]])"), R"([\p{L}&&\P{Han}])");
  EXPECT_EQ(regex_form(R"([\p{L}&&[^\p{Script=Han}]])"), R"([\p{L}&&\P{Han}])");
  EXPECT_EQ(regex_form(R"([\u4e00-\x{9fa5}])"), "[一-龥]");
  EXPECT_EQ(regex_form(R"([*+,-]++)"), R"([*-\-]+)") << "inside a class they are characters";
  EXPECT_EQ(regex_form("[a-]"), R"([\-a])");
}

TEST(RegexForm, Quantifiers) {
  EXPECT_EQ(regex_form("a?+b++c*+"), "a?b+c*");
  EXPECT_EQ(regex_form("a{0,1}b{1,}c{0,}d{1}e{2,3}f{1,1}"), "a?b+c*de{2,3}f");
  EXPECT_EQ(regex_form("a{1,3}+"), "a+") << "Oniguruma repeats it";
  EXPECT_EQ(regex_form("a{2,3}+"), "a{2,3}+");
  EXPECT_EQ(regex_form("a+?"), "a+?") << "a lazy one stays";
  EXPECT_EQ(regex_form("\\++"), "\\++") << "an escaped plus that is repeated";
}

TEST(RegexForm, Groups) {
  EXPECT_EQ(regex_form("(?:ab)c"), "abc");
  EXPECT_EQ(regex_form("(ab)+c"), "(?:ab)+c");
  EXPECT_EQ(regex_form("(?:a)+"), "a+");
  EXPECT_EQ(regex_form("x(?:ab|c)"), "x(?:ab|c)");
  EXPECT_EQ(regex_form("(?i:Ab1)"), "[Aa][Bb]1");
  EXPECT_EQ(regex_form("(?=a)(?!b)(?<=c)(?<!d)"), "(?=a)(?!b)(?<=c)(?<!d)");
}

TEST(RegexForm, Contractions) {
  EXPECT_EQ(regex_form("(?i:'s|'t|'re|'ve|'m|'ll|'d)|x"), "<C>|x");
  EXPECT_EQ(regex_form("(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|x"), "<C>|x");
  EXPECT_EQ(regex_form("'(?i:[sdmt]|ll|ve|re)|x"), "<C>|x");
  EXPECT_EQ(regex_form("'s|'t|'re|'ve|'m|'ll|'d|x"), "<c>|x");
  EXPECT_EQ(regex_form("x(?i:'s|'t|'re|'ve|'m|'ll|'d)?"), "x<C>?");
  EXPECT_EQ(regex_form("'s|'t|'re|'ve|'m|'ll|x"), "'s|'t|'re|'ve|'m|'ll|x") << "one is missing";
}

TEST(RegexForm, SpacesAndLines) {
  EXPECT_EQ(regex_form(R"(a|\s*[\r\n]+|\s+(?!\S)|\s+)"), R"(a|\s*[\n\r]|\s+(?!\S)|\s+)");
  EXPECT_EQ(regex_form(R"(a|\s++$|\s+(?!\S)|\s)"), R"(a|\s+(?!\S)|\s+)");
  EXPECT_EQ(regex_form(R"(\s|a)"), R"(\s|a)");
}

TEST(RegexForm, WhatIsNotUnderstoodStaysAsItIs) {
  for (const char* odd : {"(?<name>a)", "a\\", "[a", "(a", "a)", "*a", "\\1", "[]a]", "\\p{L", "\\x{110000}"}) {
    EXPECT_EQ(regex_form(odd), odd);
  }
  EXPECT_EQ(regex_form("(a\n"), "(a\\n");
  const std::string deep = std::string(5000, '(') + "a" + std::string(5000, ')');
  EXPECT_EQ(regex_form(deep), deep);
  const std::string nested = std::string(5000, '[') + "a" + std::string(5000, ']');
  EXPECT_EQ(regex_form(nested), nested);
  const std::string huge(100000, 'a');
  EXPECT_EQ(regex_form(huge), huge);
}

TEST(RegexForm, OfAText) {
  EXPECT_EQ(tokenizer::regex_of_text("a.b\n"), "a\\.b\\n");
}

}  // namespace
}  // namespace modelutils
