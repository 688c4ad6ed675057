#include "model/adapter/adapter.h"

#include <gtest/gtest.h>

#include <string>

namespace modelutils::adapter {

namespace {

bool names(std::string_view key, std::string_view module) {
  u64 budget = u64{1} << 20;
  const auto pattern = ModulePattern::parse(key);
  return pattern && pattern->names(module, budget);
}

// Expected values: Python 3.11's re.match(r"(.*\.)?(KEY)$", module).
TEST(ModulePattern, NamesWhatPythonMatches) {
  constexpr std::string_view module = "model.layers.12.mlp.down_proj";
  for (const std::string_view key : {"down_proj",
                                     "mlp.down_proj",
                                     "d.wn_proj",
                                     "12.mlp.*",
                                     R"(layers\.\d+\.mlp\.down_proj)",
                                     "model.layers.12.mlp.down_proj",
                                     ".*_proj",
                                     R"(1\d.mlp.down_proj)",
                                     "^model.layers.*",
                                     "^.*down_proj",
                                     "layers.*",
                                     "(up|down)_proj",
                                     "(?:up|down)_proj",
                                     "(?P<which>up|down)_proj",
                                     "up|down_proj",
                                     "up_proj|down_proj",
                                     "mlp.(up|down)_proj|o_proj",
                                     "[du]own_proj",
                                     "[^u]own_proj",
                                     "[a-d]own_proj",
                                     "[]d]own_proj",
                                     "[d-]own_proj",
                                     R"([\w.]+proj)",
                                     "(model|layers).12.mlp.down_proj",
                                     "layers.(1|12).mlp.down_proj",
                                     R"(layers\.(1[0-9]|2[0-3])\..*)",
                                     "layers.1{1}2.mlp.down_proj",
                                     "layers.[0-9]{2}.mlp.down_proj",
                                     "layers.[0-9]{,2}.mlp.down_proj",
                                     "d?own_proj",
                                     "x?down_proj",
                                     "d*own_proj",
                                     "do*?wn_proj",
                                     "(do)+wn_proj",
                                     R"(\bdown_proj)",
                                     "down_proj$",
                                     R"(down_proj\Z)",
                                     R"(\Amodel.*)",
                                     R"(\x64own_proj)",
                                     R"(down\_proj)",
                                     "down_proj|",
                                     "(down_proj)?",
                                     "..*",
                                     R"(\S+)"}) {
    EXPECT_TRUE(names(key, module)) << key;
  }
  for (const std::string_view key :
       {"own_proj", "down_pro", "mlp", "layers.1.mlp.down_proj", "^down_proj", "", R"(2\.mlp\.down_proj)",
        R"(layers\.\d\.mlp\.down_proj)", "^layers.*", "(up|down)", R"(layers\.(0|1|2)\..*)",
        "layers.[0-9]{3}.mlp.down_proj", R"(\Bdown_proj)", R"(down\Bproj)", "down{_proj", ".", R"(\s*)"}) {
    EXPECT_TRUE(ModulePattern::parse(key)) << key;
    EXPECT_FALSE(names(key, module)) << key;
  }
}

// Python rejects all of these, too.
TEST(ModulePattern, RefusesWhatIsNoExpression) {
  for (const std::string_view key : {"a**", "*", R"(a\)", "(a", "a)", "[a", "[z-a]", "a{2}{3}", "a{3,2}", "+a", "^*",
                                     "(?P<n>a)(?P<n>b)", R"(\q)", R"([\d-z])", "?", "(*)", "a|*"}) {
    EXPECT_FALSE(ModulePattern::parse(key)) << key;
  }
}

// Python accepts these, or interprets the parenthesis as one of those around the key.
TEST(ModulePattern, RefusesWhatItDoesNotUnderstand) {
  for (const std::string_view key :
       {"(a)\\1", "(?=a)a", "(?<!a)b", "(?i:a)", "(?i)a", "a++", "a)|(b", "\\u0071", "\xc3\xa9"}) {
    EXPECT_FALSE(ModulePattern::parse(key)) << key;
  }
}

// Backtracking would take forever, and the last ones would need gigabytes when expanded.
TEST(ModulePattern, TakesTimeAndMemoryInProportion) {
  std::string key;
  for (int i = 0; i < 40; ++i) key += "(a*)*.*a";
  EXPECT_FALSE(names(key + "b", std::string(5000, 'a')));
  EXPECT_FALSE(ModulePattern::parse("((((a{999}){999}){999}){999}){999}"));
  EXPECT_FALSE(ModulePattern::parse("((((a?){999}){999}){999}){999}"));
  EXPECT_TRUE(ModulePattern::parse("((((){999}){999}){999}){999}"));
  EXPECT_FALSE(ModulePattern::parse(std::string(5000, 'a')));
  EXPECT_FALSE(ModulePattern::parse(std::string(1000, '(')));
}

TEST(ModulePattern, StopsWhenTheBudgetIsUsedUp) {
  const auto pattern = ModulePattern::parse(".*.*.*x");
  u64 budget = 100;
  EXPECT_FALSE(pattern->names(std::string(1000, 'a') + "x", budget));
  EXPECT_EQ(budget, 0U);
}

}  // namespace

}  // namespace modelutils::adapter
