#include "adapter/module_pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace modelutils::adapter {
namespace {

// Expected values: Python's re.match(r"(.*\.)?(PATTERN)$", name).
TEST(ModulePattern, NamesTheEndOfAModule) {
  constexpr std::string_view name = "model.layers.12.mlp.down_proj";
  for (const std::string_view pattern :
       {"down_proj", "mlp.down_proj", "layers.12.mlp.down_proj", "d.wn_proj", "12.mlp.*",
        R"(layers\.\d+\.mlp\.down_proj)", "model.layers.12.mlp.down_proj", ".*_proj", R"(1\d.mlp.down_proj)",
        "^model.layers.*", "^.*down_proj", "layers.*"}) {
    EXPECT_TRUE(names_module(pattern, name)) << pattern;
  }
  for (const std::string_view pattern : {"own_proj", "down_pro", "mlp", "layers.1.mlp.down_proj", "^down_proj", "",
                                         R"(2\.mlp\.down_proj)", R"(layers\.\d\.mlp\.down_proj)", "^layers.*"}) {
    EXPECT_FALSE(names_module(pattern, name)) << pattern;
  }
}

TEST(ModulePattern, WhatItDoesNotUnderstandIsNone) {
  for (const std::string_view pattern :
       {"(q|k)_proj", "[qk]_proj", "q?_proj", "q{2}", "a**", "*", "a\\", "\\w", "", "a$"}) {
    EXPECT_FALSE(is_module_pattern(pattern)) << pattern;
    EXPECT_FALSE(names_module(pattern, "q_proj")) << pattern;
  }
  EXPECT_TRUE(is_module_pattern("^layers.0.q_proj"));
}

// Backtracking would take forever.
TEST(ModulePattern, TakesTimeInProportion) {
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += ".*a";
  EXPECT_FALSE(names_module(pattern + "b", std::string(5000, 'a')));
}

}  // namespace
}  // namespace modelutils::adapter
