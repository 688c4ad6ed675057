// BUMPWGT5: compares the converter with the reference writer on generated models, and checks refusals.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <random>

#include "convert/to_bump/gguf_to_bump.h"
#include "support/reference_bump5.h"
#include "support/temp_dir.h"
#include "support/tokenizer_builder.h"

namespace modelutils {
namespace {

using test::bump5_model;
using test::Bump5Traits;
using test::LlamaModel;
using test::LlamaShape;
using test::read_file;
using test::TempDir;

constexpr const char* creator5 = "gguf2bump (modelutils)";
constexpr const char* architectures5[] = {"llama", "qwen2", "qwen3", "gemma3"};

Result<GgufToBumpReport> convert_v5(const GgufToBumpOptions& options) {
  Progress silent;
  return convert_gguf_to_bump(options, silent);
}

GgufToBumpOptions options5(const TempDir& folder, const LlamaModel& model) {
  GgufToBumpOptions options;
  options.input = folder.write("model.gguf", model.build());
  options.output = folder.file("out") + "/";
  options.request.version = 5;
  return options;
}

// Compares all four files; reports conversion errors as test failures.
void expect_four_files(const LlamaModel& model, const Bump5Traits& traits, std::optional<u64> context = {}) {
  const TempDir folder;
  GgufToBumpOptions options = options5(folder, model);
  options.request.context = context;
  const auto report = convert_v5(options);
  ASSERT_TRUE(report) << report.error().message;
  for (const Error& refusal : report->refusals) ADD_FAILURE() << refusal.where << ": " << refusal.message;
  if (!report->refusals.empty()) return;
  const test::ReferenceBump5 expected = test::reference_bump5(model, traits, creator5, context.value_or(0));
  const std::string found = read_file(folder.file("out/weights.bump"));
  EXPECT_EQ(found.substr(0, 152), expected.weights.substr(0, 152)) << "header";
  for (const test::ReferenceEntry5& entry : expected.entries) {
    EXPECT_TRUE(found.substr(std::min<u64>(entry.offset, found.size()), entry.bytes.size()) == entry.bytes)
        << entry.name;
  }
  EXPECT_EQ(found.substr(std::min<u64>(expected.payload_end, found.size())),
            expected.weights.substr(expected.payload_end));
  EXPECT_TRUE(found == expected.weights);
  EXPECT_EQ(read_file(folder.file("out/weights_manifest.json")), expected.manifest);
  EXPECT_EQ(read_file(folder.file("out/weights_manifest.map")), expected.map);
  EXPECT_EQ(read_file(folder.file("out/config.json")), expected.config);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.file("out")), {}), 4);
  EXPECT_EQ(report->file_size, expected.weights.size());
}

struct Type5 {
  u32 type;
  u64 block;
  bool is_refused_in_gemma;
};
constexpr Type5 types5[] = {
    {test::ggml_f32, 1, false},   {test::ggml_f16, 1, false},   {test::ggml_bf16, 1, false},
    {test::ggml_q8_0, 32, false}, {test::ggml_q4_0, 32, false}, {test::ggml_q4_1, 32, false},
    {test::ggml_q5_0, 32, false}, {test::ggml_q5_1, 32, false}, {test::ggml_q4_k, 256, true},
    {test::ggml_q5_k, 256, true}, {test::ggml_q6_k, 256, true},
};

TEST(GgufToBump5, EveryTypeInEveryArchitecture) {
  for (const char* architecture : architectures5) {
    for (const Type5& type : types5) {
      SCOPED_TRACE(fmt::format("{}, type {}", architecture, type.type));
      LlamaShape shape;
      shape.architecture = architecture;
      shape.layers = 1;
      shape.embed = 256;
      shape.intermediate = 256;
      shape.head_dim = 64;
      shape.weight_type = shape.down_type = type.type;
      Bump5Traits traits;
      traits.vocabulary = test::tiny_tokens("llama");
      LlamaModel model = bump5_model(shape, traits);
      if (type.is_refused_in_gemma && shape.architecture == "gemma3") {
        for (const char* name : {"blk.0.ffn_gate.weight", "blk.0.ffn_up.weight"}) {
          test::LlamaTensor& tensor = model.tensor(name);
          tensor.type = test::ggml_q8_0;
          tensor.data = test::random_tensor(test::ggml_q8_0, 256 * 256, 5);
        }
      }
      if (shape.architecture != "gemma3") model.add("output.weight", {shape.embed, shape.vocab}, type.type);
      expect_four_files(model, traits);
    }
  }
}

TEST(GgufToBump5, RandomModels) {
  std::mt19937 random(11);
  const auto one_of = [&](auto... values) {
    const u64 all[] = {static_cast<u64>(values)...};
    return all[random() % std::size(all)];
  };
  for (u32 round = 0; round < 40; ++round) {
    LlamaShape s;
    s.architecture = architectures5[round % 4];
    s.seed = round + 1;
    s.layers = 1 + random() % 4;
    s.vocab = 12 + random() % 30;
    s.kv_heads = one_of(1, 2, 3);
    s.heads = s.kv_heads * one_of(1, 2, 4);
    const Type5& type = types5[random() % 8];
    const Type5& down = types5[random() % 8];
    s.embed = 32 * (1 + random() % 3);
    s.head_dim = 32 * (1 + random() % 2);
    s.intermediate = 32 * (1 + random() % 4);
    s.context = 1 + random() % 50;
    s.weight_type = type.type;
    s.down_type = down.type;
    s.norm_type = static_cast<u32>(one_of(test::ggml_f32, test::ggml_f16, test::ggml_bf16));
    s.qkv_bias = random() % 2 == 0;
    s.output_bias = random() % 2 == 0;
    s.mlp_bias = random() % 2 == 0;
    Bump5Traits traits;
    const char* const models[] = {"llama", "gpt2", "t5"};
    if (random() % 4 != 0) traits.vocabulary = test::tiny_tokens(models[random() % 3]);
    if (s.architecture != "gemma3" && random() % 2 == 0) traits.linear_scaling = 4;
    if (s.architecture == "gemma3") traits.sliding_window = 1 + random() % 99;
    LlamaModel model = bump5_model(s, traits);
    model.alignment = one_of(8, 32, 64);
    model.rope_theta = random() % 2 == 0 ? 10000 : 1e6f;
    model.rms_eps = random() % 2 == 0 ? 1e-5f : 1e-6f;
    if (random() % 2 == 0) model.add("output.weight", {s.embed, s.vocab}, type.type);
    SCOPED_TRACE(fmt::format("round {}: {}, type {}, down {}", round, s.architecture, type.type, down.type));
    expect_four_files(model, traits, random() % 3 == 0 ? std::optional<u64>(1 + random() % 100) : std::nullopt);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(GgufToBump5, GateAndUpOfTwoTypesThatBecomeOne) {
  LlamaModel model = bump5_model({}, {});
  test::LlamaTensor& up = model.tensor("blk.1.ffn_up.weight");
  up.type = test::ggml_q4_0;
  up.data = test::random_tensor(up.type, 64 * 96, 3);
  expect_four_files(model, {});
}

TEST(GgufToBump5, TheOtherNameOfTheLastNorm) {
  LlamaShape shape;
  shape.architecture = "gemma3";
  LlamaModel model = bump5_model(shape, {});
  model.tensor("blk.0.post_ffw_norm.weight").name = "blk.0.post_ffn_norm.weight";
  expect_four_files(model, {});
}

// Refusals of a model, as "code where: message"; nothing may have been written.
class Refusal5 : public testing::Test {
 protected:
  std::string refusal(const LlamaModel& model, const std::vector<std::string>& drop = {}) {
    const TempDir folder;
    GgufToBumpOptions options = options5(folder, model);
    options.request.drop = drop;
    const auto report = convert_v5(options);
    std::string text;
    if (!report) return report.error().code;
    for (const Error& error : report->refusals)
      text += fmt::format("{} {}: {}\n", error.code, error.where, error.message);
    EXPECT_EQ(std::filesystem::exists(folder.file("out")), report->refusals.empty());
    return text;
  }
  static LlamaModel model_of(const char* architecture, u32 type = test::ggml_q8_0) {
    LlamaShape shape;
    shape.architecture = architecture;
    shape.weight_type = shape.down_type = type;
    if (type == test::ggml_q2_k || type == test::ggml_q4_k) shape.embed = shape.intermediate = 256, shape.head_dim = 64;
    return bump5_model(shape, {});
  }
};

TEST_F(Refusal5, Architectures) {
  for (const char* name : {"mistral", "qwen35", "gemma2", "qwen3vl"}) {
    EXPECT_TRUE(refusal(model_of(name)).starts_with("gguf2bump-architecture key 'general.architecture': is '"));
  }
}

TEST_F(Refusal5, TypesWithoutKernel) {
  const std::string text = refusal(model_of("llama", test::ggml_q2_k));
  EXPECT_NE(text.find("gguf2bump-type tensor 'token_embd.weight': is Q2_K"), std::string::npos) << text;
  EXPECT_NE(text.find("quantise the model to Q8_0, Q6_K or Q4_K"), std::string::npos) << text;
  const std::string gemma = refusal(model_of("gemma3", test::ggml_q4_k));
  EXPECT_NE(gemma.find("gguf2bump-type tensor 'blk.0.ffn_gate.weight': is Q4_K"), std::string::npos) << gemma;
  EXPECT_EQ(gemma.find("attn_q"), std::string::npos) << gemma;
}

TEST_F(Refusal5, GateAndUpOfTwoTypes) {
  LlamaModel model = model_of("llama");
  test::LlamaTensor& up = model.tensor("blk.0.ffn_up.weight");
  up.type = test::ggml_f32;
  up.data = test::random_tensor(up.type, 64 * 96, 3);
  EXPECT_TRUE(refusal(model).starts_with("gguf2bump-gate-up tensor 'blk.0.ffn_up.weight'"));
}

TEST_F(Refusal5, TensorsWithoutPlace) {
  LlamaModel model = model_of("llama");
  model.add_rope_freqs(std::vector<float>(8, 1.0f));
  EXPECT_TRUE(refusal(model).starts_with("gguf2bump-no-place tensor 'rope_freqs.weight'"));
  EXPECT_EQ(refusal(model, {"rope_freqs.weight"}), "");
  model = model_of("llama");
  model.add("blk.0.attn_q_norm.weight", {16}, test::ggml_f32);
  EXPECT_TRUE(refusal(model).starts_with("gguf2bump-no-place tensor 'blk.0.attn_q_norm.weight'"));
  model = model_of("qwen3");
  model.add("blk.1.ffn_gate_inp.weight", {64, 4}, test::ggml_f32);
  EXPECT_TRUE(
      refusal(model).starts_with("gguf2bump-no-place tensor 'blk.1.ffn_gate_inp.weight': BUMPWGT5 cannot hold"));
}

TEST_F(Refusal5, MissingNorms) {
  LlamaModel model = model_of("gemma3");
  model.remove("blk.1.post_attention_norm.weight");
  EXPECT_TRUE(refusal(model).starts_with("gguf2bump-missing tensor 'blk.1.post_attention_norm.weight'"));
  model = model_of("qwen3");
  model.remove("blk.0.attn_k_norm.weight");
  EXPECT_TRUE(refusal(model).starts_with("gguf2bump-missing tensor 'blk.0.attn_k_norm.weight'"));
}

TEST_F(Refusal5, ScalingOfPositions) {
  const auto scaled = [&](const char* architecture, const char* type, bool has_factor) {
    LlamaModel model = model_of(architecture);
    model.more_keys = [=](test::GgufBuilder& file) {
      file.key_string(std::string(architecture) + ".rope.scaling.type", type);
      if (has_factor) file.key_f32(std::string(architecture) + ".rope.scaling.factor", 4);
    };
    return refusal(model);
  };
  EXPECT_EQ(scaled("llama", "none", false), "");
  EXPECT_EQ(scaled("qwen2", "linear", true), "");
  EXPECT_TRUE(scaled("llama", "yarn", true).starts_with("gguf2bump-rope-scaling key 'llama.rope.scaling.type'"));
  EXPECT_TRUE(scaled("llama", "yarn", false).starts_with("gguf2bump-rope-scaling"));
  EXPECT_TRUE(scaled("gemma3", "linear", true).starts_with("gguf2bump-rope-scaling key 'gemma3.rope.scaling.type'"));
}

TEST_F(Refusal5, Numbers) {
  LlamaModel model = model_of("llama");
  model.without = {"attention.layer_norm_rms_epsilon"};
  EXPECT_TRUE(refusal(model).starts_with("gguf2bump-key key 'llama.attention.layer_norm_rms_epsilon'"));
  model = model_of("llama");
  model.rope_theta = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(refusal(model).starts_with("gguf2bump-key key 'llama.rope.freq_base'"));
  for (const u32 rotated : {15u, 18u}) {
    model = model_of("llama");
    model.more_keys = [=](test::GgufBuilder& file) { file.key_u32("llama.rope.dimension_count", rotated); };
    EXPECT_TRUE(refusal(model).starts_with("gguf2bump-key key 'llama.rope.dimension_count'"));
  }
}

TEST_F(Refusal5, Vocabularies) {
  const auto with = [&](const std::function<void(test::GgufBuilder&)>& keys) {
    LlamaModel model = model_of("llama");
    model.more_keys = [=](test::GgufBuilder& file) {
      file.key_string("tokenizer.ggml.model", "llama");
      file.key_strings("tokenizer.ggml.tokens", test::tiny_tokens("llama").tokens);
      keys(file);
    };
    return refusal(model);
  };
  std::vector<i32> types(12, 1);
  types[5] = 256;
  EXPECT_EQ(with([=](test::GgufBuilder& file) { file.key_array("tokenizer.ggml.token_type", types); }),
            "gguf2bump-vocabulary key 'tokenizer.ggml.token_type': has the element 256, but the file has one byte for "
            "each\n");
  const auto of_model = [&](const std::string& name) {
    LlamaModel model = model_of("llama");
    model.more_keys = [=](test::GgufBuilder& file) {
      file.key_string("tokenizer.ggml.model", name);
      const std::vector<std::string>& tokens = test::tiny_tokens("llama").tokens;
      file.key_strings("tokenizer.ggml.tokens", tokens);
      std::vector<float> scores(tokens.size());
      for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = -static_cast<float>(i);
      file.key_array("tokenizer.ggml.scores", scores);
      for (const std::string_view role : {"bos", "seperator", "unknown"}) {
        file.key_u32("tokenizer.ggml." + std::string(role) + "_token_id", 0);
      }
    };
    return refusal(model);
  };
  EXPECT_EQ(of_model("t5"), "");
  EXPECT_EQ(of_model("rwkv"),
            "gguf2bump-vocabulary key 'tokenizer.ggml.model': is 'rwkv', which the engine does not have\n");
  EXPECT_TRUE(of_model("bert").starts_with("gguf2bump-vocabulary")) << "its words are spelled in another way there";
}

TEST(GgufToBump5, UnigramVocabularies) {
  Bump5Traits traits;
  traits.vocabulary = test::tiny_tokens("t5");
  LlamaModel model = bump5_model({}, traits);
  expect_four_files(model, traits);
  const auto note = [&] {
    const TempDir folder;
    GgufToBumpOptions options = options5(folder, model);
    options.dry_run = true;
    const auto report = convert_v5(options);
    if (!report) return report.error().message;
    std::string notes;
    for (const std::string& one : report->notes) notes += one + "\n";
    return notes;
  };
  EXPECT_NE(note().find("several spaces in a row as one: such texts"), std::string::npos) << note();
  const auto keys = model.more_keys;
  model.more_keys = [=](test::GgufBuilder& file) {
    const std::string map = test::charsmap();
    keys(file);
    file.key_array<u8>("tokenizer.ggml.precompiled_charsmap", {map.begin(), map.end()});
  };
  EXPECT_NE(note().find("as one, and does not apply tokenizer.ggml.precompiled_charsmap"), std::string::npos) << note();
}

TEST(GgufToBump5, Notes) {
  Bump5Traits traits;
  traits.vocabulary = test::tiny_tokens("gpt2");
  traits.vocabulary.tokens[4] = std::string("b\0", 2);  // its merge is omitted, too
  LlamaShape shape;
  shape.weight_type = test::ggml_q4_0;
  LlamaModel model = bump5_model(shape, traits);
  model.add("output.weight", {shape.embed, shape.vocab}, test::ggml_f32);
  const TempDir folder;
  GgufToBumpOptions options = options5(folder, model);
  options.dry_run = true;
  const auto report = convert_v5(options);
  ASSERT_TRUE(report);
  std::string notes;
  for (const std::string& note : report->notes) notes += note + "\n";
  EXPECT_NE(notes.find("13 tensors of type Q4_0 are written as Q8_0"), std::string::npos) << notes;
  EXPECT_NE(notes.find("--logits-layout full"), std::string::npos) << notes;
  EXPECT_NE(notes.find("2 merges left out"), std::string::npos) << notes;
  EXPECT_NE(notes.find("1 token with a NUL"), std::string::npos) << notes;
  EXPECT_FALSE(std::filesystem::exists(folder.file("out")));

  shape.architecture = "gemma3";
  shape.layers = 6;
  model = bump5_model(shape, {});
  model.rope_theta = 1e6f;
  options = options5(folder, model);
  options.dry_run = true;
  const auto gemma = convert_v5(options);
  ASSERT_TRUE(gemma);
  notes.clear();
  for (const std::string& note : gemma->notes) notes += note + "\n";
  EXPECT_NE(notes.find("from the sixth layer on"), std::string::npos) << notes;
  EXPECT_NE(notes.find("the model has no tokens"), std::string::npos) << notes;
}

TEST(GgufToBump5, OutputsThatDoNotFitTogether) {
  const TempDir folder;
  GgufToBumpOptions options = options5(folder, bump5_model({}, {}));
  const auto error = [&](const std::function<void(GgufToBumpOptions&)>& change) {
    GgufToBumpOptions changed = options;
    change(changed);
    const auto report = convert_v5(changed);
    return report ? std::string() : report.error().code + ": " + report.error().message;
  };
  EXPECT_EQ(error([](auto& o) { o.request.align_head = 32; }),
            "usage: --align-head needs --bump-version 3: BUMPWGT5 does not pad heads");
  EXPECT_TRUE(
      error([](auto& o) { o.request.numbering = bump::Numbering::original; }).starts_with("usage: --dtype-codes"));
  EXPECT_TRUE(error([](auto& o) { o.no_config = true; }).starts_with("usage: --no-config"));
  EXPECT_TRUE(error([](auto& o) { o.request.version = 4; }).starts_with("usage: --bump-version"));
  EXPECT_TRUE(error([](auto& o) { o.output = "-"; }).starts_with("usage: if the weights do not go to a file"));
  if (test::is_posix) {
    EXPECT_TRUE(error([](auto& o) { o.manifest = "/dev/null"; }).starts_with("usage: --manifest must be a file"));
  }
  EXPECT_TRUE(error([&](auto& o) { o.manifest = o.config = folder.file("x.json"); }).starts_with("usage: two outputs"));
  EXPECT_TRUE(error([&](auto& o) { o.output = folder.file("no/such") + "/"; }).starts_with("out-open"));
  EXPECT_EQ(error([&](auto& o) { o.output = folder.file("other.bump"); }), "");
  EXPECT_TRUE(std::filesystem::exists(folder.file("weights_manifest.map")));
}

}  // namespace
}  // namespace modelutils
