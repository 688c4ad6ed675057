// Refusals and remarks of gguf2bump: nothing is lost silently.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "convert/to_bump/gguf_to_bump.h"
#include "convert/to_bump/mapping.h"
#include "json/reader.h"
#include "support/llama_model.h"
#include "support/reference_bump.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::LlamaModel;
using test::LlamaShape;
using test::TempDir;

Result<GgufToBumpReport> convert_gguf_to_bump(const GgufToBumpOptions& options) {
  Progress silent;
  return modelutils::convert_gguf_to_bump(options, silent);
}

class Refusal : public testing::Test {
 protected:
  GgufToBumpOptions options(const std::string& bytes) {
    GgufToBumpOptions options;
    options.input = folder_.write("model.gguf", bytes);
    options.output = folder_.file("weights.bump");
    return options;
  }
  Result<GgufToBumpReport> convert(const LlamaModel& model) {
    options_ = options(model.build());
    options_.request.drop = drop_;
    options_.no_config = no_config_;
    return convert_gguf_to_bump(options_);
  }
  /// Returns the refusals as lines "code where: message"; checks that nothing was written.
  std::vector<std::string> refusals(const LlamaModel& model) {
    std::filesystem::remove(folder_.file("weights.bump"));
    std::filesystem::remove(folder_.file("config.json"));
    const auto report = convert(model);
    std::vector<std::string> lines;
    if (!report) {
      lines.push_back(report.error().code + " " + report.error().where + ": " + report.error().message);
    } else {
      for (const Error& error : report->refusals) {
        lines.push_back(error.code + " " + error.where + ": " + error.message);
        EXPECT_EQ(error.kind, ErrorKind::input);
        EXPECT_EQ(error.file, options_.input);
      }
    }
    if (!lines.empty()) {
      EXPECT_FALSE(std::filesystem::exists(folder_.file("weights.bump")));
      EXPECT_FALSE(std::filesystem::exists(folder_.file("config.json")));
      EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);  // only the model
    }
    return lines;
  }
  /// Expects exactly one refusal, with this code and text.
  void expect_refusal(const LlamaModel& model, const std::string& code, const std::string& text) {
    const auto lines = refusals(model);
    ASSERT_EQ(lines.size(), 1u) << (lines.empty() ? "" : lines[0] + "\n" + lines.back());
    EXPECT_EQ(lines[0].substr(0, lines[0].find(' ')), code) << lines[0];
    EXPECT_NE(lines[0].find(text), std::string::npos) << lines[0];
  }

  TempDir folder_;
  GgufToBumpOptions options_;
  bool no_config_ = false;
  std::vector<std::string> drop_;
};

TEST_F(Refusal, EveryRequiredTensor) {
  for (const std::string name :
       {"token_embd.weight", "output_norm.weight", "blk.1.attn_norm.weight", "blk.1.ffn_norm.weight",
        "blk.1.attn_q.weight", "blk.1.attn_k.weight", "blk.1.attn_v.weight", "blk.1.attn_output.weight",
        "blk.1.ffn_gate.weight", "blk.1.ffn_up.weight", "blk.1.ffn_down.weight"}) {
    LlamaModel model{LlamaShape{}};
    model.remove(name);
    const auto lines = refusals(model);
    ASSERT_EQ(lines.size(), 1u) << name;
    EXPECT_NE(lines[0].find(name), std::string::npos) << lines[0];
  }
}

TEST_F(Refusal, MissingKeys) {
  for (const std::string key : {"block_count", "embedding_length", "feed_forward_length", "attention.head_count",
                                "context_length", "attention.layer_norm_rms_epsilon"}) {
    LlamaModel model{LlamaShape{}};
    model.without = {key};
    const auto lines = refusals(model);
    ASSERT_FALSE(lines.empty()) << key;
    EXPECT_NE(lines[0].find("llama." + key), std::string::npos) << lines[0];
  }
}

TEST_F(Refusal, KeysWithDefaults) {
  LlamaShape shape;
  shape.kv_heads = shape.heads;
  LlamaModel model(shape);
  model.without = {"attention.head_count_kv", "rope.freq_base", "attention.layer_norm_rms_epsilon"};
  model.more_keys = [](test::GgufBuilder& file) { file.key_f32("llama.norm_rms_eps", 1e-6f); };
  const auto report = convert(model);
  ASSERT_TRUE(report);
  ASSERT_TRUE(report->refusals.empty()) << report->refusals[0].message;
  EXPECT_EQ(report->mapping.hyper.dimensions.kv_heads, shape.heads);
  EXPECT_NE(report->config_text.find("\"rms_norm_eps\": 1e-06,"), std::string::npos) << report->config_text;
  EXPECT_NE(report->config_text.find("\"rope_theta\": 10000.0,"), std::string::npos);
}

TEST_F(Refusal, OldFilesWithoutContextTakeOneFromTheUser) {
  LlamaModel model{LlamaShape{}};
  model.without = {"context_length"};
  GgufToBumpOptions with_context = options(model.build());
  with_context.request.context = 40;
  const auto report = convert_gguf_to_bump(with_context);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->refusals.empty());
  EXPECT_EQ(report->mapping.hyper.dimensions.context, 40u);
}

TEST_F(Refusal, KeysPerLayer) {
  LlamaModel model{LlamaShape{}};
  model.without = {"attention.head_count_kv"};
  model.more_keys = [](test::GgufBuilder& file) { file.key_array<u32>("llama.attention.head_count_kv", {2, 2}); };
  EXPECT_TRUE(refusals(model).empty());
  model.more_keys = [](test::GgufBuilder& file) { file.key_array<u32>("llama.attention.head_count_kv", {2, 1}); };
  expect_refusal(model, "gguf2bump-per-layer", "llama.attention.head_count_kv");
}

TEST_F(Refusal, ShapesThatContradictTheKeys) {
  LlamaModel model{LlamaShape{}};
  model.shape.kv_heads = 1;
  const auto lines = refusals(model);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0].substr(0, 15), "gguf2bump-shape") << lines[0];
  EXPECT_NE(lines[0].find("blk.0.attn_k.weight"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("and 1 more like 'blk.*.attn_k.weight'"), std::string::npos) << lines[0];
}

TEST_F(Refusal, HeadsThatDoNotFit) {
  LlamaModel model{LlamaShape{}};
  model.shape.kv_heads = 3;
  EXPECT_NE(refusals(model)[0].find("does not divide"), std::string::npos);
  LlamaModel value_length{LlamaShape{}};
  value_length.more_keys = [](test::GgufBuilder& file) { file.key_u32("llama.attention.value_length", 32); };
  EXPECT_NE(refusals(value_length)[0].find("llama.attention.value_length"), std::string::npos);
}

TEST_F(Refusal, TypesThatTheLayoutCannotHold) {
  LlamaModel norm{LlamaShape{}};
  norm.tensor("blk.1.ffn_norm.weight").type = test::ggml_q8_0;
  norm.tensor("blk.1.ffn_norm.weight").data = test::random_tensor(test::ggml_q8_0, 64, 3);
  expect_refusal(norm, "gguf2bump-norm-type", "blk.1.ffn_norm.weight");

  LlamaModel gate_up{LlamaShape{}};
  gate_up.tensor("blk.0.ffn_up.weight").type = test::ggml_q4_0;
  gate_up.tensor("blk.0.ffn_up.weight").data = test::random_tensor(test::ggml_q4_0, 64 * 96, 3);
  expect_refusal(gate_up, "gguf2bump-gate-up", "blk.0.ffn_up.weight");

  LlamaShape shape;
  shape.embed = 256;
  shape.intermediate = 256;
  shape.head_dim = 64;
  shape.down_type = test::ggml_q2_k;
  expect_refusal(LlamaModel(shape), "gguf2bump-type", "Q2_K");
}

TEST_F(Refusal, PaddedHeadsOfHalfABlock) {
  const LlamaModel model{LlamaShape{}};  // head size 16, blocks of 32
  GgufToBumpOptions padded = options(model.build());
  padded.request.align_head = 32;
  const auto report = convert_gguf_to_bump(padded);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->refusals.size(), 1u);
  EXPECT_EQ(report->refusals[0].code, "gguf2bump-align-head");
}

TEST_F(Refusal, TensorsWithoutAPlace) {
  struct Case {
    const char* name;
    std::vector<u64> ne;
  };
  const Case cases[] = {{"blk.0.attn_q_norm.weight", {16}},
                        {"blk.1.post_attention_norm.weight", {64}},
                        {"blk.0.attn_norm.bias", {64}},
                        {"output_norm.bias", {64}},
                        {"rope_factors_long.weight", {8}},
                        {"blk.0.ffn_gate_inp.weight", {64, 4}},
                        {"output.bias", {12}}};
  for (const Case& item : cases) {
    LlamaModel model{LlamaShape{}};
    model.add(item.name, item.ne, test::ggml_f32);
    drop_.clear();
    options_.no_config = true;
    const auto lines = refusals(model);
    ASSERT_FALSE(lines.empty()) << item.name;
    EXPECT_EQ(lines[0].substr(0, 18), "gguf2bump-no-place") << lines[0];
    EXPECT_NE(lines[0].find(item.name), std::string::npos) << lines[0];
    EXPECT_NE(lines[0].find("--drop"), std::string::npos) << lines[0];
  }
}

TEST_F(Refusal, QwenThreeNeedsToBeAllowedToLoseItsNorms) {
  LlamaShape shape;
  shape.architecture = "qwen3";
  LlamaModel model(shape);
  for (const char* name : {"blk.0.attn_q_norm.weight", "blk.1.attn_q_norm.weight", "blk.0.attn_k_norm.weight",
                           "blk.1.attn_k_norm.weight"}) {
    model.add(name, {16}, test::ggml_f32);
  }
  const auto lines = refusals(model);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("--drop 'blk.*.attn_q_norm.weight'"), std::string::npos) << lines[0];
  drop_ = {"blk.*.attn_?_norm.weight"};
  const auto report = convert(model);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->refusals.empty());
  EXPECT_EQ(report->mapping.unplaced.size(), 4u);
  EXPECT_NE(report->config_text.find("Qwen3ForCausalLM"), std::string::npos);
}

TEST_F(Refusal, FusedAndExpertTensorsAreNamedOnce) {
  LlamaModel fused{LlamaShape{}};
  for (const char* layer : {"blk.0.", "blk.1."}) {
    for (const char* role : {"attn_q.weight", "attn_k.weight", "attn_v.weight"})
      fused.remove(std::string(layer) + role);
    fused.add(std::string(layer) + "attn_qkv.weight", {64, 128}, test::ggml_q8_0);
  }
  expect_refusal(fused, "gguf2bump-no-place", "fused");

  LlamaModel experts{LlamaShape{}};
  experts.shape.layers = 1;
  std::erase_if(experts.tensors, [](const test::LlamaTensor& t) { return t.name.starts_with("blk.1."); });
  for (const char* role : {"ffn_gate", "ffn_up", "ffn_down"}) experts.remove(fmt::format("blk.0.{}.weight", role));
  experts.add("blk.0.ffn_gate_inp.weight", {64, 4}, test::ggml_f32);
  experts.add("blk.0.ffn_gate_exps.weight", {64, 32, 4}, test::ggml_q8_0);
  const auto lines = refusals(experts);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[1].find("ffn_gate_exps"), std::string::npos);
}

TEST_F(Refusal, OutputHeads) {
  LlamaModel tied{LlamaShape{}};
  tied.add("output.weight", {64, 12}, test::ggml_q8_0);
  tied.tensor("output.weight").data = tied.tensor("token_embd.weight").data;
  const auto same = convert(tied);
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->refusals.empty());
  EXPECT_NE(same->config_text.find("\"tie_word_embeddings\": true"), std::string::npos);

  LlamaModel untied = tied;
  untied.tensor("output.weight").data.back() ^= 1;
  expect_refusal(untied, "gguf2bump-output", "output.weight");

  drop_ = {"output.weight"};
  std::filesystem::remove(folder_.file("weights.bump"));
  std::filesystem::remove(folder_.file("config.json"));
  const auto dropped = convert(untied);
  ASSERT_TRUE(dropped);
  EXPECT_TRUE(dropped->refusals.empty());
  ASSERT_EQ(dropped->mapping.unplaced.size(), 1u);
  EXPECT_TRUE(dropped->mapping.unplaced[0].dropped);
  EXPECT_NE(dropped->config_text.find("\"tie_word_embeddings\": false"), std::string::npos);

  drop_.clear();
  LlamaModel other_type{LlamaShape{}};
  other_type.add("output.weight", {64, 12}, test::ggml_f16);
  expect_refusal(other_type, "gguf2bump-no-place", "output.weight");
}

LlamaModel model_with_long_heads() {
  LlamaShape shape;
  shape.head_dim = 128;
  shape.heads = 1;
  shape.kv_heads = 1;
  LlamaModel model(shape);
  model.rope_theta = 500000;
  return model;
}

TEST_F(Refusal, RopeFreqsThatConfigCanSay) {
  for (const Llama3Rope rope : {Llama3Rope{8, 1, 4, 8192}, Llama3Rope{32, 1, 4, 8192}, Llama3Rope{16, 1, 4, 4096},
                                Llama3Rope{64, 1, 8, 32768}}) {
    std::filesystem::remove(folder_.file("weights.bump"));
    std::filesystem::remove(folder_.file("config.json"));
    LlamaModel model = model_with_long_heads();
    model.add_rope_freqs(llama3_rope_freqs(500000, 128, rope));
    const auto report = convert(model);
    ASSERT_TRUE(report);
    ASSERT_TRUE(report->refusals.empty()) << report->refusals[0].message;
    ASSERT_TRUE(report->rope);
    EXPECT_EQ(report->rope->factor, rope.factor);
    EXPECT_EQ(report->rope->original_context, rope.original_context);
    const auto config = json::load(folder_.file("config.json"));
    ASSERT_TRUE(config);
    const auto scaling = json::member((*config)->root, "rope_scaling");
    ASSERT_TRUE(scaling);
    EXPECT_EQ(json::string_member(*scaling, "rope_type"), "llama3");
    EXPECT_EQ(json::number_member(*scaling, "factor"), rope.factor);
    EXPECT_EQ(json::u64_member(*scaling, "original_max_position_embeddings"), rope.original_context);
  }
}

TEST_F(Refusal, RopeFreqsWithoutAConfigAreLost) {
  LlamaModel model = model_with_long_heads();
  model.add_rope_freqs(llama3_rope_freqs(500000, 128, {}));
  const auto with_config = convert(model);
  ASSERT_TRUE(with_config);
  ASSERT_EQ(with_config->notes.size(), 1u);
  EXPECT_TRUE(with_config->notes[0].starts_with("Q and K"));
  std::filesystem::remove(folder_.file("weights.bump"));
  no_config_ = true;
  const auto report = convert(model);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->refusals.size(), 1u);
  EXPECT_EQ(report->refusals[0].code, "gguf2bump-rope-freqs");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("weights.bump")));
}

TEST_F(Refusal, RopeFreqsThatConfigCannotSay) {
  LlamaModel model = model_with_long_heads();
  std::vector<float> freqs = llama3_rope_freqs(500000, 128, {});
  freqs[30] *= 1.01f;
  model.add_rope_freqs(freqs);
  expect_refusal(model, "gguf2bump-rope-freqs", "rope_freqs.weight");
  drop_ = {"rope_freqs.weight"};
  const auto report = convert(model);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->refusals.empty());
  EXPECT_EQ(report->config_text.find("rope_scaling"), std::string::npos);
}

TEST_F(Refusal, ScalingByKeys) {
  LlamaModel model{LlamaShape{}};
  model.more_keys = [](test::GgufBuilder& file) {
    file.key_string("llama.rope.scaling.type", "yarn");
    file.key_f32("llama.rope.scaling.factor", 4);
    file.key_u32("llama.rope.scaling.original_context_length", 4096);
    file.key_u32("tokenizer.ggml.bos_token_id", 1);
    file.key_u32("tokenizer.ggml.eos_token_id", 2);
    file.key_u32("llama.rope.dimension_count", 8);
  };
  const auto report = convert(model);
  ASSERT_TRUE(report);
  ASSERT_TRUE(report->refusals.empty()) << report->refusals[0].message;
  const auto config = json::load(folder_.file("config.json"));
  ASSERT_TRUE(config);
  const json::Element root = (*config)->root;
  const auto scaling = json::member(root, "rope_scaling");
  ASSERT_TRUE(scaling);
  EXPECT_EQ(json::string_member(*scaling, "rope_type"), "yarn");
  EXPECT_EQ(json::u64_member(*scaling, "original_max_position_embeddings"), 4096u);
  EXPECT_EQ(json::u64_member(root, "bos_token_id"), 1u);
  EXPECT_EQ(json::u64_member(root, "eos_token_id"), 2u);
  EXPECT_EQ(json::number_member(root, "partial_rotary_factor"), 0.5);

  model.more_keys = [](test::GgufBuilder& file) { file.key_string("llama.rope.scaling.type", "longrope"); };
  expect_refusal(model, "gguf2bump-rope-scaling", "longrope");
}

TEST_F(Refusal, ArchitecturesWithoutAName) {
  LlamaShape shape;
  shape.architecture = "unheard-of";
  expect_refusal(LlamaModel(shape), "gguf2bump-architecture", "unheard-of");
  GgufToBumpOptions weights_only = options(LlamaModel(shape).build());
  weights_only.no_config = true;
  const auto report = convert_gguf_to_bump(weights_only);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->refusals.empty());
  EXPECT_FALSE(std::filesystem::exists(folder_.file("config.json")));
}

TEST_F(Refusal, HeadsWithoutHalves) {
  LlamaModel model{LlamaShape()};
  model.more_keys = [](test::GgufBuilder& file) { file.key_u32("llama.rope.dimension_count", 15); };
  GgufToBumpOptions repacked = options(model.build());
  repacked.request.split_halves = true;
  const auto report = convert_gguf_to_bump(repacked);
  ASSERT_TRUE(report);
  ASSERT_FALSE(report->refusals.empty());
  EXPECT_EQ(report->refusals[0].code, "gguf2bump-repack");
}

TEST_F(Refusal, BrokenFiles) {
  const std::string good = LlamaModel(LlamaShape{}).build();
  const auto code_of = [&](const std::string& bytes) {
    const auto report = convert_gguf_to_bump(options(bytes));
    return report ? std::string("accepted") : report.error().code.substr(0, 5);
  };
  EXPECT_EQ(code_of(good.substr(0, good.size() - 100)), "gguf-");
  EXPECT_EQ(code_of(good.substr(0, 300)), "gguf-");
  EXPECT_EQ(code_of("no model at all"), "gguf-");
  EXPECT_EQ(code_of(""), "gguf-");
}

TEST_F(Refusal, OutputsThatExist) {
  const LlamaModel model{LlamaShape{}};
  folder_.write("config.json", "{\"mine\":1}");
  const auto config = convert(model);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, "out-exists");
  EXPECT_EQ(test::read_file(folder_.file("config.json")), "{\"mine\":1}");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("weights.bump")));
  options_.force = true;
  ASSERT_TRUE(convert_gguf_to_bump(options_));
  EXPECT_NE(test::read_file(folder_.file("config.json")).find("LlamaForCausalLM"), std::string::npos);
}

TEST_F(Refusal, CombinationsThatMakeNoSense) {
  GgufToBumpOptions wrong = options(LlamaModel(LlamaShape{}).build());
  const auto is_usage_error = [](const GgufToBumpOptions& given) {
    const auto report = convert_gguf_to_bump(given);
    return !report && report.error().kind == ErrorKind::usage;
  };
  wrong.config = wrong.output;
  EXPECT_TRUE(is_usage_error(wrong));
  wrong.config = folder_.file("c.json");
  wrong.no_config = true;
  EXPECT_TRUE(is_usage_error(wrong));
  wrong.no_config = false;
  wrong.output.reset();
  EXPECT_TRUE(is_usage_error(wrong));
  wrong.dry_run = true;
  EXPECT_FALSE(is_usage_error(wrong));
  wrong.request.context = 0;
  EXPECT_TRUE(is_usage_error(wrong));
  wrong.request.context = 8;
  wrong.request.align_head = 0;
  EXPECT_TRUE(is_usage_error(wrong));
  wrong.request.align_head = 1;
  wrong.output = "-";
  wrong.manifest = "-";
  EXPECT_TRUE(is_usage_error(wrong));
}

TEST_F(Refusal, DryRunsWriteNothing) {
  GgufToBumpOptions dry = options(LlamaModel(LlamaShape{}).build());
  dry.dry_run = true;
  const auto report = convert_gguf_to_bump(dry);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->refusals.empty());
  EXPECT_GT(report->mapping.file_size, 0u);
  EXPECT_FALSE(report->config_text.empty());
  EXPECT_FALSE(std::filesystem::exists(folder_.file("weights.bump")));
}

}  // namespace
}  // namespace modelutils
