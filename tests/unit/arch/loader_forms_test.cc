#include "arch/loader_forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "arch/families.h"
#include "support/families.h"

namespace modelutils::arch {

namespace {

Sizes two_layers() {
  Sizes sizes;
  sizes.set(symbol::layers, 2);
  sizes.set(symbol::embedding, 64);
  sizes.set(symbol::heads, 4);
  sizes.set(symbol::kv_heads, 2);
  sizes.set(symbol::head_dim, 16);
  sizes.set(symbol::feed_forward, 96);
  sizes.set(symbol::vocabulary, 12);
  sizes.set(symbol::rotated, 16);
  sizes.set(symbol::experts, 3);
  sizes.set(symbol::expert_ff, 40);
  sizes.set(symbol::shared_expert_ff, 24);
  // Delta nets: 2 groups of 8 elements, 4 value heads.
  sizes.set("Fi", 4);
  sizes.set("S", 8);
  sizes.set("G", 2);
  sizes.set("Hv", 4);
  return sizes;
}

// Returns what the loader expects of layer 0's projections in a file with these tensors: "attn_q.weight 64,64
// required".
std::string asked(const Family& family, const std::set<std::string>& file, std::string_view part = "attn_") {
  const Sizes sizes = two_layers();
  std::vector<ExpectedTensor> expected = expected_tensors(family, sizes);
  expect_as_loaded(
      family, sizes, [&](const std::string& name) { return file.contains(name); }, expected);
  std::string text;
  for (const ExpectedTensor& tensor : expected) {
    const std::string_view name = tensor.name;
    if (!name.starts_with("blk.0.") || name.substr(6, part.size()) != part || name.find("norm") != name.npos) continue;
    text += std::string(name.substr(6)) + ' ';
    for (std::size_t i = 0; i < tensor.ne.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(tensor.ne[i]);
    text += tensor.need == Need::required ? " required\n" : "\n";
  }
  return text;
}

TEST(LoaderForms, WithoutFusedTensorsRowsAreAsTheyAreAndBiasesAreTaken) {
  EXPECT_EQ(asked(cohere2, {}),
            "attn_q.weight 64,64 required\nattn_k.weight 64,32 required\nattn_v.weight 64,32 required\n"
            "attn_q.bias 64\nattn_k.bias 32\nattn_v.bias 32\nattn_output.weight 64,64 required\n");
  EXPECT_EQ(asked(qwen2, {}),
            "attn_q.weight 64,64 required\nattn_k.weight 64,32 required\nattn_v.weight 64,32 required\n"
            "attn_q.bias 64 required\nattn_k.bias 32 required\nattn_v.bias 32 required\n"
            "attn_output.weight 64,64 required\n");
}

TEST(LoaderForms, AFusedTensorTakesThePlaceOfThree) {
  EXPECT_EQ(asked(cohere2, {"blk.0.attn_qkv.weight"}),
            "attn_qkv.weight 64,128 required\nattn_qkv.bias 128\nattn_output.weight 64,64 required\n");
  EXPECT_EQ(asked(qwen2, {"blk.0.attn_qkv.weight"}),
            "attn_qkv.weight 64,128 required\nattn_qkv.bias 128 required\nattn_output.weight 64,64 required\n");
}

TEST(LoaderForms, EachLayerForItself) {
  EXPECT_EQ(asked(cohere2, {"blk.1.attn_qkv.weight"}), asked(cohere2, {}));
}

TEST(LoaderForms, AFusedTensorNextToThePartsIsTheOneThatIsAsked) {
  EXPECT_EQ(
      asked(cohere2, {"blk.0.attn_qkv.weight", "blk.0.attn_q.weight", "blk.0.attn_qkv.bias", "blk.0.attn_q.bias"}),
      asked(cohere2, {"blk.0.attn_qkv.weight"}));
}

TEST(LoaderForms, BiasesOfThePartsMayStayNextToAFusedWeight) {
  EXPECT_EQ(asked(cohere2, {"blk.0.attn_qkv.weight", "blk.0.attn_k.bias"}),
            "attn_qkv.weight 64,128 required\nattn_q.bias 64\nattn_k.bias 32\nattn_v.bias 32\n"
            "attn_output.weight 64,64 required\n");
  EXPECT_EQ(asked(cohere2, {"blk.0.attn_qkv.bias"}), asked(cohere2, {})) << "which do not stay without it";
}

TEST(LoaderForms, OthersTakeNone) {
  EXPECT_EQ(asked(openelm, {"blk.0.attn_qkv.weight"}), asked(openelm, {}));
  EXPECT_EQ(asked(minicpm3, {"blk.0.attn_qkv.weight"}), asked(minicpm3, {}));
}

TEST(LoaderForms, FurtherBiases) {
  EXPECT_EQ(asked(ernie4_5, {}, "attn_output"), "attn_output.weight 64,64 required\nattn_output.bias 64\n");
  EXPECT_EQ(asked(falcon_h1, {}, "ffn_down"), "ffn_down.weight 96,64 required\nffn_down.bias 64\n");
}

TEST(LoaderForms, PartsOfFusedTensorsInTheOrderOfTheirRows) {
  const std::set<std::string> file = {"blk.1.attn_qkv.weight", "blk.1.attn_qkv.bias"};
  const auto fused = fused_tensors(
      cohere2, two_layers(), [&](const std::string& name) { return file.contains(name); },
      expected_tensors(cohere2, two_layers()));
  ASSERT_EQ(fused.size(), 2u);
  EXPECT_EQ(fused[0].name, "blk.1.attn_qkv.weight");
  EXPECT_EQ(fused[1].name, "blk.1.attn_qkv.bias");
  ASSERT_EQ(fused[0].parts.size(), 3u);
  EXPECT_EQ(fused[0].parts[1].name, "blk.1.attn_k.weight");
  EXPECT_EQ(fused[0].parts[1].ne, (std::vector<u64>{64, 32}));
  EXPECT_EQ(fused[1].parts[2].name, "blk.1.attn_v.bias");
  EXPECT_EQ(fused[1].parts[2].ne, std::vector<u64>{32});
}

TEST(LoaderForms, ExpertsInOneAreExpectedWithBothWidths) {
  EXPECT_EQ(asked(qwen3next, {}, "ffn_gate_"),
            "ffn_gate_inp.weight 64,3 required\nffn_gate_exps.weight 64,40,3 required\n"
            "ffn_gate_inp_shexp.weight 64 required\nffn_gate_shexp.weight 64,24 required\n");
  EXPECT_EQ(asked(qwen3next, {"blk.0.ffn_gate_up_exps.weight"}, "ffn_gate_"),
            "ffn_gate_inp.weight 64,3 required\nffn_gate_up_exps.weight 64,80,3 required\n"
            "ffn_gate_inp_shexp.weight 64 required\nffn_gate_shexp.weight 64,24 required\n");
  EXPECT_EQ(asked(qwen3next, {"blk.0.ffn_gate_up_exps.weight"}, "ffn_up_exps"), "");
  EXPECT_EQ(asked(qwen2moe, {"blk.0.ffn_gate_up_exps.weight"}, "ffn_up_exps"), "ffn_up_exps.weight 64,40,3 required\n")
      << "whose loader takes no fused experts";
}

TEST(LoaderForms, ExpertsTakeTurns) {
  const auto fused = fused_tensors(
      qwen3next, two_layers(), [](const std::string& name) { return name == "blk.1.ffn_gate_up_exps.weight"; },
      expected_tensors(qwen3next, two_layers()));
  ASSERT_EQ(fused.size(), 1u);
  EXPECT_EQ(fused[0].turns, 3u);
  ASSERT_EQ(fused[0].pieces.size(), 2u);
  EXPECT_EQ(fused[0].parts[fused[0].pieces[1].part].name, "blk.1.ffn_up_exps.weight");
  EXPECT_EQ(fused[0].pieces[1].rows, 40u);
}

// Each group stores its queries, keys, values and gates consecutively.
TEST(LoaderForms, OlderDeltaNetsTakeTurnsByGroup) {
  const auto fused = fused_tensors(
      qwen3next, two_layers(), [](const std::string& name) { return name == "blk.0.ssm_in.weight"; },
      expected_tensors(qwen3next, two_layers()));
  ASSERT_EQ(fused.size(), 1u);
  EXPECT_EQ(fused[0].turns, 2u);
  std::string text;
  for (const FusedTensor::Piece& piece : fused[0].pieces) {
    text += fused[0].parts[piece.part].name + ' ' + std::to_string(piece.rows) + '\n';
  }
  EXPECT_EQ(text,
            "blk.0.attn_qkv.weight 8\nblk.0.attn_qkv.weight 8\nblk.0.attn_qkv.weight 16\nblk.0.attn_gate.weight 16\n");
  std::vector<ExpectedTensor> expected = expected_tensors(qwen3next, two_layers());
  expect_as_loaded(
      qwen3next, two_layers(), [](const std::string& name) { return name == "blk.0.ssm_in.weight"; }, expected);
  const auto whole = std::ranges::find(expected, "blk.0.ssm_in.weight", &ExpectedTensor::name);
  ASSERT_NE(whole, expected.end());
  EXPECT_EQ(whole->ne, (std::vector<u64>{64, 96}));
}

TEST(LoaderForms, FactorsAreReadBesideSomeMatrices) {
  EXPECT_TRUE(takes_factor("blk.0.attn_q.weight", TensorType::BF16));
  EXPECT_TRUE(takes_factor("blk.17.ffn_down_exps.weight", TensorType::Q8_0));
  EXPECT_TRUE(takes_factor("output.weight", TensorType::NVFP4));
  for (const std::string_view name : {"output.weight", "token_embd.weight", "blk.0.ffn_gate_inp.weight",
                                      "blk.0.attn_q_a.weight", "blk.0.attn_q.bias", "blk.0.ffn_gate_up_exps.weight",
                                      "blk.", "blk.0", "attn_q.weight", "blk.weight", "blk..weight", "blk.0.weight"}) {
    EXPECT_FALSE(takes_factor(name, TensorType::BF16)) << name;
  }
}

// Forces whoever adds a family with three projections to check in llama.cpp whether its loader accepts a fused tensor.
TEST(LoaderForms, EveryFamilyWithThreeProjectionsIsKnown) {
  for (const Family* family : all_families()) {
    std::vector<ExpectedTensor> three;
    for (const std::span<const Tensor> group : family->layer_tensors) {
      for (const Tensor& row : group) {
        if (row.name != "attn_q" && row.name != "attn_k" && row.name != "attn_v") continue;
        three.push_back(
            {gguf_name(row, true, 0, Side::weight), {64, 64}, Need::required, false, &row, Side::weight, true});
      }
    }
    const std::size_t count = three.size();
    const auto fused = fused_tensors(
        *family, two_layers(), [](const std::string& name) { return name == "blk.0.attn_qkv.weight"; }, three);
    EXPECT_EQ(fused.size(), count >= 3 ? 1u : 0u) << family->name;
  }
}

TEST(AdapterFacts, FactorsThatAreAppliedAfterThePair) {
  const Family& llama = *find_gguf_family("llama", false);
  const Family& glm4 = *find_gguf_family("glm4", false);
  for (const std::string_view row :
       {"ffn_up", "ffn_gate", "ffn_down", "ffn_up_shexp", "ffn_gate_shexp", "@ffn_down_shexp"}) {
    EXPECT_FALSE(scaled_pair_is_lost(llama, row, TensorType::BF16).empty()) << row;
    EXPECT_FALSE(scaled_pair_is_lost(llama, row, TensorType::NVFP4).empty()) << row;
    EXPECT_FALSE(scaled_pair_aborts(row, TensorType::BF16)) << row;
    EXPECT_TRUE(scaled_pair_aborts(row, TensorType::NVFP4)) << row;
  }
  for (const std::string_view row : {"attn_q", "attn_output", "ffn_down_exps", "ffn_gate_up_exps", "output"}) {
    EXPECT_TRUE(scaled_pair_is_lost(llama, row, TensorType::NVFP4).empty()) << row;
    EXPECT_FALSE(scaled_pair_aborts(row, TensorType::NVFP4)) << row;
  }
  EXPECT_FALSE(scaled_pair_is_lost(glm4, "attn_output", TensorType::NVFP4).empty());
  EXPECT_TRUE(scaled_pair_is_lost(glm4, "attn_q", TensorType::NVFP4).empty());
}

TEST(AdapterFacts, FactorsOfWeightsAndTensorsOfTheModel) {
  const Names llama(*find_gguf_family("llama", false));
  EXPECT_EQ(weight_of_scale(llama, "blk.1.ffn_down.scale"), "blk.1.ffn_down.weight");
  EXPECT_FALSE(weight_of_scale(llama, "blk.1.ffn_down.input_scale"));
  EXPECT_FALSE(weight_of_scale(llama, "blk.1.ffn_down.weight"));
  const Names gemma4(*find_gguf_family("gemma4", true));
  EXPECT_FALSE(weight_of_scale(gemma4, "blk.1.ffn_down_exps.scale"));
  EXPECT_EQ(weight_of_scale(gemma4, "blk.1.ffn_down.scale"), "blk.1.ffn_down.weight");
}

}  // namespace

}  // namespace modelutils::arch
