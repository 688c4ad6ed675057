#include "arch/adapter_facts.h"

#include <gtest/gtest.h>

#include "arch/families.h"

namespace modelutils::arch {
namespace {

TEST(AdapterFacts, FactorsThatAreAppliedAfterThePair) {
  const Family& llama = *find_gguf_family("llama", false);
  const Family& glm4 = *find_gguf_family("glm4", false);
  for (const std::string_view row :
       {"ffn_up", "ffn_gate", "ffn_down", "ffn_up_shexp", "ffn_gate_shexp", "@ffn_down_shexp"}) {
    EXPECT_FALSE(scaled_pair_is_lost(llama, row, TensorType::BF16).empty()) << row;
    EXPECT_FALSE(scaled_pair_is_lost(llama, row, TensorType::NVFP4).empty()) << row;
    EXPECT_FALSE(scaled_pair_aborts(row, TensorType::BF16)) << row;
    EXPECT_TRUE(scaled_pair_aborts(row, TensorType::NVFP4)) << row;
  }
  for (const std::string_view row : {"attn_q", "attn_output", "ffn_down_exps", "ffn_gate_up_exps", "output"}) {
    EXPECT_TRUE(scaled_pair_is_lost(llama, row, TensorType::NVFP4).empty()) << row;
    EXPECT_FALSE(scaled_pair_aborts(row, TensorType::NVFP4)) << row;
  }
  EXPECT_FALSE(scaled_pair_is_lost(glm4, "attn_output", TensorType::NVFP4).empty());
  EXPECT_TRUE(scaled_pair_is_lost(glm4, "attn_q", TensorType::NVFP4).empty());
}

TEST(AdapterFacts, FactorsOfWeightsAndTensorsOfTheModel) {
  const Names llama(*find_gguf_family("llama", false));
  EXPECT_EQ(weight_of_scale(llama, "blk.1.ffn_down.scale"), "blk.1.ffn_down.weight");
  EXPECT_FALSE(weight_of_scale(llama, "blk.1.ffn_down.input_scale"));
  EXPECT_FALSE(weight_of_scale(llama, "blk.1.ffn_down.weight"));
  const Names gemma4(*find_gguf_family("gemma4", true));
  EXPECT_FALSE(weight_of_scale(gemma4, "blk.1.ffn_down_exps.scale"));
  EXPECT_EQ(weight_of_scale(gemma4, "blk.1.ffn_down.scale"), "blk.1.ffn_down.weight");
}

}  // namespace
}  // namespace modelutils::arch
