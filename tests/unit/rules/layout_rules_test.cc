// mlx-lm's layout and the published one, determined by tensors and by metadata.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "rules/directory/mlx_rules.h"
#include "rules/directory/value_checks.h"
#include "support/hf_directory.h"
#include "support/opened_model.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

class LayoutRules : public ::testing::Test {
 protected:
  SafetensorsModel open(const test::HfDirectory& model) {
    model.write(folder_.path());
    return std::move(*test::opened(folder_.path())->safetensors);
  }

  // Returns the findings about the layout, as "CODE SEVERITY WHERE".
  std::string said(const test::HfDirectory& model) {
    std::string list;
    for (const Finding& finding : model_directory_rules(open(model)).findings()) {
      if (finding.code != "hf-layout-mixed" && finding.code != "hf-layout-metadata") continue;
      list += finding.code + (finding.severity == Severity::error ? " error " : " note ") + finding.where;
    }
    return list;
  }

  static test::HfDirectory directory(const std::string& type, const std::string& format) {
    test::HfDirectory made;
    made.config = {{"model_type", '"' + type + '"'}, {"num_hidden_layers", "2"}};
    made.format = format;
    return made;
  }

  const test::TempDir folder_;
};

struct Told {
  const char* type;
  const char* tensor;  // name below the layer
  std::vector<u64> mlx, published;
};

TEST_F(LayoutRules, ShapesDecideWhateverTheMetadataSay) {
  for (const Told& one : {Told{"qwen3_next", "linear_attn.conv1d.weight", {8, 4, 1}, {8, 1, 4}},
                          Told{"qwen3_5_moe", "linear_attn.conv1d.weight", {8, 4, 1}, {8, 1, 4}},
                          Told{"falcon_h1", "mamba.conv1d.weight", {8, 4, 1}, {8, 1, 4}},
                          Told{"lfm2", "conv.conv.weight", {8, 3, 1}, {8, 1, 3}}}) {
    SCOPED_TRACE(one.type);
    const std::string name = std::string("model.layers.1.") + one.tensor;
    for (const bool of_mlx : {true, false}) {
      for (const char* format : {"mlx", "pt"}) {
        test::HfDirectory made = directory(one.type, format);
        made.add(name, of_mlx ? one.mlx : one.published);
        EXPECT_EQ(is_mlx(open(made)), of_mlx) << format;
        EXPECT_EQ(said(made),
                  (format == std::string("mlx")) == of_mlx ? "" : "hf-layout-metadata note tensor '" + name + "'");
      }
    }
  }
}

TEST_F(LayoutRules, NamesDecide) {
  const auto is_of_mlx = [&](const char* type, const std::string& name, const char* format) {
    test::HfDirectory made = directory(type, format);
    made.add("model.layers.0." + name, {2, 8, 8});
    return is_mlx(open(made));
  };
  for (const char* format : {"mlx", "pt"}) {
    EXPECT_FALSE(is_of_mlx("gpt_oss", "mlp.experts.gate_up_proj", format));
    EXPECT_FALSE(is_of_mlx("gpt_oss", "mlp.experts.gate_up_proj_blocks", format));
    EXPECT_TRUE(is_of_mlx("gpt_oss", "mlp.experts.gate_proj.weight", format));
    EXPECT_FALSE(is_of_mlx("step3p5", "moe.gate_proj.weight", format));
    EXPECT_TRUE(is_of_mlx("step3p5", "mlp.switch_mlp.gate_proj.weight", format));
    EXPECT_FALSE(is_of_mlx("bailing_moe", "mlp.gate.weight", format));
    EXPECT_TRUE(is_of_mlx("bailing_moe", "mlp.gate.gate_proj.weight", format));
    // This name occurs in both layouts; families without distinguishing tensors cannot be told apart by tensors.
    EXPECT_EQ(is_of_mlx("gpt_oss", "self_attn.q_proj.weight", format), format == std::string("mlx"));
    EXPECT_EQ(is_of_mlx("llama", "mlp.switch_mlp.gate_proj.weight", format), format == std::string("mlx"));
  }
}

TEST_F(LayoutRules, MatricesOfGpt2AreTallByMlx) {
  for (const char* format : {"mlx", "pt"}) {
    test::HfDirectory made = directory("gpt2", format);
    made.add("h.0.attn.c_attn.weight", {8, 24});
    EXPECT_FALSE(is_mlx(open(made)));
    made.tensors.clear();
    made.add("model.h.0.attn.c_attn.weight", {24, 8});
    EXPECT_TRUE(is_mlx(open(made)));
  }
}

TEST_F(LayoutRules, BothAtOnceAreRefused) {
  test::HfDirectory made = directory("qwen3_next", "mlx");
  made.add("model.layers.0.linear_attn.conv1d.weight", {8, 4, 1});
  made.add("model.layers.1.linear_attn.conv1d.weight", {8, 1, 4});
  EXPECT_EQ(said(made), "hf-layout-mixed error tensor 'model.layers.0.linear_attn.conv1d.weight'");
  // Layers after the last one are for multi-token prediction, and prove nothing.
  made.config["num_hidden_layers"] = "1";
  EXPECT_EQ(said(made), "");
}

TEST_F(LayoutRules, AHeadThatIsNoCopyOfATiedEmbedding) {
  const auto codes = [&](const test::HfDirectory& model) {
    FindingLog log;
    check_tied_head(open(model), log);
    std::string list;
    for (const Finding& finding : log.findings()) list += finding.code;
    return list;
  };
  test::HfDirectory model = test::hf_directory("llama");
  EXPECT_EQ(codes(model), "");
  model.config["tie_word_embeddings"] = "true";
  EXPECT_EQ(codes(model), "hf-tied-head");
  model.tensors["lm_head.weight"] = model.tensors.at("model.embed_tokens.weight");
  EXPECT_EQ(codes(model), "");
  model.tensors["lm_head.weight"].values[3] += 1;
  EXPECT_EQ(codes(model), "hf-tied-head");
  model.tensors.erase("lm_head.weight");
  EXPECT_EQ(codes(model), "");
}

}  // namespace
}  // namespace modelutils
