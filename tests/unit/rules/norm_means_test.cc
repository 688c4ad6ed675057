// Norm gains to which one was added too often or not at all.
#include "rules/norm_means.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "io/random_access_file.h"
#include "model/catalog.h"
#include "rules/formats.h"
#include "support/gguf_builder.h"
#include "support/hf_directory.h"
#include "support/opened_model.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

constexpr u64 width = 8, kernel = 4;

enum class Convolution { published, of_mlx };

class NormMeans : public ::testing::Test {
 protected:
  // A model with one layer and gains around `mean`; its gated norm is near 1 in every layout.
  static test::HfDirectory model(const std::string& type, Convolution convolution, float mean) {
    test::HfDirectory made;
    made.config = {{"model_type", '"' + type + '"'}, {"num_hidden_layers", "1"}};
    const std::string layer = "model.layers.0.";
    const bool is_mlx = convolution == Convolution::of_mlx;
    made.tensors[layer + "linear_attn.conv1d.weight"] = {
        is_mlx ? std::vector<u64>{width, kernel, 1} : std::vector<u64>{width, 1, kernel},
        std::vector<float>(width * kernel, 0.1f)};
    made.tensors[layer + "linear_attn.norm.weight"] = gains(1);
    for (const char* name : {"input_layernorm", "post_attention_layernorm", "self_attn.q_norm", "self_attn.k_norm",
                             "attn_hyper_connection.hc_norm"}) {
      made.tensors[layer + name + ".weight"] = gains(mean);
    }
    made.tensors["model.norm.weight"] = gains(mean);
    return made;
  }

  // Learnt gains scatter around their mean.
  static test::HfTensor gains(float mean) {
    test::HfTensor tensor{{width}, {}};
    for (u64 i = 0; i < width; ++i) tensor.values.push_back(mean + (i % 2 == 0 ? 0.3f : -0.3f));
    return tensor;
  }

  std::string codes_of(const test::HfDirectory& model) {
    model.write(folder_.path());
    const auto opened = test::opened(folder_.path());
    if (!opened) return opened.error().code;
    const auto checked = rules_of(opened->format).check(*opened, 1);
    if (!checked) return checked.error().code;
    FindingLog log;
    check_norm_means(*opened, checked->catalog, log);
    return text(log);
  }

  static std::string text(const FindingLog& log) {
    std::string list;
    for (const Finding& finding : log.findings()) {
      EXPECT_EQ(finding.severity, Severity::warning);
      EXPECT_EQ(finding.scope, Scope::data);
      list += (list.empty() ? "" : " ") + finding.code;
    }
    return list;
  }

  const test::TempDir folder_;
};

TEST_F(NormMeans, TheLayoutOfConvolutionsSaysWhereGainsAre) {
  for (const char* type : {"qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"}) {
    SCOPED_TRACE(type);
    EXPECT_EQ(codes_of(model(type, Convolution::published, 0)), "");
    EXPECT_EQ(codes_of(model(type, Convolution::published, 0.2f)), "");
    EXPECT_EQ(codes_of(model(type, Convolution::published, 1)), "data-norms-shifted");
    EXPECT_EQ(codes_of(model(type, Convolution::of_mlx, 1)), "");
    EXPECT_EQ(codes_of(model(type, Convolution::of_mlx, 2)), "data-norms-shifted");
    EXPECT_EQ(codes_of(model(type, Convolution::of_mlx, 0)), "data-norms-unshifted");
  }
}

TEST_F(NormMeans, Qwen4KeepsItsGainsAsPublished) {
  for (const Convolution convolution : {Convolution::published, Convolution::of_mlx}) {
    EXPECT_EQ(codes_of(model("qwen4_exp", convolution, 0.2f)), "");
    EXPECT_EQ(codes_of(model("qwen4_exp", convolution, 1.2f)), "data-norms-shifted");
  }
}

TEST_F(NormMeans, OtherClassesSayNothing) {
  EXPECT_EQ(codes_of(model("qwen3", Convolution::of_mlx, 2)), "");
  EXPECT_EQ(codes_of(model("gemma", Convolution::of_mlx, 7)), "");
}

TEST_F(NormMeans, BlocksAreJudgedByThemselves) {
  test::HfDirectory made = model("qwen3_next", Convolution::of_mlx, 1);
  made.tensors["mtp.pre_fc_norm_hidden.weight"] = gains(0);
  EXPECT_EQ(codes_of(made), "") << "mlx-lm has none: they may be as published";
  made.tensors["mtp.pre_fc_norm_hidden.weight"] = gains(2);
  EXPECT_EQ(codes_of(made), "data-norms-shifted");
}

TEST_F(NormMeans, WhatTellsNothingIsNotJudged) {
  test::HfDirectory made = model("qwen3_next", Convolution::of_mlx, 2);
  made.tensors["model.norm.weight"].values[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(codes_of(made), "");
  made = model("qwen3_next", Convolution::of_mlx, 2);
  made.tensors.erase("model.layers.0.linear_attn.conv1d.weight");
  EXPECT_EQ(codes_of(made), "");
  made = model("qwen3_next", Convolution::of_mlx, 2);
  made.tensors["model.layers.0.linear_attn.conv1d.weight"].shape = {width * kernel, 1, 1};
  EXPECT_EQ(codes_of(made), "") << "a kernel of one has one layout";
}

TEST_F(NormMeans, AGgufHasOneAdded) {
  const auto codes_at = [&](std::string_view architecture, float mean) {
    std::string data;
    for (u64 i = 0; i < width; ++i) data.append(reinterpret_cast<const char*>(&mean), sizeof mean);
    const std::string path =
        folder_.write("m.gguf", test::GgufBuilder()
                                    .key_string("general.architecture", std::string(architecture))
                                    .tensor({.name = "blk.0.attn_norm.weight", .ne = {width}, .data = data})
                                    .tensor({.name = "output_norm.weight", .ne = {width}, .data = data})
                                    .build());
    const auto opened = test::opened(path);
    EXPECT_TRUE(opened);
    FindingLog log;
    check_norm_means(*opened, catalog_of(*opened->gguf), log);
    return text(log);
  };
  EXPECT_EQ(codes_at("qwen3next", 1), "");
  EXPECT_EQ(codes_at("qwen35", 2), "data-norms-shifted");
  EXPECT_EQ(codes_at("qwen35moe", 0), "data-norms-unshifted");
  EXPECT_EQ(codes_at("llama", 0), "");
}

}  // namespace
}  // namespace modelutils
