#include "arch/loader_forms.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/checked_math.h"

namespace modelutils::arch {

namespace {

// Source of the three tables: llama.cpp v0.5.0 (de3ff815).

// Loaders that call create_tensor_qkv (src/llama-model.cpp): queries, keys and values in one tensor or in three, with
// or without biases.
constexpr std::string_view fusing =
    "afmoe|apertus|bailingmoe|chatglm|cohere2|command-r|deci|deepseek|dots1|ernie4_5|ernie4_5-moe|exaone|exaone-moe|"
    "exaone4|falcon-h1|gemma|gemma2|gemma3|gemma3n|glm4|glm4moe|gpt-oss|granite|granitehybrid|granitemoe|hunyuan-dense|"
    "hunyuan-moe|internlm2|jamba|kimi-linear|laguna|lfm2|lfm2moe|llama|llama4|mellum|mimo2|minicpm|minimax-m2|mistral3|"
    "nemotron|nemotron_h|nemotron_h_moe|olmo|olmo2|olmoe|phi2|phimoe|plamo|qwen2|qwen2moe|qwen2vl|qwen3|qwen35|"
    "qwen35moe|"
    "qwen3moe|qwen3next|qwen3vl|qwen3vlmoe|seed_oss|smollm3|stablelm|starcoder2|step35";

// The same without biases (src/models/gemma4.cpp).
constexpr std::string_view fusing_without_biases = "gemma4";

// Further biases that loaders take (load_arch_tensors in src/models).
struct Biases {
  std::string_view architectures;
  std::string_view rows;
};
constexpr Biases biases[] = {
    {"apertus|ernie4_5|ernie4_5-moe", "attn_output"},
    {"deci|falcon-h1|granite|granitehybrid|granitemoe|llama|minicpm|mistral3", "attn_output|ffn_gate|ffn_up|ffn_down"},
    {"nemotron|nemotron_h|nemotron_h_moe", "attn_output|ffn_up|ffn_down"},
    {"phi3", "attn_qkv"},
};

constexpr std::array<std::string_view, 3> projections = {"attn_q", "attn_k", "attn_v"};
constexpr std::size_t none = ~std::size_t{0};

// Where the projections of a layer are among the expected tensors.
struct Layer {
  std::array<std::size_t, 3> weights = {none, none, none};
  std::array<std::size_t, 3> biases = {none, none, none};

  bool has_all_weights() const { return std::ranges::count(weights, none) == 0; }
};

std::map<u64, Layer> layers_of(const std::vector<ExpectedTensor>& expected) {
  std::map<u64, Layer> layers;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto* const at = std::ranges::find(projections, expected[i].row->name);
    if (at == projections.end() || !expected[i].in_layer) continue;
    Layer& layer = layers[expected[i].layer];
    (expected[i].side == Side::weight ? layer.weights : layer.biases)[at - projections.begin()] = i;
  }
  std::erase_if(layers, [](const auto& layer) { return !layer.second.has_all_weights(); });
  return layers;
}

bool takes_biases(const Family& family) {
  return has_name(fusing, family.gguf);
}

bool fuses(const Family& family) {
  return takes_biases(family) || has_name(fusing_without_biases, family.gguf);
}

std::string_view other_biases(const Family& family) {
  for (const Biases& row : biases) {
    if (has_name(row.architectures, family.gguf)) return row.rows;
  }
  return {};
}

ExpectedTensor bias_of(const ExpectedTensor& weight) {
  ExpectedTensor bias = weight;
  bias.name = gguf_name(*weight.row, weight.in_layer, weight.layer, Side::bias);
  if (bias.ne.size() > 1) bias.ne.erase(bias.ne.begin());
  bias.need = Need::optional;
  bias.must_be_f32 = true;
  bias.side = Side::bias;
  return bias;
}

std::string fused_name(u64 layer, Side side) {
  return fmt::format("blk.{}.attn_qkv.{}", layer, side == Side::weight ? "weight" : "bias");
}

// The three, biases that no row means among them; a fused bias is none where the file has some of its parts.
struct Projections {
  std::vector<ExpectedTensor> weights, biases;
  bool is_fused = false;
  bool is_bias_fused = false;
};

Projections projections_of(const Family& family, const HasTensor& has, const std::vector<ExpectedTensor>& expected,
                           u64 number, const Layer& layer) {
  Projections found;
  for (std::size_t i = 0; i < projections.size(); ++i) {
    const ExpectedTensor& weight = expected[layer.weights[i]];
    found.weights.push_back(weight);
    if (layer.biases[i] != none) {
      found.biases.push_back(expected[layer.biases[i]]);
    } else if (takes_biases(family)) {
      found.biases.push_back(bias_of(weight));
    }
  }
  const auto has_it = [&](const ExpectedTensor& tensor) { return has(tensor.name); };
  found.is_fused = has(fused_name(number, Side::weight));
  found.is_bias_fused = found.is_fused && found.biases.size() == projections.size() &&
                        (has(fused_name(number, Side::bias)) || std::ranges::none_of(found.biases, has_it));
  return found;
}

// A shape that has no value stays without one.
ExpectedTensor in_one(const std::vector<ExpectedTensor>& parts, std::string name) {
  ExpectedTensor whole = parts.front();
  whole.name = std::move(name);
  std::optional<u64> rows = 0;
  for (const ExpectedTensor& part : parts) {
    rows = rows && !part.ne.empty() ? checked_add(*rows, part.ne.back()) : std::nullopt;
    if (part.need == Need::required) whole.need = Need::required;
  }
  if (rows) {
    whole.ne.back() = *rows;
  } else {
    whole.ne.clear();
  }
  return whole;
}

}  // namespace

std::vector<FusedTensor> fused_tensors(const Family& family, const HasTensor& has,
                                       const std::vector<ExpectedTensor>& expected) {
  std::vector<FusedTensor> fused;
  if (!fuses(family)) return fused;
  for (const auto& [number, layer] : layers_of(expected)) {
    Projections three = projections_of(family, has, expected, number, layer);
    if (three.is_fused) fused.push_back({fused_name(number, Side::weight), std::move(three.weights)});
    const std::string bias = fused_name(number, Side::bias);
    if (three.is_bias_fused && has(bias)) fused.push_back({bias, std::move(three.biases)});
  }
  return fused;
}

void expect_as_loaded(const Family& family, const HasTensor& has, std::vector<ExpectedTensor>& expected) {
  std::map<u64, Layer> layers;
  if (fuses(family)) layers = layers_of(expected);
  const std::string_view further = other_biases(family);
  if (layers.empty() && further.empty()) return;
  std::vector<ExpectedTensor> loaded;
  for (const ExpectedTensor& tensor : expected) {
    const auto layer = tensor.in_layer ? layers.find(tensor.layer) : layers.end();
    const bool is_projection = layer != layers.end() && std::ranges::count(projections, tensor.row->name) > 0;
    if (!is_projection) {
      loaded.push_back(tensor);
      if (tensor.in_layer && tensor.side == Side::weight && tensor.row->bias == Need::absent &&
          has_name(further, tensor.row->name))
        loaded.push_back(bias_of(tensor));
      continue;
    }
    if (tensor.side != Side::weight || tensor.row->name != projections.front()) continue;  // all three at the first
    Projections three = projections_of(family, has, expected, tensor.layer, layer->second);
    if (three.is_fused) three.weights = {in_one(three.weights, fused_name(tensor.layer, Side::weight))};
    if (three.is_bias_fused) three.biases = {in_one(three.biases, fused_name(tensor.layer, Side::bias))};
    loaded.insert(loaded.end(), three.weights.begin(), three.weights.end());
    loaded.insert(loaded.end(), three.biases.begin(), three.biases.end());
  }
  expected = std::move(loaded);
}

}  // namespace modelutils::arch
