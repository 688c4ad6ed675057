#include "edit/safetensors/module_patterns.h"

#include <gtest/gtest.h>

namespace modelutils::to_safetensors {
namespace {

using Patterns = std::vector<std::string>;

// A model of 32 layers without layer 3: 4 becomes 3, 30 becomes 29.
std::optional<Patterns> renumbered(const std::string& pattern) {
  LayerNumbers layers;
  layers.words = {"layers"};
  for (u64 layer = 0; layer < 32; ++layer) layers.present.insert(layer);
  layers.number = [](u64 layer) { return layer == 3 ? std::nullopt : std::optional(layer > 3 ? layer - 1 : layer); };
  return renumbered_pattern(pattern, layers);
}

TEST(ModulePatterns, NamesFollowTheirLayer) {
  EXPECT_EQ(renumbered("model.layers.4.mlp.gate"), Patterns{"model.layers.3.mlp.gate"});
  EXPECT_EQ(renumbered("model.layers.3"), Patterns{});
  EXPECT_EQ(renumbered("model.layers.30.self_attn*"), Patterns{"model.layers.29.self_attn*"});
  EXPECT_EQ(renumbered("*.layers.31.mlp.*"), Patterns{"*.layers.30.mlp.*"});
  EXPECT_EQ(renumbered("re:.*\\.layers\\.31\\.mlp\\..*"), Patterns{"re:.*\\.layers\\.30\\.mlp\\..*"});
  EXPECT_EQ(renumbered("re:model.layers.5$"), Patterns{"re:model.layers.4$"});
  EXPECT_EQ(renumbered("-:model\\.layers\\.3\\..*"), Patterns{});
}

TEST(ModulePatterns, OthersStay) {
  for (const char* const pattern :
       {"lm_head", "model.layers.*.mlp.gate", "re:.*lm_head", "re:.*layers\\.\\d+\\.mlp\\.gate$", "Linear",
        "re:model\\.layers\\.(\\d+)\\.x", "re:.*mlp.experts.3.w1", "my_layers.3", "model.layers.", ""}) {
    EXPECT_EQ(renumbered(pattern), Patterns{pattern});
  }
}

// A star may stand for more digits.
TEST(ModulePatterns, StarsAfterDigitsAreListed) {
  EXPECT_EQ(renumbered("model.layers.3*"), (Patterns{"model.layers.29.*", "model.layers.30.*"}));
  EXPECT_EQ(renumbered("layers.31*.mlp"), (Patterns{"layers.30.mlp", "layers.30.*.mlp"}));
  EXPECT_EQ(renumbered("model.layers.0*"), Patterns{"model.layers.0*"});
}

TEST(ModulePatterns, UnclearOnesAreRefused) {
  for (const char* const pattern :
       {"re:.*layers\\.[0-3]\\..*", "re:.*layers.3.*", "re:.*layers\\.(3|4)\\.", "model.layers.[0-9].mlp",
        "model.layers.?.mlp", "re:.*layers\\.1[0-9]\\.", "model.layers.1?", "model.layers.9999999999.x"}) {
    EXPECT_EQ(renumbered(pattern), std::nullopt) << pattern;
  }
}

}  // namespace
}  // namespace modelutils::to_safetensors
