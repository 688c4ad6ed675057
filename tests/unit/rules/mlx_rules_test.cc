// Plants one fault after another in a valid MLX directory.
#include "rules/directory/mlx_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/opened_model.h"
#include "support/safetensors_text.h"
#include "support/temp_dir.h"
#include "verify/verify.h"

namespace modelutils {
namespace {

using test::safetensors_bytes;

// A copy of the small 4-bit model in tests/data.
class MlxRules : public ::testing::Test {
 protected:
  MlxRules() {
    std::filesystem::copy(test::data_dir() + "/mlx/h96_bf16_4b_g32", folder_.file("m"),
                          std::filesystem::copy_options::recursive);
  }

  std::string file(const std::string& name) const { return folder_.file("m/" + name); }

  // Replaces the first occurrence, which must exist.
  void replace(const std::string& name, std::string_view from, std::string_view to) const {
    std::string text = test::read_file(file(name));
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    folder_.write("m/" + name, text);
  }

  // Returns the findings except notes, as "code@where".
  std::vector<std::string> check(Severity least = Severity::warning) const {
    const auto model = test::opened(folder_.file("m"), OutsideLinks::refuse);
    if (!model) return {model.error().code};  // verify reports it as a finding
    EXPECT_EQ(model->format, Format::mlx);
    const auto checked = check_model_directory(*model);
    std::vector<std::string> list;
    EXPECT_EQ(checked->catalog.format, Format::mlx);
    for (const Finding& finding : checked->findings.findings()) {
      if (finding.severity >= least) list.push_back(finding.code);
    }
    return list;
  }
  static bool has(const std::vector<std::string>& list, std::string_view code) {
    return std::ranges::find(list, code) != list.end();
  }

  const test::TempDir folder_;
};

using Codes = std::vector<std::string>;

TEST_F(MlxRules, ASoundModelIsSound) {
  EXPECT_EQ(check(), Codes{});
}

TEST_F(MlxRules, ConfigAgainstTensors) {
  replace("config.json", R"("num_hidden_layers": 2)", R"("num_hidden_layers": 3)");
  EXPECT_EQ(check(), Codes{"hf-layers"});
  replace("config.json", R"("num_hidden_layers": 3)", R"("num_hidden_layers": 2)");
  replace("config.json", R"("vocab_size": 320)", R"("vocab_size": 321)");
  EXPECT_EQ(check(), (Codes{"hf-vocabulary", "hf-vocabulary"})) << "embedding and head";
  replace("config.json", R"("vocab_size": 321)", R"("vocab_size": 320)");
  replace("config.json", R"("num_key_value_heads": 1)", R"("num_key_value_heads": 3)");
  EXPECT_EQ(check(), (Codes{"hf-heads", "hf-heads", "hf-heads", "hf-heads"})) << "k and v of two layers";
  replace("config.json", R"("num_key_value_heads": 3)", R"("num_key_value_heads": null)");
  EXPECT_EQ(check().size(), 4u) << "absent: as many as num_attention_heads";
}

TEST_F(MlxRules, WidthsAgainstTensors) {
  replace("config.json", R"("hidden_size": 96)", R"("hidden_size": 128)");
  EXPECT_TRUE(has(check(), "hf-hidden-size"));
  replace("config.json", R"("hidden_size": 128)", R"("hidden_size": 96)");
  replace("config.json", R"("intermediate_size": )", R"("intermediate_size": 9)");
  EXPECT_TRUE(has(check(), "hf-feed-forward"));
}

TEST_F(MlxRules, MissingFields) {
  replace("config.json", R"("num_hidden_layers": 2)", R"("num_hidden_layers": null)");
  EXPECT_EQ(check(), Codes{"hf-config-missing"});
  replace("config.json", R"("model_type": "llama")", R"("model_type": null)");
  EXPECT_TRUE(has(check(), "hf-config-missing"));
}

TEST_F(MlxRules, WrongTypesAndBrokenConfigs) {
  replace("config.json", R"("num_hidden_layers": 2)", R"("num_hidden_layers": "2")");
  EXPECT_TRUE(has(check(), "hf-config-field"));
  folder_.write("m/config.json", "{");
  EXPECT_EQ(check(), Codes{"json-syntax"});
  folder_.write("m/config.json", "[]");
  EXPECT_EQ(check(), Codes{"hf-config-not-object"});
}

TEST_F(MlxRules, AFieldOfAWrongTypeIsNotMissing) {
  replace("config.json", R"("num_hidden_layers": 2)", R"("num_hidden_layers": -2)");
  replace("config.json", R"("model_type": "llama")", R"("model_type": 3)");
  EXPECT_EQ(check(), (Codes{"hf-config-field", "hf-config-field"}));
  replace("config.json", R"("model_type": 3)", R"("model_type": "llama")");
  EXPECT_EQ(check(), Codes{"hf-config-field"});
}

TEST_F(MlxRules, AConfigThatIsADirectoryIsAnError) {
  std::filesystem::remove(file("config.json"));
  std::filesystem::create_directory(file("config.json"));
  EXPECT_EQ(check(), Codes{"io-directory"});
}

TEST_F(MlxRules, DataThatOverflowsIsFound) {
  VerifyOptions options;
  options.data = true;
  const auto codes = [&] {
    Codes list;
    const Status done = verify_paths({file(".")}, options, [&](const VerifyReport& report) {
      for (const Finding& finding : report.findings) {
        if (finding.severity == Severity::error) list.push_back(finding.code);
      }
    });
    EXPECT_TRUE(done);
    return list;
  };
  EXPECT_EQ(codes(), Codes{});
  const auto model = test::opened(file("."));
  const auto checked = check_model_directory(*model);
  ASSERT_TRUE(checked);
  const Tensor* scales = checked->catalog.find("model.layers.0.self_attn.q_proj.scales");
  ASSERT_NE(scales, nullptr);
  std::string bytes = test::read_file(file("model.safetensors"));
  bytes.replace(scales->offset, 2, "\x7f\x7f");  // close to the largest float32, as bf16
  folder_.write("m/model.safetensors", bytes);
  EXPECT_EQ(codes(), Codes{"data-overflow"});
}

TEST_F(MlxRules, QuantisationSettings) {
  replace("config.json", R"("bits": 4)", R"("bits": 8)");
  EXPECT_TRUE(has(check(), "mlx-scales-shape"));
  replace("config.json", R"("bits": 8)", R"("bits": 0)");
  EXPECT_TRUE(has(check(), "mlx-config-quantization"));
  replace("config.json", R"("quantization": {)", R"("quantization": {"lm_head": false, )");
  EXPECT_TRUE(has(check(), "mlx-config-contradiction"));
}

TEST_F(MlxRules, ForeignMethodsAreANote) {
  folder_.write("m/config.json", R"({"model_type": "llama", "quantization_config": {"quant_method": "hqq"}})");
  EXPECT_TRUE(has(check(Severity::note), "hf-quant-method"));
  EXPECT_FALSE(has(check(), "hf-quant-method"));
  EXPECT_FALSE(has(check(), "mlx-config-missing"));
}

TEST_F(MlxRules, TokenizerFiles) {
  replace("tokenizer.json", "{", "[");
  EXPECT_EQ(check(), Codes{"json-syntax"});
  folder_.write("m/tokenizer.json", "[]");
  EXPECT_EQ(check(), Codes{"hf-tok-json"});
  for (const char* text : {"{}", R"({"model": 3})", R"({"model": {}})", R"({"model": {"type": "BPE", "vocab": 3}})"}) {
    folder_.write("m/tokenizer.json", text);
    EXPECT_EQ(check(), Codes{"hf-tok-json"}) << text;
  }
  const auto byte_level = [&](const std::string& vocab, const std::string& merges) {
    folder_.write("m/tokenizer.json",
                  R"({"pre_tokenizer": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {)" + vocab +
                      R"(}, "merges": [)" + merges + "]}}");
  };
  byte_level(R"("a": -1)", "");
  EXPECT_EQ(check(), Codes{"hf-tok-vocab"});
  byte_level(R"("a": 320)", "");
  EXPECT_EQ(check(), Codes{"hf-tok-id-range"});
  byte_level(R"("a": 0)", R"("a b c")");
  EXPECT_EQ(check(), Codes{"hf-tok-merge"});
  byte_level(R"("a": 0)", "");
  EXPECT_EQ(check(), Codes{});
  folder_.write("m/tokenizer.json", R"({"model": {"type": "Unigram", "vocab": [["a", 0.5]]}})");
  EXPECT_EQ(check(), Codes{});
  EXPECT_TRUE(has(check(Severity::note), "hf-tok-unigram")) << "sound, but nothing that mlx2gguf converts";
  std::filesystem::remove(file("tokenizer.json"));
  EXPECT_EQ(check(), Codes{"hf-tokenizer-missing"});
  folder_.write("m/tokenizer.model", "x");
  EXPECT_EQ(check(), Codes{"hf-tok-sentencepiece"});
  // A single piece: field 1 is a message whose field 1 is the text "a".
  folder_.write("m/tokenizer.model", std::string("\x0a\x03\x0a\x01\x61", 5));
  EXPECT_EQ(check(), Codes{});
  folder_.write("m/tokenizer_config.json", "nonsense");
  EXPECT_EQ(check(), Codes{"json-syntax"});
}

TEST_F(MlxRules, AModelCanDoWithoutItsGenerationConfig) {
  for (const char* text : {"{", "[]", "version https://git-lfs.github.com/spec/v1\n"}) {
    folder_.write("m/generation_config.json", text);
    EXPECT_EQ(check(), Codes{"hf-generation-config"}) << text;
    EXPECT_EQ(check(Severity::error), Codes{}) << text;
  }
}

TEST_F(MlxRules, ALayerThatLacksATensor) {
  std::filesystem::remove(file("model.safetensors.index.json"));
  // Rename it only in the header, to a name of the same length without a layer of its own.
  replace("model.safetensors", "model.layers.1.input_layernorm.weight", "model.layers.1.input_layernorn.weight");
  EXPECT_EQ(check(), (Codes{"hf-tensor-missing", "hf-tensor-missing"}));
}

TEST_F(MlxRules, APartOfAModelNeedsLess) {
  std::filesystem::remove_all(folder_.file("m"));
  folder_.write("m/config.json", R"({"model_type": "llama", "quantization": {"group_size": 32, "bits": 4}})");
  folder_.write(
      "m/model.safetensors",
      safetensors_bytes(R"({"model.layers.7.mlp.up_proj.weight":{"dtype":"U32","shape":[2,8],"data_offsets":[0,64]},
 "model.layers.7.mlp.up_proj.scales":{"dtype":"F16","shape":[2,2],"data_offsets":[64,72]},
 "model.layers.7.mlp.up_proj.biases":{"dtype":"F16","shape":[2,2],"data_offsets":[72,80]}})",
                        std::string(80, '\0')));
  EXPECT_EQ(check(), Codes{});
  EXPECT_TRUE(has(check(Severity::note), "hf-tokenizer-missing"));
}

TEST_F(MlxRules, MxScalesAreSeenAsE8M0) {
  std::filesystem::remove_all(folder_.file("m"));
  folder_.write("m/config.json", R"({"model_type": "llama", "quantization": {"mode": "mxfp4"}})");
  folder_.write("m/model.safetensors",
                safetensors_bytes(R"({"a.weight":{"dtype":"U32","shape":[2,4],"data_offsets":[0,32]},
 "a.scales":{"dtype":"U8","shape":[2,1],"data_offsets":[32,34]}})",
                                  std::string(34, '\xFF')));
  const auto model = test::opened(folder_.file("m"));
  const auto checked = check_model_directory(*model);
  ASSERT_TRUE(checked);
  ASSERT_NE(checked->catalog.find("a.scales"), nullptr);
  EXPECT_EQ(checked->catalog.find("a.scales")->type, TensorType::F8_E8M0);
}

TEST_F(MlxRules, ADirectoryWithoutWeights) {
  std::filesystem::remove(file("model.safetensors"));
  std::filesystem::remove(file("model.safetensors.index.json"));
  EXPECT_EQ(check(), Codes{"st-no-model"});
}

TEST(MlxRulesReference, AllModelsAreSound) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  std::size_t models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::shared_dir() + "/corpus/mlx")) {
    if (!std::filesystem::exists(entry.path() / "config.json")) continue;
    const auto model = test::opened(entry.path().string());
    const auto checked = check_model_directory(*model);
    ASSERT_TRUE(checked);
    EXPECT_EQ(checked->findings.errors(), 0u) << entry.path();
    EXPECT_EQ(checked->findings.warnings(), 0u) << entry.path();
    ++models;
  }
  EXPECT_EQ(models, 23u);
}

}  // namespace
}  // namespace modelutils
