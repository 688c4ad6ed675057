#include "mlx/names.h"

#include <gtest/gtest.h>

namespace modelutils::mlx {
namespace {

using hf::Family;

TEST(Names, LoseTheirWrappers) {
  EXPECT_EQ(canonical_name("language_model.model.norm.weight"), "model.norm.weight");
  EXPECT_EQ(canonical_name("model.language_model.layers.0.x"), "model.layers.0.x");
  EXPECT_EQ(canonical_name("language_model.lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(canonical_name("language_model.language_model.a"), "a");
  EXPECT_EQ(canonical_name("model.norm.weight"), "model.norm.weight");
  EXPECT_EQ(canonical_name(""), "");
}

TEST(Names, Classes) {
  for (const char* name : {"vision_tower.x.weight", "model.vision_model.y", "visual.patch",
                           "multi_modal_projector.linear", "audio_tower.z", "mtp.layers.0"}) {
    EXPECT_EQ(classify_name(name), NameClass::other_modality) << name;
  }
  for (const char* name :
       {"model.layers.0.self_attn.rotary_emb.inv_freq", "h.0.attention.masked_bias", "h.0.attention.bias"}) {
    EXPECT_EQ(classify_name(name), NameClass::derived) << name;
  }
  EXPECT_EQ(classify_name("model.layers.0.self_attn.q_proj.bias"), NameClass::keep);
}

TEST(Names, Suffixes) {
  EXPECT_EQ(split_name("a.b.weight").module, "a.b");
  EXPECT_EQ(split_name("a.b.weight").suffix, Suffix::weight);
  EXPECT_EQ(split_name("a.bias").suffix, Suffix::bias);
  EXPECT_EQ(split_name("a.biases").suffix, Suffix::biases);
  EXPECT_EQ(split_name("a.scales").suffix, Suffix::scales);
  for (const char* name : {"weight", ".weight", "a.weights", "a.weight.", "", "a.WEIGHT"}) {
    EXPECT_EQ(split_name(name).suffix, Suffix::none) << name;
    EXPECT_EQ(split_name(name).module, name);
  }
}

TEST(Names, Layers) {
  EXPECT_EQ(layer_of("model.layers.17.mlp.up_proj.weight"), 17u);
  EXPECT_FALSE(layer_of("model.layers.x.mlp"));
  EXPECT_FALSE(layer_of("model.layers.5"));
  EXPECT_FALSE(layer_of("model.layers.05.a"));
  EXPECT_FALSE(layer_of("model.layers.99999999999999999999999.a"));
  EXPECT_FALSE(layer_of("model.norm.weight"));
}

struct Mapping {
  Family family;
  const char* source;
  const char* gguf;
};

// One line for each row of the table in docs/conversion.md, 1.4.
constexpr Mapping mappings[] = {
    {Family::llama, "model.embed_tokens.weight", "token_embd.weight"},
    {Family::llama, "model.norm.weight", "output_norm.weight"},
    {Family::llama, "lm_head.weight", "output.weight"},
    {Family::gemma, "lm_head.weight", "output.weight"},
    {Family::gemma3, "lm_head.weight", "output.weight"},
    {Family::llama, "model.layers.3.input_layernorm.weight", "blk.3.attn_norm.weight"},
    {Family::qwen2, "model.layers.3.self_attn.q_proj.bias", "blk.3.attn_q.bias"},
    {Family::llama, "model.layers.3.self_attn.k_proj.weight", "blk.3.attn_k.weight"},
    {Family::llama, "model.layers.3.self_attn.v_proj.weight", "blk.3.attn_v.weight"},
    {Family::phi3, "model.layers.3.self_attn.o_proj.weight", "blk.3.attn_output.weight"},
    {Family::phi3, "model.layers.3.self_attn.qkv_proj.weight", "blk.3.attn_qkv.weight"},
    {Family::qwen3, "model.layers.3.self_attn.q_norm.weight", "blk.3.attn_q_norm.weight"},
    {Family::gemma3, "model.layers.3.self_attn.k_norm.weight", "blk.3.attn_k_norm.weight"},
    {Family::gemma, "model.layers.3.post_attention_layernorm.weight", "blk.3.ffn_norm.weight"},
    {Family::gemma2, "model.layers.3.post_attention_layernorm.weight", "blk.3.post_attention_norm.weight"},
    {Family::gemma3, "model.layers.3.pre_feedforward_layernorm.weight", "blk.3.ffn_norm.weight"},
    {Family::gemma2, "model.layers.3.post_feedforward_layernorm.weight", "blk.3.post_ffw_norm.weight"},
    {Family::llama, "model.layers.3.mlp.gate_proj.weight", "blk.3.ffn_gate.weight"},
    {Family::qwen3, "model.layers.3.mlp.up_proj.weight", "blk.3.ffn_up.weight"},
    {Family::phi3, "model.layers.3.mlp.down_proj.weight", "blk.3.ffn_down.weight"},
    {Family::phi3, "model.layers.3.mlp.gate_up_proj.weight", "blk.3.ffn_up.weight"},
    {Family::mixtral, "model.layers.3.block_sparse_moe.gate.weight", "blk.3.ffn_gate_inp.weight"},
    {Family::qwen3moe, "model.layers.3.mlp.gate.weight", "blk.3.ffn_gate_inp.weight"},
    {Family::mixtral, "model.layers.3.block_sparse_moe.switch_mlp.gate_proj.weight", "blk.3.ffn_gate_exps.weight"},
    {Family::mixtral, "model.layers.3.block_sparse_moe.switch_mlp.down_proj.weight", "blk.3.ffn_down_exps.weight"},
    {Family::mixtral, "model.layers.3.block_sparse_moe.switch_mlp.up_proj.weight", "blk.3.ffn_up_exps.weight"},
    {Family::qwen2moe, "model.layers.3.mlp.switch_mlp.gate_proj.weight", "blk.3.ffn_gate_exps.weight"},
    {Family::qwen3moe, "model.layers.3.mlp.switch_mlp.down_proj.weight", "blk.3.ffn_down_exps.weight"},
    {Family::qwen3moe, "model.layers.3.mlp.switch_mlp.up_proj.weight", "blk.3.ffn_up_exps.weight"},
    {Family::qwen2moe, "model.layers.3.mlp.shared_expert.gate_proj.weight", "blk.3.ffn_gate_shexp.weight"},
    {Family::qwen2moe, "model.layers.3.mlp.shared_expert.up_proj.weight", "blk.3.ffn_up_shexp.weight"},
    {Family::qwen2moe, "model.layers.3.mlp.shared_expert.down_proj.weight", "blk.3.ffn_down_shexp.weight"},
    {Family::qwen2moe, "model.layers.3.mlp.shared_expert_gate.weight", "blk.3.ffn_gate_inp_shexp.weight"},
};

TEST(Names, MapToGgufAndBack) {
  for (const Mapping& mapping : mappings) {
    const auto target = gguf_tensor(mapping.family, mapping.source);
    ASSERT_TRUE(target) << mapping.source;
    EXPECT_EQ(target->module, mapping.gguf);
    EXPECT_EQ(target->piece, Piece::whole);
    EXPECT_EQ(hf_tensor(mapping.family, mapping.gguf), mapping.source);
  }
}

TEST(Names, MapExperts) {
  const auto w2 = gguf_tensor(Family::mixtral, "model.layers.1.block_sparse_moe.experts.7.w2.weight");
  ASSERT_TRUE(w2);
  EXPECT_EQ(w2->module, "blk.1.ffn_down_exps.weight");
  EXPECT_EQ(w2->piece, Piece::expert);
  EXPECT_EQ(w2->expert, 7u);
  EXPECT_EQ(w2->layer, 1u);
  EXPECT_EQ(gguf_tensor(Family::mixtral, "model.layers.1.block_sparse_moe.experts.7.w1.weight")->module,
            "blk.1.ffn_gate_exps.weight");
  EXPECT_EQ(gguf_tensor(Family::mixtral, "model.layers.1.block_sparse_moe.experts.7.w3.weight")->module,
            "blk.1.ffn_up_exps.weight");
  EXPECT_EQ(gguf_tensor(Family::qwen3moe, "model.layers.0.mlp.experts.12.down_proj.weight")->expert, 12u);
  // Stacks as transformers v5 saves them, with and without a suffix.
  const auto stack = gguf_tensor(Family::qwen3moe, "model.layers.0.mlp.experts.gate_up_proj");
  ASSERT_TRUE(stack);
  EXPECT_EQ(stack->piece, Piece::gate_up_stack);
  EXPECT_EQ(stack->module, "blk.0.ffn_gate_exps.weight");
  EXPECT_EQ(gguf_tensor(Family::qwen2moe, "model.layers.0.mlp.experts.down_proj.weight")->module,
            "blk.0.ffn_down_exps.weight");
  EXPECT_EQ(gguf_tensor(Family::qwen2moe, "model.layers.0.mlp.experts.down_proj")->module,
            "blk.0.ffn_down_exps.weight");
}

TEST(Names, WhatIsNotInTheTableIsNotMapped) {
  EXPECT_FALSE(gguf_tensor(Family::phi3, "model.layers.0.self_attn.q_proj.weight"));
  EXPECT_FALSE(gguf_tensor(Family::llama, "model.layers.0.self_attn.q_norm.weight"));
  EXPECT_FALSE(gguf_tensor(Family::llama, "model.layers.0.mlp.gate_up_proj.weight"));
  EXPECT_FALSE(gguf_tensor(Family::mixtral, "model.layers.0.mlp.gate_proj.weight"));
  EXPECT_FALSE(gguf_tensor(Family::llama, "model.layers.0.mlp.up_proj.scales"));
  EXPECT_FALSE(gguf_tensor(Family::llama, "model.layers.0.mlp.up_proj.biases"));
  EXPECT_FALSE(gguf_tensor(Family::llama, "model.layers.0.mlp.up_proj"));
  EXPECT_FALSE(gguf_tensor(Family::llama, "model.layers.0.unknown.weight"));
  EXPECT_FALSE(gguf_tensor(Family::llama, "model.layers.weight"));
  EXPECT_FALSE(gguf_tensor(Family::mixtral, "model.layers.0.block_sparse_moe.experts.x.w1.weight"));
  EXPECT_FALSE(gguf_tensor(Family::mixtral, "model.layers.0.block_sparse_moe.experts.1.w4.weight"));
  EXPECT_FALSE(hf_tensor(Family::llama, "blk.x.attn_q.weight"));
  EXPECT_FALSE(hf_tensor(Family::llama, "rope_freqs.weight"));
  EXPECT_FALSE(hf_tensor(Family::llama, "blk.0.attn_q"));
}

}  // namespace
}  // namespace modelutils::mlx
