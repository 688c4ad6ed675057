#include "formats/hf/config.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace modelutils::hf {
namespace {

Config read(std::string_view text) {
  Result<Config> config = parse_config(text, "config.json");
  EXPECT_TRUE(config) << config.error().message;
  return config ? std::move(*config) : Config{};
}

TEST(Config, ReadsAPlainLlama) {
  const Config config = read(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2,
    "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 32,
    "vocab_size": 512, "rms_norm_eps": 1e-05, "max_position_embeddings": 8192, "rope_theta": 500000.0,
    "rope_scaling": null, "eos_token_id": 511, "bos_token_id": 509, "tie_word_embeddings": false, "hidden_act": "silu",
    "torch_dtype": "bfloat16", "quantization": {"bits": 4}})");
  EXPECT_EQ(config.architecture, "LlamaForCausalLM");
  EXPECT_EQ(config.model_type, "llama");
  EXPECT_EQ(config.block_count, 2u);
  EXPECT_EQ(config.u64_field(fields::width), 256u);
  EXPECT_EQ(config.count_field(fields::feed_forward), 512u);
  EXPECT_EQ(config.count_field(fields::heads), 8u);
  EXPECT_EQ(config.count_field(fields::kv_heads), 2u);
  EXPECT_EQ(config.u64_field("head_dim"), 32u);
  EXPECT_EQ(config.vocab_size, 512u);
  EXPECT_EQ(config.number_field(fields::rms_epsilon), 1e-05);
  EXPECT_EQ(config.u64_field(fields::context), 8192u);
  EXPECT_EQ(config.rope.theta, 500000.0);
  EXPECT_FALSE(config.rope.scaling);
  EXPECT_EQ(config.tie_word_embeddings, false);
  EXPECT_EQ(config.hidden_act, "silu");
  EXPECT_EQ(config.string_field(fields::dtype), "bfloat16");
  ASSERT_TRUE(config.quantization);
  EXPECT_TRUE(config.quantization->is_object());
  EXPECT_TRUE(config.findings.empty());
}

TEST(Config, TakesNullAsAbsent) {
  const Config config = read(R"({"head_dim": null, "sliding_window": null, "rope_scaling": null, "eos_token_id": null,
    "num_key_value_heads": null, "architectures": null, "quantization": null, "tie_word_embeddings": null})");
  EXPECT_FALSE(config.u64_field("head_dim"));
  EXPECT_FALSE(config.sliding_window);
  EXPECT_FALSE(config.count_field(fields::kv_heads));
  const Config without = read(R"({"eos_token_id": -1, "bos_token_id": -1, "pad_token_id": -1})");
  EXPECT_TRUE(without.findings.empty());
  EXPECT_FALSE(read(R"({"pad_token_id": -2})").findings.empty());
  EXPECT_FALSE(config.quantization);
  EXPECT_TRUE(config.findings.empty());
}

TEST(Config, ReadsFieldsOfObjectsAndListsOfEqualNumbers) {
  const Config config = *parse_config(R"({"attn_config": {"kv_n_heads": 2, "a.b": 3}, "moe_intermediate_size": [64, 64],
    "num_experts_per_tok": [2, 4], "num_attention_heads": ["x"], "sliding_window_pattern": "LLLG"})",
                                      "config.json");
  EXPECT_EQ(config.u64_field("attn_config.kv_n_heads"), 2u);
  EXPECT_EQ(config.u64_field("attn_config.a.b"), 3u);
  EXPECT_FALSE(config.u64_field("attn_config.absent"));
  EXPECT_FALSE(config.u64_field("absent.kv_n_heads"));
  EXPECT_EQ(config.count_field("moe_intermediate_size"), 64u);
  EXPECT_FALSE(config.count_field("num_experts_per_tok"));
  EXPECT_FALSE(config.sliding_window_pattern);
  ASSERT_EQ(config.findings.size(), 1u);
  EXPECT_EQ(config.findings[0].code, "hf-config-field");
  EXPECT_EQ(config.findings[0].where, "config.json field 'num_attention_heads'");
}

TEST(Config, LaysTheTextConfigOverTheTopLevel) {
  for (const std::string key : {"text_config", "llm_config", "lm_config", "language_config"}) {
    const Config config = read(R"({"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3",
      "hidden_size": 1, "vocab_size": 9, "eos_token_id": [1, 106], ")" +
                               key + R"(": {"model_type": "gemma3_text",
      "hidden_size": 2560, "vocab_size": null, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}},
      "vision_config": {"hidden_size": 7}})");
    EXPECT_TRUE(config.has_text_config) << key;
    EXPECT_EQ(config.u64_field(fields::width), 2560u);
    EXPECT_EQ(config.vocab_size, 9u) << "a null inside does not hide the outer value";
    EXPECT_EQ(config.model_type, "gemma3_text");
    EXPECT_EQ(config.architecture, "Gemma3ForConditionalGeneration");
    EXPECT_TRUE(config.findings.empty());
    ASSERT_TRUE(config.rope.scaling);
    EXPECT_EQ(config.rope.scaling->type, "linear");
    EXPECT_EQ(config.rope.scaling->factor, 8.0);
  }
}

TEST(Config, ResolvesAliases) {
  const Config config = read(R"({"n_layer": 3, "n_ctx": 77, "n_embd": 5, "n_inner": 6, "n_heads": 4, "n_kv_heads": 2,
    "norm_eps": 1e-6, "num_experts": 8, "hidden_activation": "gelu_pytorch_tanh", "hidden_act": "gelu", "dtype": "float16"})");
  EXPECT_EQ(config.block_count, 3u);
  EXPECT_EQ(config.u64_field(fields::context), 77u);
  EXPECT_EQ(config.u64_field(fields::width), 5u);
  EXPECT_EQ(config.count_field(fields::feed_forward), 6u);
  EXPECT_EQ(config.count_field(fields::heads), 4u);
  EXPECT_EQ(config.count_field(fields::kv_heads), 2u);
  EXPECT_EQ(config.number_field(fields::rms_epsilon), 1e-6);
  EXPECT_EQ(config.u64_field(fields::experts), 8u);
  EXPECT_EQ(config.hidden_act, "gelu_pytorch_tanh");
  EXPECT_EQ(config.string_field(fields::dtype), "float16");
  EXPECT_EQ(read(R"({"num_hidden_layers": 1, "n_layers": 2})").block_count, 1u) << "the first name wins";
}

TEST(Config, AWindowPatternMayBeLetters) {
  const Config letters = read(R"({"sliding_window_pattern": "LLLG"})");
  EXPECT_FALSE(letters.sliding_window_pattern);
  EXPECT_TRUE(letters.findings.empty());
  EXPECT_EQ(read(R"({"sliding_window_pattern": 6})").sliding_window_pattern, 6u);
  EXPECT_FALSE(read(R"({"sliding_window_pattern": [6]})").findings.empty());
}

TEST(Config, RopeOldGeneration) {
  const Config config = read(R"({"rope_theta": 10000, "rope_scaling": {"type": "yarn", "factor": 4.0,
    "original_max_position_embeddings": 32768, "beta_fast": 32, "beta_slow": 1, "attn_factor": 1.5,
    "extrapolation_factor": 1}})");
  EXPECT_EQ(config.rope.theta, 10000.0);
  ASSERT_TRUE(config.rope.scaling);
  const RopeScaling& scaling = *config.rope.scaling;
  EXPECT_EQ(scaling.type, "yarn");
  EXPECT_EQ(scaling.factor, 4.0);
  EXPECT_EQ(scaling.original_max_position_embeddings, 32768.0);
  EXPECT_EQ(scaling.beta_fast, 32.0);
  EXPECT_EQ(scaling.beta_slow, 1.0);
  EXPECT_EQ(scaling.attention_factor, 1.5);
  EXPECT_EQ(scaling.extrapolation_factor, 1.0);
}

TEST(Config, RopeWithoutTypeScalesOnlyIfThereIsAFactor) {
  EXPECT_FALSE(read(R"({"rope_parameters": {"rope_theta": 10000.0}})").rope.scaling);
  const Config config = read(R"({"rope_scaling": {"factor": 2.0}})");
  ASSERT_TRUE(config.rope.scaling);
  EXPECT_EQ(config.rope.scaling->type, "");
}

TEST(Config, PartialRotaryFactorOfBothGenerations) {
  EXPECT_EQ(read(R"({"partial_rotary_factor": 0.5})").partial_rotary_factor, 0.5);
  EXPECT_EQ(read(R"({"partial_rotary_factor": 1.0, "rope_parameters": {"partial_rotary_factor": 0.75}})")
                .partial_rotary_factor,
            0.75);
}

TEST(Config, RopeNumbersOutOfTheirRangeAreErrors) {
  for (const std::string_view text : {
           R"({"rope_theta": 0.0})",
           R"({"rope_theta": -5})",
           R"({"rope_local_base_freq": -1.0})",
           R"({"partial_rotary_factor": 1.5})",
           R"({"partial_rotary_factor": 0})",
           R"({"rope_scaling": {"rope_type": "llama3", "factor": 0}})",
           R"({"rope_scaling": {"type": "linear", "factor": -2.0}})",
           R"({"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 3}})",
           R"({"rope_scaling": {"type": "yarn", "factor": 8, "original_max_position_embeddings": 0}})",
           R"({"rope_scaling": {"type": "longrope", "long_factor": [1, 0], "short_factor": [1, 1]}})",
           R"({"rope_parameters": {"sliding_attention": {"rope_type": "linear", "factor": 0}}})",
       }) {
    const Config config = read(text);
    ASSERT_EQ(config.findings.size(), 1u) << text;
    EXPECT_EQ(config.findings[0].code, "hf-rope") << text;
    EXPECT_EQ(config.findings[0].severity, Severity::error) << text;
  }
}

TEST(Config, RopeNewGenerationOneLevel) {
  const Config config = read(R"({"rope_parameters": {"rope_theta": 500000.0, "rope_type": "llama3", "factor": 32.0,
    "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})");
  EXPECT_EQ(config.rope.theta, 500000.0);
  ASSERT_TRUE(config.rope.scaling);
  EXPECT_EQ(config.rope.scaling->type, "llama3");
  EXPECT_EQ(config.rope.scaling->low_freq_factor, 1.0);
  EXPECT_EQ(config.rope.scaling->high_freq_factor, 4.0);
  EXPECT_FALSE(config.rope.theta_local);
}

TEST(Config, RopeNewGenerationTwoLevels) {
  const Config config = read(R"({"rope_parameters": {
    "full_attention": {"rope_theta": 1000000.0, "rope_type": "linear", "factor": 8.0},
    "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}}})");
  EXPECT_EQ(config.rope.theta, 1000000.0);
  EXPECT_EQ(config.rope.theta_local, 10000.0);
  ASSERT_TRUE(config.rope.scaling);
  EXPECT_EQ(config.rope.scaling->type, "linear");
  EXPECT_FALSE(config.rope.scaling_local);
}

TEST(Config, RopeDefaultIsNoScalingAndAliasesCount) {
  const Config config =
      read(R"({"global_rope_theta": 7.0, "local_rope_theta": 3, "rope_scaling": {"rope_type": "default"}})");
  EXPECT_FALSE(config.rope.scaling);
  EXPECT_EQ(config.rope.theta, 7.0);
  EXPECT_EQ(config.rope.theta_local, 3.0);
}

TEST(Config, RopeLongFactors) {
  const Config config = read(R"({"original_max_position_embeddings": 4096, "rope_scaling": {"type": "longrope",
    "short_factor": [1, 1.5], "long_factor": [2, "x"], "short_mscale": 1.1}})");
  ASSERT_TRUE(config.rope.scaling);
  EXPECT_EQ(config.rope.scaling->short_factor, (std::vector<double>{1, 1.5}));
  EXPECT_TRUE(config.rope.scaling->long_factor.empty()) << "not all numbers";
  EXPECT_EQ(config.rope.scaling->short_mscale, 1.1);
  EXPECT_EQ(config.u64_field("original_max_position_embeddings"), 4096u);
}

TEST(Config, RemarksFieldsOfTheWrongType) {
  const Config config = read(R"({"hidden_size": "64", "num_hidden_layers": -2, "vocab_size": 1.5, "rms_norm_eps": true,
    "architectures": "Llama", "eos_token_id": [1, "x"], "rope_scaling": 3, "tie_word_embeddings": "no",
    "model_type": 4, "layer_types": [1], "bos_token_id": 7})");
  EXPECT_FALSE(config.u64_field(fields::width));
  EXPECT_FALSE(config.block_count);
  EXPECT_FALSE(config.vocab_size);
  EXPECT_FALSE(config.tie_word_embeddings);
  ASSERT_EQ(config.findings.size(), 10u);
  for (const Finding& finding : config.findings) {
    EXPECT_EQ(finding.code, "hf-config-field");
    EXPECT_EQ(finding.scope, Scope::model) << "a dumper does not fail for it";
  }
  EXPECT_EQ(config.findings[0].where, "config.json field 'num_hidden_layers'");
}

TEST(Config, GivesRawFields) {
  const Config config = read(R"({"a": 1, "b": 2.5, "c": "x", "d": true, "e": null, "text_config": {"a": 4}})");
  EXPECT_EQ(config.u64_field("a"), 4u);
  EXPECT_EQ(config.number_field("b"), 2.5);
  EXPECT_EQ(config.string_field("c"), "x");
  EXPECT_EQ(config.bool_field("d"), true);
  EXPECT_FALSE(config.field("e"));
  EXPECT_FALSE(config.u64_field("c"));
  EXPECT_FALSE(Config{}.field("a"));
}

TEST(Config, FieldsMayHaveSeveralNames) {
  const Config config = read(R"({"a": "x", "b": 2, "c": 3, "d": [4, 4], "e": null})");
  EXPECT_EQ(config.u64_field("z|a|b|c"), 2u) << "the first with such a value";
  EXPECT_EQ(config.string_field("c|a"), "x");
  EXPECT_EQ(config.count_field("a|d|b"), 4u);
  EXPECT_EQ(config.u64_field("a|d|b"), 2u);
  EXPECT_TRUE(config.field("e|a"));
  EXPECT_FALSE(config.field("e|z"));
  EXPECT_FALSE(config.field(""));
}

TEST(Config, StaysValidWhenCopied) {
  Config copy;
  {
    const Config config = read(R"({"model_type": "x", "quantization": {"bits": 4}})");
    copy = config;
  }
  EXPECT_EQ(copy.string_field("model_type"), "x");
  EXPECT_EQ(json::u64_member(*copy.quantization, "bits"), 4u);
}

TEST(Config, RefusesWhatIsNoObject) {
  for (const char* text : {"[]", "3", "null", "\"x\""}) {
    const auto config = parse_config(text, "config.json");
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().code, "hf-config-not-object");
  }
  EXPECT_EQ(parse_config("{", "config.json").error().code, "json-syntax");
  const test::TempDir folder;
  EXPECT_FALSE(load_config(folder.path()).value());
  folder.write("config.json", R"({"head_dim": 3})");
  EXPECT_EQ(load_config(folder.path()).value()->u64_field("head_dim"), 3u);
  folder.write("broken/config.json/x", "");
  EXPECT_EQ(load_config(folder.file("broken")).error().code, "io-directory");
}

TEST(Config, TellsForeignMethods) {
  const Config config = read(R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})");
  EXPECT_EQ(config.quant_method, "gptq");
}

TEST(Config, TakesTheNumbersThatPythonWrites) {
  const auto config = parse_config(R"({"time_step_limit": [0.0, Infinity], "num_hidden_layers": 3})", "config.json");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->block_count, 3u);
}

}  // namespace
}  // namespace modelutils::hf
