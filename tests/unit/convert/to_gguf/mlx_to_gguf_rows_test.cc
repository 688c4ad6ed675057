// Family rows that specify more than names and shapes: per-layer numbers that become keys, operations, reordered heads.
#include "formats/gguf/parse.h"
#include "mlx_to_gguf_fixture.h"

namespace modelutils::to_gguf {
namespace {

void rename(test::HfDirectory& model, const std::string& from, const std::string& to) {
  for (u64 layer = 0; layer < test::hf_layers; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    auto node = model.tensors.extract(prefix + from + ".weight");
    ASSERT_FALSE(node.empty()) << from;
    if (to.empty()) continue;
    node.key() = prefix + to + ".weight";
    model.tensors.insert(std::move(node));
  }
}

// A number that is a scalar in one layer and has shape [1] in the other.
test::HfDirectory apertus() {
  test::HfDirectory model = test::hf_directory("qwen3");
  model.config["architectures"] = R"(["ApertusForCausalLM"])";
  model.config["model_type"] = R"("apertus")";
  model.config["hidden_act"] = R"("xielu")";
  rename(model, "input_layernorm", "attention_layernorm");
  rename(model, "post_attention_layernorm", "feedforward_layernorm");
  rename(model, "mlp.gate_proj", "");
  for (const char* name : {"alpha_n", "alpha_p", "beta", "eps"}) {
    const std::string rest = std::string("mlp.act_fn.") + name;
    model.tensors["model.layers.0." + rest] = {{}, {0.5f}, TensorType::BF16};
    model.tensors["model.layers.1." + rest] = {{1}, {-2.0f}, TensorType::F32};
  }
  return model;
}

TEST_F(MlxToGguf, NumbersOfLayersBecomeAKey) {
  const Converted made = convert(options_for(write(apertus())));
  for (const char* name : {"xielu.alpha_n", "xielu.alpha_p", "xielu.beta", "xielu.eps"}) {
    const auto array = made.value<gguf::ArrayRef>(name);
    const gguf::SetFile& file = made.set.files.front();
    const Result<std::vector<double>> values = gguf::read_numbers<double>(*file.source, file.document, array);
    ASSERT_TRUE(values) << name;
    EXPECT_EQ(array.element_type, gguf::ValueType::f32);
    EXPECT_EQ(*values, (std::vector<double>{0.5, -2.0})) << name;
  }
}

TEST_F(MlxToGguf, NumbersOfLayersMustBeThere) {
  test::HfDirectory model = apertus();
  model.tensors.erase("model.layers.1.mlp.act_fn.beta");
  EXPECT_EQ(refusal(options_for(write(model))), "convert-missing");
  model = apertus();
  model.tensors["model.layers.1.mlp.act_fn.beta"] = {{2}, {1, 2}, TensorType::F32};
  EXPECT_EQ(refusal(options_for(write(model))), "convert-shape");
}

// Laguna may gate every element of a head; its layers have different numbers of heads.
TEST_F(MlxToGguf, ShapesFollowFromTheHeadsOfTheirLayer) {
  test::HfDirectory model;
  const std::vector<u64> heads = {4, 6};
  model.config = {{"architectures", R"(["LagunaForCausalLM"])"},
                  {"model_type", R"("laguna")"},
                  {"vocab_size", "300"},
                  {"hidden_size", "64"},
                  {"intermediate_size", "96"},
                  {"num_hidden_layers", "2"},
                  {"num_attention_heads", "4"},
                  {"num_key_value_heads", "2"},
                  {"head_dim", "16"},
                  {"max_position_embeddings", "64"},
                  {"rms_norm_eps", "1e-6"},
                  {"gating", "true"},
                  {"layer_types", R"(["full_attention", "full_attention"])"},
                  {"num_attention_heads_per_layer", "[4, 6]"},
                  {"mlp_layer_types", R"(["dense", "sparse"])"},
                  {"num_experts", "4"},
                  {"num_experts_per_tok", "2"},
                  {"moe_intermediate_size", "32"},
                  {"shared_expert_intermediate_size", "32"},
                  {"rope_theta", "10000.0"}};
  model.tokenizer_json = test::hf_directory("llama").tokenizer_json;
  model.add("model.embed_tokens.weight", {300, 64});
  model.add("model.norm.weight", {64});
  model.add("lm_head.weight", {300, 64});
  const auto add_gated = [&](const std::string& at, u64 width) {
    model.add(at + "gate_proj.weight", {width, 64});
    model.add(at + "up_proj.weight", {width, 64});
    model.add(at + "down_proj.weight", {64, width});
  };
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    const std::string attention = layer + "self_attn.";
    model.add(layer + "input_layernorm.weight", {64});
    model.add(layer + "post_attention_layernorm.weight", {64});
    model.add(attention + "q_proj.weight", {heads[i] * 16, 64});
    model.add(attention + "k_proj.weight", {32, 64});
    model.add(attention + "v_proj.weight", {32, 64});
    model.add(attention + "o_proj.weight", {64, heads[i] * 16});
    model.add(attention + "q_norm.weight", {16});
    model.add(attention + "k_norm.weight", {16});
    model.add(attention + "g_proj.weight", {heads[i] * 16, 64});
  }
  add_gated("model.layers.0.mlp.", 96);
  model.add("model.layers.1.mlp.gate.weight", {4, 64});
  model.add("model.layers.1.mlp.gate.e_score_correction_bias", {4});
  for (const char* part : {"gate_proj", "up_proj"}) {
    model.add(std::string("model.layers.1.mlp.switch_mlp.") + part + ".weight", {4, 32, 64});
  }
  model.add("model.layers.1.mlp.switch_mlp.down_proj.weight", {4, 64, 32});
  add_gated("model.layers.1.mlp.shared_expert.", 32);
  const Converted made = convert(options_for(write(model)));
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const std::string gate = "blk." + std::to_string(i) + ".attn_gate.weight";
    EXPECT_EQ(made.values(gate),
              model.tensors["model.layers." + std::to_string(i) + ".self_attn.g_proj.weight"].values);
  }
}

TEST_F(MlxToGguf, OperationsSpareBiases) {
  test::HfDirectory model = test::hf_directory("llama");
  model.config["architectures"] = R"(["NemotronForCausalLM"])";
  model.config["model_type"] = R"("nemotron")";
  model.config["hidden_act"] = R"("relu2")";
  model.config["norm_eps"] = "1e-5";
  rename(model, "mlp.gate_proj", "");
  std::vector<std::string> norms;
  for (const auto& [name, tensor] : model.tensors) {
    if (name.find("norm.weight") != std::string::npos) norms.push_back(name);
  }
  for (std::string name : norms) model.add(name.replace(name.size() - 6, 6, "bias"), {test::hf_embd});
  const Converted made = convert(options_for(write(model)));
  std::vector<float> weight = model.tensors["model.norm.weight"].values;
  for (float& value : weight) value += 1;
  EXPECT_EQ(made.values("output_norm.weight"), weight);
  EXPECT_EQ(made.values("output_norm.bias"), model.tensors["model.norm.bias"].values);
}

// Query head h uses key head h mod 2; in the GGUF, heads 0 and 2 come first, then 1 and 3.
TEST_F(MlxToGguf, HeadsChangePlacesInRowsAndColumns) {
  test::HfDirectory model = test::hf_directory("llama");
  model.config["architectures"] = R"(["PlamoForCausalLM"])";
  model.config["model_type"] = R"("plamo")";
  model.config["n_shared_head"] = "2";
  std::map<std::string, test::HfTensor> tensors;
  for (auto& [name, tensor] : model.tensors) {
    if (name.find("post_attention_layernorm") != std::string::npos) continue;
    std::string to = name;
    if (const auto at = to.find("model.layers."); at == 0) to.insert(6, "layers.");
    if (const auto at = to.find("input_layernorm"); at != std::string::npos) to.replace(at, 15, "norm");
    tensors[to] = tensor;
  }
  model.tensors = tensors;
  const Converted made = convert(options_for(write(model)));
  const std::vector<float>& q = model.tensors["model.layers.layers.1.self_attn.q_proj.weight"].values;
  const std::vector<float>& o = model.tensors["model.layers.layers.1.self_attn.o_proj.weight"].values;
  constexpr u64 order[] = {0, 2, 1, 3};
  std::vector<float> rows, columns;
  for (u64 row = 0; row < 64; ++row) {
    for (u64 column = 0; column < 64; ++column) {
      rows.push_back(q[(order[row / 16] * 16 + row % 16) * 64 + column]);
      columns.push_back(o[row * 64 + order[column / 16] * 16 + column % 16]);
    }
  }
  EXPECT_EQ(made.values("blk.1.attn_q.weight"), rows);
  EXPECT_EQ(made.values("blk.1.attn_output.weight"), columns);
}

}  // namespace
}  // namespace modelutils::to_gguf
