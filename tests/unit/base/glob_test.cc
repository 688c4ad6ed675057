#include "base/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace modelutils {
namespace {

TEST(Glob, Patterns) {
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("*", "a.b/c"));
  EXPECT_TRUE(glob_match("blk.*.attn_q.weight", "blk.12.attn_q.weight"));
  EXPECT_FALSE(glob_match("blk.*.attn_q.weight", "blk.12.attn_k.weight"));
  EXPECT_TRUE(glob_match("blk.?.x", "blk.7.x"));
  EXPECT_FALSE(glob_match("blk.?.x", "blk.17.x"));
  EXPECT_FALSE(glob_match("?", ""));
  EXPECT_TRUE(glob_match("a*b*c", "aXXbYYbc"));
  EXPECT_FALSE(glob_match("a*b*c", "aXXbYY"));
  EXPECT_TRUE(glob_match("**", "x"));
  EXPECT_FALSE(glob_match("Key", "key"));
}

TEST(Glob, Classes) {
  EXPECT_TRUE(glob_match("[a-c]x", "bx"));
  EXPECT_FALSE(glob_match("[a-c]x", "dx"));
  EXPECT_TRUE(glob_match("[!a-c]x", "dx"));
  EXPECT_TRUE(glob_match("[^a-c]x", "dx"));
  EXPECT_FALSE(glob_match("[!a-c]x", "bx"));
  EXPECT_TRUE(glob_match("[]]", "]")) << "a bracket first stands for itself";
  EXPECT_TRUE(glob_match("[a-]", "-"));
  EXPECT_TRUE(glob_match("[0-9][0-9]", "42"));
  EXPECT_TRUE(glob_match("[abc", "[abc")) << "never closed";
  EXPECT_FALSE(glob_match("[a]", ""));
  EXPECT_TRUE(glob_match("[\xc0-\xff]", "\xe9"));
}

TEST(Glob, Escapes) {
  EXPECT_TRUE(glob_match("a\\*b", "a*b"));
  EXPECT_FALSE(glob_match("a\\*b", "axb"));
  EXPECT_TRUE(glob_match("\\?", "?"));
  EXPECT_TRUE(glob_match("end\\", "end\\"));
}

TEST(Glob, HostilePatternsEnd) {
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += "a*";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(20000, 'a')));  // backtracking would never finish
}

}  // namespace
}  // namespace modelutils
