#include "report/layer_grid.h"

#include <gtest/gtest.h>

namespace modelutils {

namespace {

TEST(LayerNames, TakesNamesApartAtTheFirstNumber) {
  const auto name = parse_layer_name("blk.12.attn_q.weight");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->prefix, "blk");
  EXPECT_EQ(name->layer, 12U);
  EXPECT_EQ(name->role, "attn_q.weight");

  const auto vision = parse_layer_name("v.enc.blk.3.0.weight");
  ASSERT_TRUE(vision);
  EXPECT_EQ(vision->prefix, "v.enc.blk");
  EXPECT_EQ(vision->layer, 3U);
  EXPECT_EQ(vision->role, "0.weight");
}

TEST(LayerNames, OtherNamesHaveNoLayer) {
  for (const char* name : {"", "token_embd.weight", "blk.x.weight", "blk.5", "blk.5.", ".5.weight", "5.weight",
                           "blk..weight", "blk.9999999999.weight", "blk.-1.weight", "blk.5a.weight", "...."}) {
    EXPECT_FALSE(parse_layer_name(name)) << name;
  }
}

TEST(LayerNames, IndexNumbersInTheOrderOfArrival) {
  LayerIndex index;
  EXPECT_EQ(index.find_or_add("blk", 7), 0U);
  EXPECT_EQ(index.find_or_add("v.blk", 7), 1U);
  EXPECT_EQ(index.find_or_add("blk", 7), 0U);
  EXPECT_EQ(index.size(), 2U);
}

}  // namespace

}  // namespace modelutils
