// Keys and tensor names of small GGUF files, and the expected config.json.
#include "convert/to_directory/config_from_keys.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "arch/families.h"
#include "arch/rope.h"
#include "formats/gguf/parse.h"
#include "support/gguf_builder.h"

namespace modelutils {
namespace {

using test::BuilderTensor;
using test::GgufBuilder;

gguf::SplitSet set_of(const GgufBuilder& builder) {
  gguf::SplitSet set;
  const auto source = builder.source();
  set.files.push_back({"m.gguf", source, *gguf::parse(*source)});
  return set;
}

Result<HfConfig> config_of(const GgufBuilder& builder, const HfConfigOptions& options = {}) {
  return hf_config_from_keys(set_of(builder), options);
}

std::string code_of(const GgufBuilder& builder, const HfConfigOptions& options = {}) {
  const auto config = config_of(builder, options);
  return config ? "none" : config.error().code;
}

// Returns a member as JSON on one line, or "absent".
std::string member(const HfConfig& config, std::string_view name) {
  const hf::ConfigValue* value = hf::find_member(config.config, name);
  if (value == nullptr) return "absent";
  const std::string text = hf::config_text({{"x", *value}});
  return text.substr(9, text.size() - 12);
}

BuilderTensor floats(std::string name, const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return {.name = std::move(name), .ne = {values.size()}, .data = std::move(bytes)};
}

// 2 layers, width 64, 4 heads of size 16 with 2 key-value heads, 8 tokens.
GgufBuilder model(const std::string& arch) {
  const auto key = [&](const char* name) { return arch + "." + name; };
  return GgufBuilder()
      .key_string("general.architecture", arch)
      .key_u32(key("block_count"), 2)
      .key_u32(key("context_length"), 2048)
      .key_u32(key("embedding_length"), 64)
      .key_u32(key("feed_forward_length"), 96)
      .key_u32(key("attention.head_count"), 4)
      .key_u32(key("attention.head_count_kv"), 2)
      .key_f32(key("attention.layer_norm_rms_epsilon"), 1e-5f)
      .f32_tensor("token_embd.weight", {64, 8});
}

TEST(ConfigFromKeys, Llama) {
  const auto config = config_of(model("llama")
                                    .key_f32("llama.rope.freq_base", 500000)
                                    .key_string("tokenizer.ggml.model", "gpt2")
                                    .key_strings("tokenizer.ggml.tokens", {"a", "<|eot_id|>", "<s>", "<|im_end|>"})
                                    .key_array<i32>("tokenizer.ggml.token_type", {1, 3, 3, 1})
                                    .key_u32("tokenizer.ggml.bos_token_id", 2)
                                    .key_u32("tokenizer.ggml.eos_token_id", 3)
                                    .key_u32("tokenizer.ggml.padding_token_id", 9)  // there is no such token
                                    .key_f32("general.sampling.temp", 0.5f)
                                    .key_i32("general.sampling.top_k", 40)
                                    .f32_tensor("blk.1.attn_q.bias", {64})
                                    .f32_tensor("output.weight", {64, 8}));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(hf::config_text(config->config),
            "{\n"
            "  \"architectures\": [\"LlamaForCausalLM\"],\n"
            "  \"model_type\": \"llama\",\n"
            "  \"num_hidden_layers\": 2,\n"
            "  \"max_position_embeddings\": 2048,\n"
            "  \"hidden_size\": 64,\n"
            "  \"intermediate_size\": 96,\n"
            "  \"num_attention_heads\": 4,\n"
            "  \"num_key_value_heads\": 2,\n"
            "  \"rms_norm_eps\": 1e-05,\n"
            "  \"head_dim\": 16,\n"
            "  \"vocab_size\": 8,\n"
            "  \"rope_theta\": 500000.0,\n"
            "  \"attention_bias\": true,\n"
            "  \"mlp_bias\": false,\n"
            "  \"hidden_act\": \"silu\",\n"
            "  \"tie_word_embeddings\": false,\n"
            "  \"bos_token_id\": 2,\n"
            "  \"eos_token_id\": [3, 1]\n"
            "}\n");
  EXPECT_EQ(hf::config_text(config->generation),
            "{\n"
            "  \"bos_token_id\": 2,\n"
            "  \"eos_token_id\": [3, 1],\n"
            "  \"temperature\": 0.5,\n"
            "  \"top_k\": 40\n"
            "}\n");
  EXPECT_TRUE(config->assumed.empty());
  EXPECT_EQ(config->class_name, "LlamaForCausalLM");
}

TEST(ConfigFromKeys, OtherTypesOfTheSameArchitecture) {
  const auto mistral = config_of(model("llama"), {.model_type = "mistral"});
  ASSERT_TRUE(mistral);
  EXPECT_EQ(member(*mistral, "architectures"), "[\"MistralForCausalLM\"]");
  EXPECT_EQ(member(*mistral, "tie_word_embeddings"), "true");
  EXPECT_EQ(member(*mistral, "rope_theta"), "10000.0");  // the loader's default
  const auto internlm = config_of(model("llama").f32_tensor("blk.0.attn_q.bias", {64}), {.model_type = "internlm3"});
  ASSERT_TRUE(internlm);
  EXPECT_EQ(member(*internlm, "qkv_bias"), "true");
  EXPECT_EQ(member(*internlm, "bias"), "false");
  const auto mimo = config_of(model("qwen2"), {.model_type = "mimo", .is_tied = true});
  ASSERT_TRUE(mimo);
  EXPECT_EQ(mimo->model_type, "mimo");
  EXPECT_EQ(member(*mimo, "num_nextn_predict_layers"), "0");
  EXPECT_EQ(code_of(model("qwen2"), {.model_type = "llama"}), "usage");
}

TEST(ConfigFromKeys, WhatHasNoConfigIsRefused) {
  EXPECT_EQ(code_of(GgufBuilder()), "config-architecture");
  EXPECT_EQ(code_of(model("unheard-of")), "config-architecture");
  EXPECT_EQ(code_of(model("clip")), "config-architecture");
  EXPECT_EQ(code_of(model("llama").key_string("general.type", "adapter")), "config-architecture");
  EXPECT_EQ(code_of(model("llama").key_string("general.type", "imatrix")), "config-architecture");
  EXPECT_EQ(code_of(GgufBuilder().key_string("general.architecture", "llama")), "loader-key");
}

TEST(ConfigFromKeys, Llama3Scaling) {
  // Divisors for theta 5e5, 16 rotated elements, factor 8, original context 64.
  const std::vector<float> freqs = llama3_rope_freqs(500000, 16, {8, 1, 4, 64});
  const auto config =
      config_of(model("llama").key_f32("llama.rope.freq_base", 500000).tensor(floats("rope_freqs.weight", freqs)));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(member(*config, "rope_scaling.rope_type"), "\"llama3\"");
  EXPECT_EQ(member(*config, "rope_scaling.factor"), "8.0");
  EXPECT_EQ(member(*config, "rope_scaling.original_max_position_embeddings"), "64");
  EXPECT_EQ(code_of(model("llama").tensor(floats("rope_freqs.weight", {1, 2, 3, 4, 5, 6, 7, 8}))), "config-rope");
  EXPECT_EQ(
      code_of(model("llama").tensor({.name = "rope_freqs.weight", .ne = {8}, .type = 1, .data = std::string(16, 0)})),
      "config-tensor");
  EXPECT_EQ(code_of(model("llama").tensor(
                {.name = "rope_freqs.weight", .ne = {8}, .data = std::string(32, 0), .offset = ~u64{0} - 31})),
            "config-tensor");
  // Divisors of 1 do not scale.
  const auto plain = config_of(model("llama").tensor(floats("rope_freqs.weight", std::vector<float>(8, 1))));
  ASSERT_TRUE(plain);
  EXPECT_EQ(member(*plain, "rope_scaling"), "absent");
}

TEST(ConfigFromKeys, LinearScaling) {
  const auto config =
      config_of(model("llama").key_string("llama.rope.scaling.type", "linear").key_f32("llama.rope.scaling.factor", 4));
  ASSERT_TRUE(config);
  EXPECT_EQ(member(*config, "rope_scaling"),
            "{\n    \"rope_type\": \"linear\",\n    \"type\": \"linear\",\n    \"factor\": 4.0\n  }");
  const auto old = config_of(model("llama").key_f32("llama.rope.scale_linear", 2));
  ASSERT_TRUE(old);
  EXPECT_EQ(member(*old, "rope_scaling.factor"), "2.0");
  const auto none = config_of(model("llama").key_string("llama.rope.scaling.type", "none"));
  ASSERT_TRUE(none);
  EXPECT_EQ(member(*none, "rope_scaling"), "absent");
  EXPECT_EQ(code_of(model("llama").key_string("llama.rope.scaling.type", "odd")), "config-key");
  EXPECT_EQ(code_of(model("llama").key_f32("llama.rope.scaling.factor", -1)), "config-key");
  EXPECT_EQ(code_of(model("llama").key_f32("llama.rope.freq_base", 0)), "config-key");
}

// yarn's two magnitudes: 1 + 0.1 mscale ln(factor) each; the result is their quotient.
TEST(ConfigFromKeys, YarnScaling) {
  const auto yarn = [](float attention) {
    auto file = model("llama")
                    .key_string("llama.rope.scaling.type", "yarn")
                    .key_f32("llama.rope.scaling.factor", 16)
                    .key_u32("llama.rope.scaling.original_context_length", 4096)
                    .key_f32("llama.rope.scaling.yarn_beta_fast", 32);
    return attention == 0 ? file : file.key_f32("llama.rope.scaling.attn_factor", attention);
  };
  const auto plain = config_of(yarn(0));
  ASSERT_TRUE(plain);
  EXPECT_EQ(member(*plain, "rope_scaling.original_max_position_embeddings"), "4096");
  EXPECT_EQ(member(*plain, "rope_scaling.beta_fast"), "32.0");
  EXPECT_EQ(member(*plain, "rope_scaling.mscale"), "absent");
  // No magnitude: the runtime's own is divided out.
  const double own = 0.1 * std::log(16.0) + 1;
  const auto unscaled = config_of(yarn(static_cast<float>(1 / own)));
  ASSERT_TRUE(unscaled);
  EXPECT_EQ(member(*unscaled, "rope_scaling.attention_factor"), "1.0");
  const hf::ConfigValue* mscale = hf::find_member(unscaled->config, "rope_scaling.mscale");
  ASSERT_NE(mscale, nullptr);
  EXPECT_NEAR(std::get<float>(mscale->value), 0, 1e-6);
}

TEST(ConfigFromKeys, Longrope) {
  const std::vector<float> longer = {2, 2, 2, 2, 2, 2, 2, 2}, shorter = {1, 1, 1, 1, 1, 1, 1, 1};
  const auto config = config_of(model("phi3")
                                    .key_u32("phi3.rope.scaling.original_context_length", 1024)
                                    .key_u32("phi3.rope.dimension_count", 8)
                                    .tensor(floats("rope_factors_long.weight", longer))
                                    .tensor(floats("rope_factors_short.weight", shorter)));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(member(*config, "rope_scaling.type"), "\"longrope\"");
  EXPECT_EQ(member(*config, "rope_scaling.long_factor"), "[2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]");
  EXPECT_EQ(member(*config, "original_max_position_embeddings"), "1024");
  EXPECT_EQ(member(*config, "partial_rotary_factor"), "0.5");
  EXPECT_EQ(member(*config, "sliding_window"), "null");
  EXPECT_EQ(code_of(model("phi3").tensor(floats("rope_factors_long.weight", longer))), "config-rope");
  EXPECT_EQ(code_of(model("phi3").tensor(floats("rope_factors_short.weight", longer))), "config-rope");
  EXPECT_EQ(code_of(model("phi3").key_u32("phi3.rope.dimension_count", 32)), "config-key");
  const auto plain = config_of(model("phi3"));
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->assumed, (std::vector<std::string>{"original_max_position_embeddings", "attention_bias"}));
}

TEST(ConfigFromKeys, Gemma3) {
  const auto config = config_of(model("gemma3").key_u32("gemma3.attention.sliding_window", 512));
  ASSERT_TRUE(config);
  EXPECT_EQ(member(*config, "query_pre_attn_scalar"), "16");
  EXPECT_EQ(member(*config, "sliding_window_pattern"), "6");
  EXPECT_EQ(member(*config, "rope_local_base_freq"), "10000.0");
  EXPECT_EQ(member(*config, "hidden_activation"), "\"gelu_pytorch_tanh\"");
}

// Without rope, a granite is of the newer class.
TEST(ConfigFromKeys, Granite) {
  const auto without =
      config_of(model("granite").key_f32("granite.logit_scale", 2).key_bool("granite.rope.scaling.finetuned", 0));
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_EQ(without->model_type, "granitemoehybrid");
  EXPECT_EQ(without->class_name, "GraniteMoeHybridForCausalLM");
  EXPECT_EQ(member(*without, "position_embedding_type"), "\"nope\"");
  EXPECT_EQ(member(*without, "layer_types"), "[\"attention\", \"attention\"]");
  EXPECT_EQ(member(*without, "shared_intermediate_size"), "96");
  EXPECT_EQ(member(*without, "logits_scaling"), "2.0");
  const auto shared = config_of(model("granitemoe")
                                    .key_f32("granitemoe.logit_scale", 2)
                                    .key_u32("granitemoe.expert_count", 4)
                                    .key_u32("granitemoe.expert_used_count", 2)
                                    .key_u32("granitemoe.expert_shared_feed_forward_length", 32));
  ASSERT_TRUE(shared) << shared.error().message;
  EXPECT_EQ(shared->model_type, "granitemoeshared");
  EXPECT_EQ(member(*shared, "num_local_experts"), "4");
}

TEST(ConfigFromKeys, SlidingLayers) {
  const auto mellum = [](std::vector<u8> flags) {
    return model("mellum")
        .key_u32("mellum.attention.sliding_window", 8)
        .key_bools("mellum.attention.sliding_window_pattern", flags);
  };
  const auto config = config_of(mellum({1, 0}));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(member(*config, "layer_types"), "[\"sliding_attention\", \"full_attention\"]");
  EXPECT_EQ(member(*config, "rope_parameters.sliding_attention.rope_theta"), "10000.0");
  EXPECT_EQ(code_of(mellum({1})), "config-key");
}

TEST(ConfigFromKeys, AnUnknownRouterIsRefused) {
  const auto with_gating = [](u32 gating) {
    return model("glm4moe")
        .key_u32("glm4moe.expert_count", 4)
        .key_u32("glm4moe.expert_used_count", 2)
        .key_u32("glm4moe.expert_gating_func", gating);
  };
  const auto config = config_of(with_gating(1));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(member(*config, "scoring_func"), "\"softmax\"");
  EXPECT_EQ(member(*config, "n_group"), "1");
  EXPECT_EQ(code_of(with_gating(3)), "config-key");
}

TEST(ConfigFromKeys, LayersThatPredictFurtherTokensDoNotCount) {
  const auto config = config_of(model("glm4moe")
                                    .key_u32("glm4moe.nextn_predict_layers", 1)
                                    .key_u32("glm4moe.expert_count", 4)
                                    .key_u32("glm4moe.expert_used_count", 2));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(member(*config, "num_hidden_layers"), "1");
  EXPECT_EQ(config->sizes.get("L"), 1u);
}

// Proportional rope is expressed by a tensor: the number of rotated pairs per head.
TEST(ConfigFromKeys, Gemma4) {
  const auto gemma4 = [](const std::vector<float>& factors) {
    return model("gemma4")
        .key_u32("gemma4.attention.key_length", 16)
        .key_u32("gemma4.attention.key_length_swa", 8)
        .key_u32("gemma4.attention.value_length_swa", 8)
        .key_u32("gemma4.attention.sliding_window", 4)
        .key_bools("gemma4.attention.sliding_window_pattern", {1, 0})
        .f32_tensor("blk.1.attn_v.weight", {64, 32})
        .tensor(floats("rope_freqs.weight", factors));
  };
  const auto config = config_of(gemma4({2, 2, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f}));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(member(*config, "rope_parameters.full_attention.partial_rotary_factor"), "0.25");
  EXPECT_EQ(member(*config, "rope_parameters.full_attention.factor"), "2.0");
  EXPECT_EQ(member(*config, "head_dim"), "8");
  EXPECT_EQ(member(*config, "global_head_dim"), "16");
  EXPECT_EQ(member(*config, "attention_k_eq_v"), "false");
  EXPECT_EQ(code_of(gemma4({1, 2, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f})), "config-rope");
  EXPECT_EQ(code_of(gemma4({1, 1, 1, 1, 1, 1, 1, 1}).key_string("gemma4.rope.scaling.type", "yarn")), "config-key");
}

// PLaMo 2 can only express layers with attention as a period.
TEST(ConfigFromKeys, Plamo2) {
  const auto plamo2 = [](std::vector<u32> heads) {
    return GgufBuilder()
        .key_string("general.architecture", "plamo2")
        .key_u32("plamo2.block_count", static_cast<u32>(heads.size()))
        .key_u32("plamo2.context_length", 64)
        .key_u32("plamo2.embedding_length", 64)
        .key_u32("plamo2.feed_forward_length", 96)
        .key_u32("plamo2.attention.head_count", 4)
        .key_array<u32>("plamo2.attention.head_count_kv", heads)
        .key_f32("plamo2.attention.layer_norm_rms_epsilon", 1e-6f)
        .key_u32("plamo2.ssm.conv_kernel", 4)
        .key_u32("plamo2.ssm.inner_size", 128)
        .key_u32("plamo2.ssm.state_size", 16)
        .key_u32("plamo2.ssm.time_step_rank", 8)
        .key_u32("plamo2.ssm.group_count", 0);
  };
  const auto config = config_of(plamo2({0, 0, 2, 0, 0, 0, 2, 0}));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(member(*config, "mamba_step"), "4");
  EXPECT_EQ(member(*config, "mamba_enabled"), "true");
  EXPECT_EQ(member(*config, "num_key_value_heads"), "2");
  EXPECT_EQ(code_of(plamo2({0, 2, 2, 0, 0, 0, 2, 0})), "config-key");
  const auto dense = config_of(plamo2({2, 2}));
  ASSERT_TRUE(dense);
  EXPECT_EQ(member(*dense, "mamba_enabled"), "false");
}

// Jamba's layers must be periodic, otherwise config.json cannot express them.
TEST(ConfigFromKeys, Periods) {
  const auto jamba = [](std::vector<u32> heads) {
    return GgufBuilder()
        .key_string("general.architecture", "jamba")
        .key_u32("jamba.block_count", static_cast<u32>(heads.size()))
        .key_u32("jamba.context_length", 64)
        .key_u32("jamba.embedding_length", 64)
        .key_u32("jamba.feed_forward_length", 96)
        .key_u32("jamba.attention.head_count", 4)
        .key_array<u32>("jamba.attention.head_count_kv", heads)
        .key_f32("jamba.attention.layer_norm_rms_epsilon", 1e-6f)
        .key_u32("jamba.ssm.conv_kernel", 4)
        .key_u32("jamba.ssm.inner_size", 128)
        .key_u32("jamba.ssm.state_size", 16)
        .key_u32("jamba.ssm.time_step_rank", 8);
  };
  const auto config = config_of(jamba({0, 2, 0, 0, 2, 0}));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(member(*config, "attn_layer_period"), "3");
  EXPECT_EQ(member(*config, "attn_layer_offset"), "1");
  EXPECT_EQ(member(*config, "num_key_value_heads"), "2");
  EXPECT_EQ(member(*config, "num_experts"), "1");
  EXPECT_EQ(member(*config, "mamba_expand"), "2");
  EXPECT_EQ(code_of(jamba({0, 2, 2, 0, 2, 0})), "config-key");
  const auto mixed = config_of(jamba({0, 2, 0, 0})
                                   .key_u32("jamba.expert_count", 4)
                                   .key_u32("jamba.expert_used_count", 2)
                                   .f32_tensor("blk.1.ffn_gate_inp.weight", {64, 4})
                                   .f32_tensor("blk.3.ffn_gate_inp.weight", {64, 4}));
  ASSERT_TRUE(mixed) << mixed.error().message;
  EXPECT_EQ(member(*mixed, "expert_layer_period"), "2");
  EXPECT_EQ(member(*mixed, "expert_layer_offset"), "1");
  EXPECT_EQ(code_of(jamba({0, 2, 0, 0})
                        .key_u32("jamba.expert_count", 4)
                        .key_u32("jamba.expert_used_count", 2)
                        .f32_tensor("blk.0.ffn_gate_inp.weight", {64, 4})
                        .f32_tensor("blk.1.ffn_gate_inp.weight", {64, 4})),
            "config-key");
}

// The members of a multimodal class are those of its text model.
TEST(ConfigFromKeys, TextPart) {
  const auto config = config_of(model("qwen2vl").key_array<u32>("qwen2vl.rope.dimension_sections", {2, 3, 3, 0}));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(member(*config, "model_type"), "\"qwen2_vl\"");
  EXPECT_EQ(member(*config, "text_config.model_type"), "\"qwen2_vl_text\"");
  EXPECT_EQ(member(*config, "text_config.hidden_size"), "64");
  EXPECT_EQ(member(*config, "text_config.rope_scaling.mrope_section"), "[2, 3, 3]");
  EXPECT_EQ(member(*config, "hidden_size"), "absent");
  EXPECT_EQ(member(*config, "tie_word_embeddings"), "true");
}

// Every family describes its config.json; nothing is omitted silently.
TEST(ConfigFromKeys, EveryFamilyHasItsMembers) {
  for (const arch::Family* family : arch::all_families()) {
    for (const arch::Member& one : family->config.members) {
      EXPECT_FALSE(one.value.empty()) << family->name << ": " << one.field;
    }
  }
}

}  // namespace
}  // namespace modelutils
