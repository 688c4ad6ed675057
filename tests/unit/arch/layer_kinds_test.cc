#include "arch/layer_kinds.h"

#include <gtest/gtest.h>

#include "formats/hf/config.h"

namespace modelutils::arch {
namespace {

using Counts = std::vector<u64>;
using Kinds = std::vector<std::string>;

hf::Config config(const char* text) {
  return *hf::parse_config(text, "config.json");
}

TEST(LayerKinds, CountsAreAListOfWholeNumbers) {
  EXPECT_EQ(counts_of_layers(config(R"({"widths": [1, 2, 2]})"), "widths"), (Counts{1, 2, 2}));
  EXPECT_EQ(counts_of_layers(config(R"({"widths": [1, -2]})"), "widths"), Counts());
  EXPECT_EQ(counts_of_layers(config(R"({"widths": [1, "2"]})"), "widths"), Counts());
  EXPECT_EQ(counts_of_layers(config(R"({"widths": 3})"), "widths"), Counts());
  EXPECT_EQ(counts_of_layers(config("{}"), "widths"), Counts());
}

TEST(LayerKinds, KindsAreWordsOfAListOrLettersOfAText) {
  EXPECT_EQ(kinds_of_layers(config(R"({"pattern": "M-*"})"), "pattern|types"), (Kinds{"M", "-", "*"}));
  EXPECT_EQ(kinds_of_layers(config(R"({"types": ["mamba", "attention"]})"), "pattern|types"),
            (Kinds{"mamba", "attention"}));
  EXPECT_EQ(kinds_of_layers(config(R"({"types": ["mamba", 1]})"), "pattern|types"), Kinds());
  EXPECT_EQ(kinds_of_layers(config("{}"), "pattern|types"), Kinds());
}

TEST(LayerKinds, AValueIsGivenToTheLayersOfTheWantedKinds) {
  EXPECT_EQ(in_layers({"M", "*", "-", "attention"}, {"*", "attention"}, 8), (Counts{0, 8, 0, 8}));
  EXPECT_EQ(in_layers({}, {"*"}, 8), Counts());
}

}  // namespace
}  // namespace modelutils::arch
