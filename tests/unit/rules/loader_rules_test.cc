// Tensors that llama.cpp's loader takes besides those that a directory gives: prediction blocks, n-gram tables.
#include "rules/gguf/loader_rules.h"

#include <gtest/gtest.h>

#include "formats/gguf/parse.h"
#include "support/gguf_builder.h"

namespace modelutils {
namespace {

using test::GgufBuilder;

// Has only the keys that the shapes of the family's tensors depend on.
GgufBuilder deepseek4() {
  GgufBuilder file;
  file.key_string("general.architecture", "deepseek4");
  const auto count = [&](const char* key, u32 value) { file.key_u32("deepseek4." + std::string(key), value); };
  count("block_count", 3);
  count("embedding_length", 64);
  count("attention.head_count", 2);
  count("attention.key_length", 64);
  count("rope.dimension_count", 16);
  count("expert_count", 4);
  count("expert_used_count", 2);
  count("hash_layer_count", 1);
  count("attention.q_lora_rank", 32);
  count("attention.indexer.head_count", 2);
  count("attention.indexer.key_length", 128);
  count("attention.output_group_count", 2);
  count("attention.output_lora_rank", 16);
  count("hyper_connection.count", 4);
  return file.key_array<i32>("deepseek4.attention.compress_ratios", {0, 4, 128});
}
GgufBuilder qwen4exp() {
  GgufBuilder file;
  file.key_string("general.architecture", "qwen4exp");
  const auto count = [&](const char* key, u32 value) { file.key_u32("qwen4exp." + std::string(key), value); };
  count("block_count", 4);
  count("embedding_length", 48);
  count("attention.head_count", 4);
  count("ssm.conv_kernel", 4);
  count("ssm.inner_size", 64);
  count("ssm.state_size", 16);
  count("ssm.time_step_rank", 4);
  count("ssm.group_count", 2);
  count("expert_count", 4);
  count("expert_used_count", 2);
  count("hyper_connection.count", 2);
  count("hyper_connection.low_rank", 16);
  count("attention.indexer.head_count", 2);
  count("attention.indexer.key_length", 16);
  return file;
}

// Returns the places of "loader-tensor-extra", separated by commas.
std::string extra(GgufBuilder file, std::initializer_list<const char*> tensors) {
  for (const char* name : tensors) file.f32_tensor(name, {8});
  const auto source = file.source();
  auto document = gguf::parse(*source);
  EXPECT_TRUE(document.has_value());
  gguf::SplitSet set;
  set.files.push_back({"built.gguf", source, std::move(*document)});
  const FindingLog log = loader_findings(set);
  EXPECT_GT(log.findings().size(), 10u) << "the keys do not suffice to know the tensors";
  std::string places;
  for (const Finding& finding : log.findings()) {
    if (finding.code == "loader-tensor-extra") places += (places.empty() ? "" : ", ") + finding.where;
  }
  return places;
}

TEST(LoaderRules, TakesFurtherTensorsOfTheLoader) {
  EXPECT_EQ(extra(deepseek4(), {"blk.1.exp_probs_b_vl.bias", "blk.2.nextn.eh_proj.weight", "blk.2.nextn.enorm.weight",
                                "blk.2.nextn.shared_head_norm.weight"}),
            "");
  EXPECT_EQ(extra(qwen4exp(), {"per_layer_token_embd.weight", "blk.1.ple_key.weight", "blk.1.ple_conv1d.weight",
                               "blk.0.ffn_gate_up_exps.weight"}),
            "");
}

TEST(LoaderRules, RefusesInventedTensors) {
  EXPECT_EQ(extra(deepseek4(), {"blk.1.exp_probs_b_vx.bias"}), "tensor 'blk.1.exp_probs_b_vx.bias'");
  EXPECT_EQ(extra(deepseek4(), {"blk.1.exp_probs_b_vl.weight"}), "tensor 'blk.1.exp_probs_b_vl.weight'");
  EXPECT_EQ(extra(deepseek4(), {"blk.1.ple_key.weight"}), "tensor 'blk.1.ple_key.weight'") << "another architecture's";
  EXPECT_EQ(extra(qwen4exp(), {"blk.1.ple_queue.weight"}), "tensor 'blk.1.ple_queue.weight'");
}

// The file may have prediction blocks without counting them, and the family does not list their tensors.
TEST(LoaderRules, TakesTensorsOfBlocksAfterTheLayers) {
  EXPECT_EQ(extra(deepseek4(), {"blk.3.nextn.eh_proj.weight", "blk.3.attn_norm.weight"}), "");
  EXPECT_EQ(extra(deepseek4(), {"output_invented.weight"}), "tensor 'output_invented.weight'");
  // Three blocks of which the last predicts.
  GgufBuilder counted = deepseek4().key_u32("deepseek4.nextn_predict_layers", 1);
  EXPECT_EQ(extra(counted, {"blk.2.nextn.eh_proj.weight", "blk.2.invented.weight"}), "");
  EXPECT_EQ(extra(counted, {"blk.1.invented.weight"}), "tensor 'blk.1.invented.weight'");
  // The loader of qwen4exp accepts no such blocks.
  EXPECT_EQ(extra(qwen4exp(), {"blk.4.invented.weight"}), "");
  EXPECT_EQ(extra(qwen4exp().key_u32("qwen4exp.nextn_predict_layers", 1), {"blk.3.invented.weight"}),
            "tensor 'blk.3.invented.weight'");
}

}  // namespace
}  // namespace modelutils
