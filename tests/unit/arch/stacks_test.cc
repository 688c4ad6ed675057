// Names in an encoder and a decoder. Expected values are gguf-py's (tensor_mapping.py) and transformers' for T5.
#include "arch/stacks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "arch/families.h"
#include "arch/loader_forms.h"
#include "arch/names.h"

namespace modelutils::arch {
namespace {

const Family& t5() {
  return *find_gguf_family("t5");
}

TEST(Stacks, NamesInBothDirections) {
  const Names names(t5());
  for (const auto& [directory, gguf] :
       {std::pair<std::string, std::string>{"shared.weight", "token_embd.weight"},
        {"encoder.block.3.layer.0.SelfAttention.q.weight", "enc.blk.3.attn_q.weight"},
        {"decoder.block.3.layer.0.SelfAttention.q.weight", "dec.blk.3.attn_q.weight"},
        {"decoder.block.0.layer.1.layer_norm.weight", "dec.blk.0.cross_attn_norm.weight"},
        {"encoder.block.0.layer.1.layer_norm.weight", "enc.blk.0.ffn_norm.weight"},
        {"encoder.block.7.layer.0.SelfAttention.relative_attention_bias.weight", "enc.blk.7.attn_rel_b.weight"},
        {"decoder.final_layer_norm.weight", "dec.output_norm.weight"}}) {
    EXPECT_EQ(names.gguf_tensor(directory), gguf);
    EXPECT_EQ(names.source_tensor(gguf), directory);
  }
  EXPECT_FALSE(names.match("encoder.block.0.layer.1.EncDecAttention.q.weight")) << "only decoders have it";
  for (const std::string_view name : {"enc.blk.attn_q.weight", "enc.blk.x.attn_q.weight", "blk.0.attn_q.weight", "enc.",
                                      "enc.blk.", "abc.blk.0.attn_q.weight", "enc.attn_q.weight"}) {
    EXPECT_EQ(names.find_gguf(name).row, nullptr) << name;
  }
}

TEST(Stacks, OtherFamiliesHaveNone) {
  const Family& llama = *find_gguf_family("llama");
  EXPECT_FALSE(has_stacks(llama));
  EXPECT_TRUE(has_stacks(t5()));
  EXPECT_EQ(Names(llama).find_gguf("enc.blk.0.attn_q.weight").row, nullptr);
  Sizes sizes;
  sizes.set("L", 2);
  sizes.set("Ldec", 9);
  EXPECT_EQ(layers_of_stacks(llama, sizes), 2U);
  EXPECT_EQ(layers_of_stacks(t5(), sizes), 9U);
}

TEST(Stacks, MayBeOfDifferentDepth) {
  Sizes sizes;
  for (const auto& [symbol, value] : {std::pair<std::string_view, u64>{"L", 1},
                                      {"Ldec", 3},
                                      {"E", 4},
                                      {"H", 2},
                                      {"D", 2},
                                      {"F", 8},
                                      {"B", 32},
                                      {"V", 10}}) {
    sizes.set(symbol, value);
  }
  const auto expected = expected_tensors(t5(), sizes);
  const auto count = [&](std::string_view beginning) {
    return std::count_if(expected.begin(), expected.end(), [&](const ExpectedTensor& tensor) {
      return tensor.name.starts_with(beginning) && tensor.need == Need::required;
    });
  };
  EXPECT_EQ(count("enc.blk.0."), 9) << "norms, four projections, the table, up and down";
  EXPECT_EQ(count("enc.blk.1."), 0);
  EXPECT_EQ(count("dec.blk.0."), 14);
  EXPECT_EQ(count("dec.blk.2."), 13) << "no table";
  EXPECT_EQ(count("dec.blk.3."), 0);
}

}  // namespace
}  // namespace modelutils::arch
