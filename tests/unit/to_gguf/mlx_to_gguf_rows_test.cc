// What rows of families can say beyond names and shapes: numbers of layers that become keys, operations, heads in
// another order.
#include "gguf/parse.h"
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

// A number has no dimensions in one layer and one of length 1 in the other.
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

// Head h of the queries shares key head h mod 2; in the GGUF 0 and 2 come first, then 1 and 3.
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
