#include "arch/names.h"

#include <gtest/gtest.h>

#include <utility>

#include "support/families.h"
namespace modelutils::arch {
namespace {

TEST(Names, Layers) {
  const Names names(llama);
  EXPECT_EQ(names.layer_of("model.layers.17.mlp.up_proj.weight"), 17u);
  EXPECT_FALSE(names.layer_of("model.layers.x.mlp"));
  EXPECT_FALSE(names.layer_of("model.layers.5"));
  EXPECT_FALSE(names.layer_of("model.layers.05.a"));
  EXPECT_FALSE(names.layer_of("model.layers.99999999999999999999999.a"));
  EXPECT_FALSE(names.layer_of("model.norm.weight"));
}

TEST(Names, OptionalPrefixesAndOldSuffixes) {
  const Names names(bert);
  const std::pair<const char*, const char*> spellings[] = {
      {"encoder.layer.3.output.dense.weight", "encoder.layer.3.output.dense.weight"},
      {"bert.encoder.layer.3.output.LayerNorm.gamma", "encoder.layer.3.output.LayerNorm.weight"},
      {"roberta.embeddings.LayerNorm.beta", "embeddings.LayerNorm.bias"},
      {"model.bert.embeddings.word_embeddings.weight", "embeddings.word_embeddings.weight"},
      {"classifier.out_proj.weight", "classifier.out_proj.weight"},
      {"bert.something.gamma", "bert.something.gamma"},
  };
  for (const auto& [name, spelled] : spellings) EXPECT_EQ(names.spelled(name), spelled);
  EXPECT_EQ(Names(jina_bert_v3).spelled("roberta.encoder.layers.0.mixer.Wqkv.parametrizations.weight.original"),
            "encoder.layers.0.mixer.Wqkv.weight");
  EXPECT_EQ(Names(qwen3).spelled("layers.0.mlp.up_proj.weight"), "model.layers.0.mlp.up_proj.weight");
  EXPECT_EQ(Names(qwen3).spelled("visual.norm.weight"), "visual.norm.weight");
}

TEST(Names, HeadsOfTheTrainingAreLeftOut) {
  const Names names(bert);
  EXPECT_TRUE(names.leaves_out("bert.embeddings.position_ids"));
  EXPECT_TRUE(names.leaves_out("cls.predictions.bias"));
  EXPECT_TRUE(names.leaves_out("bert.pooler.dense.weight"));
  EXPECT_FALSE(names.leaves_out("classifier.weight"));
  EXPECT_FALSE(Names(qwen3).leaves_out("lm_head.weight"));
  EXPECT_TRUE(Names(jina_bert_v3).leaves_out("roberta.encoder.layers.0.mlp.fc1.parametrizations.weight.0.lora_A"));
}

struct Mapping {
  const Family& family;
  const char* source;
  const char* gguf;
};

// One line per row of the table in docs/conversion.md, "Names".
const Mapping mappings[] = {
    {llama, "model.embed_tokens.weight", "token_embd.weight"},
    {llama, "model.norm.weight", "output_norm.weight"},
    {llama, "lm_head.weight", "output.weight"},
    {gemma, "lm_head.weight", "output.weight"},
    {gemma3, "lm_head.weight", "output.weight"},
    {llama, "model.layers.3.input_layernorm.weight", "blk.3.attn_norm.weight"},
    {qwen2, "model.layers.3.self_attn.q_proj.bias", "blk.3.attn_q.bias"},
    {llama, "model.layers.3.self_attn.k_proj.weight", "blk.3.attn_k.weight"},
    {llama, "model.layers.3.self_attn.v_proj.weight", "blk.3.attn_v.weight"},
    {phi3, "model.layers.3.self_attn.o_proj.weight", "blk.3.attn_output.weight"},
    {phi3, "model.layers.3.self_attn.qkv_proj.weight", "blk.3.attn_qkv.weight"},
    {qwen3, "model.layers.3.self_attn.q_norm.weight", "blk.3.attn_q_norm.weight"},
    {gemma3, "model.layers.3.self_attn.k_norm.weight", "blk.3.attn_k_norm.weight"},
    {gemma, "model.layers.3.post_attention_layernorm.weight", "blk.3.ffn_norm.weight"},
    {gemma2, "model.layers.3.post_attention_layernorm.weight", "blk.3.post_attention_norm.weight"},
    {gemma3, "model.layers.3.pre_feedforward_layernorm.weight", "blk.3.ffn_norm.weight"},
    {gemma2, "model.layers.3.post_feedforward_layernorm.weight", "blk.3.post_ffw_norm.weight"},
    {llama, "model.layers.3.mlp.gate_proj.weight", "blk.3.ffn_gate.weight"},
    {qwen3, "model.layers.3.mlp.up_proj.weight", "blk.3.ffn_up.weight"},
    {phi3, "model.layers.3.mlp.down_proj.weight", "blk.3.ffn_down.weight"},
    {phi3, "model.layers.3.mlp.gate_up_proj.weight", "blk.3.ffn_up.weight"},
    {mixtral, "model.layers.3.block_sparse_moe.gate.weight", "blk.3.ffn_gate_inp.weight"},
    {qwen3moe, "model.layers.3.mlp.gate.weight", "blk.3.ffn_gate_inp.weight"},
    {mixtral, "model.layers.3.block_sparse_moe.switch_mlp.gate_proj.weight", "blk.3.ffn_gate_exps.weight"},
    {mixtral, "model.layers.3.block_sparse_moe.switch_mlp.down_proj.weight", "blk.3.ffn_down_exps.weight"},
    {mixtral, "model.layers.3.block_sparse_moe.switch_mlp.up_proj.weight", "blk.3.ffn_up_exps.weight"},
    {qwen2moe, "model.layers.3.mlp.switch_mlp.gate_proj.weight", "blk.3.ffn_gate_exps.weight"},
    {qwen3moe, "model.layers.3.mlp.switch_mlp.down_proj.weight", "blk.3.ffn_down_exps.weight"},
    {qwen3moe, "model.layers.3.mlp.switch_mlp.up_proj.weight", "blk.3.ffn_up_exps.weight"},
    {qwen2moe, "model.layers.3.mlp.shared_expert.gate_proj.weight", "blk.3.ffn_gate_shexp.weight"},
    {qwen2moe, "model.layers.3.mlp.shared_expert.up_proj.weight", "blk.3.ffn_up_shexp.weight"},
    {qwen2moe, "model.layers.3.mlp.shared_expert.down_proj.weight", "blk.3.ffn_down_shexp.weight"},
    {qwen2moe, "model.layers.3.mlp.shared_expert_gate.weight", "blk.3.ffn_gate_inp_shexp.weight"},
};

TEST(Names, MapToGgufAndBack) {
  for (const Mapping& mapping : mappings) {
    const Names names(mapping.family);
    EXPECT_EQ(names.gguf_tensor(mapping.source), mapping.gguf);
    EXPECT_EQ(names.source_tensor(mapping.gguf), mapping.source);
  }
}

// Checks the row and expert of a name's only use.
void expect_use(const Family& family, const char* source, const char* row, std::optional<u64> expert) {
  const Names names(family);
  const auto match = names.match(source);
  ASSERT_TRUE(match) << source;
  EXPECT_EQ(match->uses->front().row->name, row) << source;
  EXPECT_EQ(match->expert, expert) << source;
}

TEST(Names, FindExperts) {
  expect_use(mixtral, "model.layers.1.block_sparse_moe.experts.7.w2.weight", "ffn_down_exps", 7);
  expect_use(mixtral, "model.layers.1.block_sparse_moe.experts.7.w1.weight", "ffn_gate_exps", 7);
  expect_use(mixtral, "model.layers.1.block_sparse_moe.experts.7.w3.weight", "ffn_up_exps", 7);
  expect_use(qwen3moe, "model.layers.0.mlp.experts.12.down_proj.weight", "ffn_down_exps", 12);
  // Stacks as saved by transformers v5, with and without a suffix.
  expect_use(qwen2moe, "model.layers.0.mlp.experts.down_proj.weight", "ffn_down_exps", std::nullopt);
  expect_use(qwen2moe, "model.layers.0.mlp.experts.down_proj", "ffn_down_exps", std::nullopt);
  EXPECT_EQ(Names(mixtral).match("model.layers.1.block_sparse_moe.experts.7.w2.weight")->layer, 1u);
}

TEST(Names, ASplitSourceServesTwoTensors) {
  const Names names(qwen3moe);
  const auto match = names.match("model.layers.0.mlp.experts.gate_up_proj");
  ASSERT_TRUE(match);
  ASSERT_EQ(match->uses->size(), 2u);
  EXPECT_EQ((*match->uses)[0].row->name, "ffn_gate_exps");
  EXPECT_EQ((*match->uses)[1].row->name, "ffn_up_exps");
  EXPECT_FALSE(names.gguf_tensor("model.layers.0.mlp.experts.gate_up_proj"));
}

TEST(Names, OperationsMayHaveAnOperand) {
  const std::vector<SourceAlternative> parsed = parse_source("a@add_one | a.b@add:0.2 | a{x y -> y x}@times:key");
  ASSERT_EQ(parsed.size(), 3u);
  EXPECT_EQ(parsed[0].parts[0].operation, Operation::add_one);
  EXPECT_EQ(parsed[1].parts[0].module, "a.b");
  EXPECT_EQ(parsed[1].parts[0].operation, Operation::add);
  EXPECT_EQ(parsed[1].parts[0].operand, "0.2");
  EXPECT_EQ(parsed[2].parts[0].view, "x y -> y x");
  EXPECT_EQ(parsed[2].parts[0].operation, Operation::times);
  EXPECT_EQ(parsed[2].parts[0].operand, "key");
  EXPECT_EQ(parse_source("[hf & Nh] lm_head@unit_columns")[0].parts[0].operation, Operation::unit_columns);
}

TEST(Names, PartsMayMultiplyTheOneBefore) {
  const std::vector<SourceAlternative> parsed = parse_source("a.b * c{x:A*B y -> y x} + d@exp | e@unit_rows");
  ASSERT_EQ(parsed.size(), 2u);
  ASSERT_EQ(parsed[0].parts.size(), 3u);
  EXPECT_EQ(parsed[0].parts[0].module, "a.b");
  EXPECT_FALSE(parsed[0].parts[0].multiplies);
  EXPECT_EQ(parsed[0].parts[1].module, "c");
  EXPECT_EQ(parsed[0].parts[1].view, "x:A*B y -> y x");
  EXPECT_TRUE(parsed[0].parts[1].multiplies);
  EXPECT_EQ(parsed[0].parts[2].module, "d");
  EXPECT_EQ(parsed[0].parts[2].operation, Operation::exp);
  EXPECT_FALSE(parsed[0].parts[2].multiplies);
  EXPECT_EQ(parsed[1].parts[0].operation, Operation::unit_rows);
}

TEST(Names, ViewsOfRowsAndOfElements) {
  const std::vector<SourceAlternative> parsed = parse_source("a{H s:A+B -> H s[0:A]} + b | c.#.d{{x:A+B y -> y x}}");
  ASSERT_EQ(parsed.size(), 2u);
  ASSERT_EQ(parsed[0].parts.size(), 2u);
  EXPECT_EQ(parsed[0].parts[0].view, "H s:A+B -> H s[0:A]");
  EXPECT_FALSE(parsed[0].parts[0].is_of_elements);
  ASSERT_EQ(parsed[1].parts.size(), 1u);
  EXPECT_EQ(parsed[1].parts[0].module, "c.#.d");
  EXPECT_EQ(parsed[1].parts[0].view, "x:A+B y -> y x");
  EXPECT_TRUE(parsed[1].parts[0].is_of_elements);
}

TEST(Names, CompleteNamesKeepTheirOwnSuffix) {
  const Names names(gpt_oss);
  EXPECT_EQ(names.gguf_tensor("model.layers.2.self_attn.sinks"), "blk.2.attn_sinks.weight");
  EXPECT_EQ(names.source_tensor("blk.2.attn_sinks.weight"), "model.layers.2.self_attn.sinks");
  EXPECT_FALSE(names.gguf_tensor("model.layers.2.self_attn.sinks.weight"));
}

TEST(Names, WhatIsNotInTheTableIsNotMapped) {
  EXPECT_FALSE(Names(phi3).match("model.layers.0.self_attn.q_proj.weight"));
  EXPECT_FALSE(Names(llama).match("model.layers.0.self_attn.q_norm.weight"));
  EXPECT_FALSE(Names(llama).match("model.layers.0.mlp.gate_up_proj.weight"));
  EXPECT_FALSE(Names(mixtral).match("model.layers.0.mlp.gate_proj.weight"));
  EXPECT_FALSE(Names(llama).match("model.layers.0.mlp.up_proj.scales"));
  EXPECT_FALSE(Names(llama).match("model.layers.0.mlp.up_proj.biases"));
  EXPECT_FALSE(Names(llama).match("model.layers.0.mlp.up_proj"));
  EXPECT_FALSE(Names(llama).match("model.layers.0.unknown.weight"));
  EXPECT_FALSE(Names(llama).match("model.layers.weight"));
  EXPECT_FALSE(Names(qwen3).match("model.layers.0.self_attn.q_proj.bias"));
  EXPECT_FALSE(Names(mixtral).match("model.layers.0.block_sparse_moe.experts.x.w1.weight"));
  EXPECT_FALSE(Names(mixtral).match("model.layers.0.block_sparse_moe.experts.1.w4.weight"));
  EXPECT_FALSE(Names(llama).source_tensor("blk.x.attn_q.weight"));
  EXPECT_FALSE(Names(llama).source_tensor("rope_freqs.weight"));
  EXPECT_FALSE(Names(llama).source_tensor("blk.0.attn_q"));
}

}  // namespace
}  // namespace modelutils::arch
