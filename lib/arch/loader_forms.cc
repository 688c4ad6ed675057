#include "arch/loader_forms.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "arch/stacks.h"
#include "base/types.h"

namespace modelutils::arch {

namespace {

class Lister {
 public:
  Lister(const Family* family, const Sizes& sizes) : family_(family), sizes_(sizes) {}

  std::vector<ExpectedTensor> list() {
    for (const Tensor& row : family_->first_tensors) add(row, false, 0);
    const u64 layers = layers_of_stacks(*family_, sizes_);
    for (u64 layer = 0; layer < layers; ++layer) {
      for (const std::span<const Tensor> group : family_->layer_tensors) {
        for (const Tensor& row : group) add(row, true, layer);
      }
    }
    for (const Tensor& row : family_->last_tensors) add(row, false, 0);
    return std::move(tensors_);
  }

  std::vector<ExpectedTensor> list_row(const Tensor& row, u64 layer) {
    add(row, true, layer);
    return std::move(tensors_);
  }

 private:
  void add(const Tensor& row, bool in_layer, u64 layer) {
    if (!key_of_numbers(row).empty() || !holds(row.when, sizes_, layer)) return;
    std::vector<u64> ne = evaluate_shape(row.ne, sizes_, layer).value_or(std::vector<u64>{});
    Need need = row.need;
    if (row.name == "output" && !in_layer) need = need_of_head();
    if (need != Need::absent) add_side(row, in_layer, layer, Side::weight, ne, need);
    if (row.bias == Need::absent) return;
    if (ne.size() > 1) ne.erase(ne.begin());
    add_side(row, in_layer, layer, Side::bias, std::move(ne), row.bias);
  }

  void add_side(const Tensor& row, bool in_layer, u64 layer, Side side, std::vector<u64> ne, Need need) {
    const bool is_vector = side == Side::bias || dimensions_of(row.ne).size() == 1;
    tensors_.push_back({gguf_name(row, in_layer, layer, side), std::move(ne), need, is_vector || row.f32, &row, side,
                        in_layer, layer});
  }

  Need need_of_head() const {
    switch (family_->head) {
      case OutputHead::optional: return Need::optional;
      case OutputHead::always: return Need::required;
      case OutputHead::never: break;
    }
    return Need::absent;
  }

  const Family* family_;  // for tensors outside the layers
  const Sizes& sizes_;
  std::vector<ExpectedTensor> tensors_;
};

}  // namespace

std::vector<ExpectedTensor> expected_tensors(const Family& family, const Sizes& sizes) {
  return Lister(&family, sizes).list();
}

void add_expected_tensors(const Tensor& row, const Sizes& sizes, u64 layer, std::vector<ExpectedTensor>& tensors) {
  for (ExpectedTensor& one : Lister(nullptr, sizes).list_row(row, layer)) tensors.push_back(std::move(one));
}

void set_marks(const Family& family, Sizes& sizes, const RowsOfTensor& rows_of) {
  for (const Mark& mark : family.marks) {
    std::vector<const Tensor*> own, telling;
    const bool may_lack = has_name(family.loads_without, tensor_of(mark));
    for (const std::span<const Tensor> group : family.layer_tensors) {
      for (const Tensor& row : group) {
        if (row.name == tensor_of(mark)) own.push_back(&row);
        if (may_lack && row.when == mark.symbol && !row.name.starts_with('@')) telling.push_back(&row);
      }
    }
    std::vector<u64> values;
    for (u64 layer = 0; layer < layers_of_stacks(family, sizes); ++layer) {
      const auto rows = [&](const std::vector<const Tensor*>& of) -> std::optional<u64> {
        for (const Tensor* row : of) {
          if (const auto found = rows_of(gguf_name(*row, true, layer, Side::weight))) return found;
        }
        return std::nullopt;
      };
      const std::optional<u64> found = rows(own);
      values.push_back(!found && rows(telling) ? 1 : value_of(mark, found, sizes, layer));
    }
    sizes.set_layers(mark.symbol, std::move(values));
  }
}

std::string_view tensor_of(const Mark& mark) {
  return mark.tensor.substr(0, mark.tensor.find('/'));
}

u64 value_of(const Mark& mark, std::optional<u64> rows, const Sizes& sizes, u64 layer) {
  const std::size_t slash = mark.tensor.find('/');
  if (!rows) return 0;
  if (slash == std::string_view::npos) return 1;
  const u64 per = evaluate(mark.tensor.substr(slash + 1), sizes, layer).value_or(0);
  return per > 0 ? *rows / per : 0;
}

namespace {

// Source of the tables: llama.cpp v0.5.0 (de3ff815), run by scripts/check-required.

// Architectures whose loaders call create_tensor_qkv (src/llama-model.cpp): queries, keys and values in one tensor or
// three, with or without biases.
constexpr std::string_view fusing =
    "afmoe|apertus|arcee|baichuan|bailingmoe|bailingmoe3|bert|chatglm|cohere2|cohere2moe|command-r|deci|deepseek|"
    "deepseek2-ocr|dots1|ernie4_5|ernie4_5-moe|eurobert|exaone|exaone-moe|exaone4|falcon-h1|gemma|gemma-embedding|"
    "gemma2|gemma3|gemma3n|glm4|glm4moe|gpt-oss|granite|granitehybrid|granitemoe|hunyuan-dense|hunyuan-moe|hunyuan_vl|"
    "hy_v3|internlm2|jamba|jina-bert-v2|kimi-k3|kimi-linear|laguna|lfm2|lfm2moe|llama|llama-embed|llama4|mellum|mimo2|"
    "minicpm|minimax-m2|minimax-m3|mistral3|nanbeige|nemotron|nemotron_h|nemotron_h_moe|olmo|olmo2|olmoe|orion|"
    "paddleocr|phi2|phi3|phimoe|plamo|qwen2|qwen2moe|qwen2vl|qwen3|qwen35|qwen35moe|qwen3moe|qwen3next|qwen3vl|"
    "qwen3vlmoe|qwen4exp|seed_oss|smollm3|stablelm|starcoder2|step35";

// A tensor that holds the rows of several.
struct Form {
  std::string_view architectures;
  std::string_view whole;
  /// The rows in each repetition, in order: "NAME:ROWS|NAME|…". Without ROWS, the rows of the part's matrix.
  std::string_view pieces;
  std::string_view turns = "1";  ///< an expression
  bool has_biases = false;       ///< biases of the parts and of the whole are allowed even if no row has them
};
constexpr Form forms[] = {
    {fusing, "attn_qkv", "attn_q|attn_k|attn_v", "1", true},
    {"gemma4", "attn_qkv", "attn_q|attn_k|attn_v"},  // src/models/gemma4.cpp
    // create_tensor_gate_up_exps (gemma4's own rows have both forms)
    {"cohere2moe|deepseek2|deepseek2-ocr|hy_v3|qwen35moe|qwen3next|qwen4exp", "ffn_gate_up_exps",
     "ffn_gate_exps|ffn_up_exps", "X"},
    // Files of 2025: queries, keys, values and gates grouped together.
    {"qwen3next", "ssm_in", "attn_qkv:S|attn_qkv:S|attn_qkv:Hv/G*S|attn_gate:Hv/G*S", "G"},
};

// Matrices of a layer for which every loader reads a factor (load_tensors in src/llama-model.cpp).
constexpr std::string_view with_factor =
    "attn_q|attn_k|attn_v|attn_qkv|attn_gate|attn_output|ffn_gate|ffn_up|ffn_down|ffn_gate_shexp|ffn_up_shexp|"
    "ffn_down_shexp|ffn_gate_exps|ffn_up_exps|ffn_down_exps|ssm_in|ssm_out|ssm_alpha|ssm_beta";

// Additional biases that loaders accept (load_arch_tensors in src/models).
struct Biases {
  std::string_view architectures;
  std::string_view rows;
};
constexpr Biases biases[] = {
    {"apertus|ernie4_5|ernie4_5-moe|paddleocr", "attn_output"},
    {"deci|falcon-h1|granite|granitehybrid|granitemoe|llama|minicpm|mistral3", "attn_output|ffn_gate|ffn_up|ffn_down"},
    {"nemotron|nemotron_h|nemotron_h_moe", "attn_output|ffn_up|ffn_down"},
    {"phi3", "attn_qkv"},
};

constexpr std::size_t none = ~std::size_t{0};

std::string_view name_of(std::string_view piece) {
  return piece.substr(0, piece.find(':'));
}

// Returns the rows named by a form's pieces, without repeats.
std::vector<std::string_view> parts_of(const Form& form) {
  std::vector<std::string_view> names;
  for_each_name(form.pieces, [&](std::string_view piece) {
    if (std::ranges::find(names, name_of(piece)) == names.end()) names.push_back(name_of(piece));
  });
  return names;
}

// Indices of a layer's parts in the list of expected tensors.
struct Layer {
  std::vector<std::size_t> weights, biases;
};

// Returns the layers that have all parts of the form.
std::map<u64, Layer> layers_of(const Form& form, const std::vector<ExpectedTensor>& expected) {
  const std::vector<std::string_view> parts = parts_of(form);
  const Layer empty = {std::vector<std::size_t>(parts.size(), none), std::vector<std::size_t>(parts.size(), none)};
  std::map<u64, Layer> layers;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto at = std::ranges::find(parts, expected[i].row->name);
    if (at == parts.end() || !expected[i].in_layer) continue;
    Layer& layer = layers.try_emplace(expected[i].layer, empty).first->second;
    (expected[i].side == Side::weight ? layer.weights : layer.biases)[static_cast<std::size_t>(at - parts.begin())] = i;
  }
  std::erase_if(layers, [](const auto& layer) { return std::ranges::count(layer.second.weights, none) > 0; });
  return layers;
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

std::string fused_name(const Form& form, u64 layer, Side side) {
  return fmt::format("blk.{}.{}.{}", layer, form.whole, side == Side::weight ? "weight" : "bias");
}

// A layer's parts, including biases without a row. The bias is not fused if the file has biases of single parts.
struct Parts {
  std::vector<ExpectedTensor> weights, biases;
  bool is_fused = false;
  bool is_bias_fused = false;
};

Parts parts_in(const Form& form, const HasTensor& has, const std::vector<ExpectedTensor>& expected, u64 number,
               const Layer& layer) {
  Parts found;
  for (std::size_t i = 0; i < layer.weights.size(); ++i) {
    const ExpectedTensor& weight = expected[layer.weights[i]];
    found.weights.push_back(weight);
    if (layer.biases[i] != none) {
      found.biases.push_back(expected[layer.biases[i]]);
    } else if (form.has_biases) {
      found.biases.push_back(bias_of(weight));
    }
  }
  const auto has_it = [&](const ExpectedTensor& tensor) { return has(tensor.name); };
  found.is_fused = has(fused_name(form, number, Side::weight));
  found.is_bias_fused = found.is_fused && found.biases.size() == found.weights.size() &&
                        (has(fused_name(form, number, Side::bias)) || std::ranges::none_of(found.biases, has_it));
  return found;
}

// Describes how the parts make up the whole. Has no pieces if a size is unknown.
FusedTensor fused(const Form& form, const Sizes& sizes, std::string name, std::vector<ExpectedTensor> parts) {
  FusedTensor whole{std::move(name), std::move(parts), 0, {}};
  const std::vector<std::string_view> names = parts_of(form);
  whole.turns = evaluate(form.turns, sizes, whole.parts.front().layer).value_or(0);
  bool is_known = whole.turns > 0;
  for_each_name(form.pieces, [&](std::string_view piece) {
    const auto part = static_cast<std::size_t>(std::ranges::find(names, name_of(piece)) - names.begin());
    const ExpectedTensor& tensor = whole.parts[part];
    const std::size_t colon = piece.find(':');
    std::optional<u64> rows;
    if (colon != std::string_view::npos) {
      rows = evaluate(piece.substr(colon + 1), sizes, tensor.layer);
    } else if (!tensor.ne.empty()) {
      rows = tensor.ne.size() > 1 ? tensor.ne[1] : tensor.ne[0];
    }
    is_known = is_known && rows;
    whole.pieces.push_back({part, rows.value_or(0)});
  });
  if (!is_known) whole.pieces.clear();
  return whole;
}

// Returns the tensor that the loader asks for in place of the parts. Its shape is empty if a size is unknown.
ExpectedTensor in_one(FusedTensor whole) {
  ExpectedTensor tensor = whole.parts.front();
  tensor.name = std::move(whole.name);
  for (const ExpectedTensor& part : whole.parts) {
    if (part.need == Need::required) tensor.need = Need::required;
  }
  std::optional<u64> rows = 0;
  for (const FusedTensor::Piece& piece : whole.pieces) rows = rows ? checked_add(*rows, piece.rows) : std::nullopt;
  // If the tensor has a third dimension, it is the number of repetitions.
  if (rows && tensor.ne.size() < 3) rows = checked_mul(*rows, whole.turns);
  if (whole.pieces.empty() || !rows || tensor.ne.empty()) {
    tensor.ne.clear();
  } else {
    tensor.ne[tensor.ne.size() > 1 ? 1 : 0] = *rows;
  }
  return tensor;
}

void expect_form(const Form& form, const Sizes& sizes, const HasTensor& has, std::vector<ExpectedTensor>& expected) {
  const std::map<u64, Layer> layers = layers_of(form, expected);
  if (layers.empty()) return;
  const std::vector<std::string_view> names = parts_of(form);
  std::vector<ExpectedTensor> loaded;
  for (const ExpectedTensor& tensor : expected) {
    const auto layer = tensor.in_layer ? layers.find(tensor.layer) : layers.end();
    if (layer == layers.end() || std::ranges::count(names, tensor.row->name) == 0) {
      loaded.push_back(tensor);
      continue;
    }
    // The first part has added the fused tensor, which stands for all parts.
    if (tensor.side != Side::weight || tensor.row->name != names.front()) continue;
    Parts parts = parts_in(form, has, expected, tensor.layer, layer->second);
    const auto make_one = [&](std::vector<ExpectedTensor>& of, Side side) {
      of = {in_one(fused(form, sizes, fused_name(form, tensor.layer, side), std::move(of)))};
    };
    if (parts.is_fused) make_one(parts.weights, Side::weight);
    if (parts.is_bias_fused) make_one(parts.biases, Side::bias);
    loaded.insert(loaded.end(), parts.weights.begin(), parts.weights.end());
    loaded.insert(loaded.end(), parts.biases.begin(), parts.biases.end());
  }
  expected = std::move(loaded);
}

}  // namespace

bool takes_factor(std::string_view weight, TensorType type) {
  if (weight == "output.weight") return type == TensorType::NVFP4;
  constexpr std::string_view prefix = "blk.", suffix = ".weight";
  if (!weight.starts_with(prefix) || !weight.ends_with(suffix)) return false;
  const std::size_t begin = weight.find('.', prefix.size()) + 1;
  const std::size_t end = weight.size() - suffix.size();
  return begin < end && has_name(with_factor, weight.substr(begin, end - begin));
}

std::vector<FusedTensor> fused_tensors(const Family& family, const Sizes& sizes, const HasTensor& has,
                                       const std::vector<ExpectedTensor>& expected) {
  std::vector<FusedTensor> found;
  for (const Form& form : forms) {
    if (!has_name(form.architectures, family.gguf)) continue;
    for (const auto& [number, layer] : layers_of(form, expected)) {
      Parts parts = parts_in(form, has, expected, number, layer);
      std::string name = fused_name(form, number, Side::weight);
      if (parts.is_fused) found.push_back(fused(form, sizes, std::move(name), std::move(parts.weights)));
      name = fused_name(form, number, Side::bias);
      if (parts.is_bias_fused && has(name)) {
        found.push_back(fused(form, sizes, std::move(name), std::move(parts.biases)));
      }
    }
  }
  return found;
}

void expect_as_loaded(const Family& family, const Sizes& sizes, const HasTensor& has,
                      std::vector<ExpectedTensor>& expected) {
  for (const Form& form : forms) {
    if (has_name(form.architectures, family.gguf)) expect_form(form, sizes, has, expected);
  }
  const std::string_view further = other_biases(family);
  if (further.empty()) return;
  std::vector<ExpectedTensor> loaded;
  for (const ExpectedTensor& tensor : expected) {
    loaded.push_back(tensor);
    if (tensor.in_layer && tensor.side == Side::weight && tensor.row->bias == Need::absent &&
        has_name(further, tensor.row->name)) {
      loaded.push_back(bias_of(tensor));
    }
  }
  expected = std::move(loaded);
}

namespace {

constexpr std::string_view ignored = "llama.cpp ignores";

struct LostPairs {
  std::string_view architectures;  ///< general.architecture, several separated by '|'; empty for all
  std::string_view rows;
  std::string_view because;
};

constexpr LostPairs lost_pairs[] = {
    {"", "ssm_conv1d|ssm_conv1d_q|ssm_conv1d_k|ssm_conv1d_v|shortconv.conv|ssm_a|ssm_d|rope_freqs", ignored},
    {"deepseek2|minicpm3|kimi-linear", "attn_q_a|attn_q_b|attn_kv_a_mqa|attn_k_b|attn_v_b|attn_kv_b", ignored},
    {"deepseek2|kimi-linear", "output", ignored},
    {"kimi-linear",
     "attn_q|attn_k|attn_v|attn_output|ssm_in|ssm_out|ssm_x|ssm_dt|ssm_f_a|ssm_f_b|ssm_g_a|ssm_g_b|ssm_beta", ignored},
    {"rwkv7",
     "time_mix_w1|time_mix_w2|time_mix_a1|time_mix_a2|time_mix_v1|time_mix_v2|time_mix_g1|time_mix_g2|"
     "time_mix_lerp_fused",
     ignored},
    {"gpt2|starcoder|bert", "position_embd", ignored},
    {"", "token_types", ignored},
    {"gemma3n|gemma4",
     "per_layer_model_proj|altup_proj|altup_unembd_proj|altup_router|altup_correct_coef|altup_predict_coef", ignored},
    {"gemma3n|gemma4", "per_layer_token_embd", "llama.cpp refuses"},
    {"gemma4", "ffn_down_exps|ffn_gate_up_exps", "llama.cpp applies without the experts' scales"},
};

// The tensors that llama.cpp multiplies in build_ffn().
constexpr std::string_view feed_forward = "ffn_up|ffn_gate|ffn_down|ffn_up_shexp|ffn_gate_shexp|ffn_down_shexp";

}  // namespace

std::string_view pair_is_lost(const Family& family, std::string_view row, bool is_tied) {
  if (row.starts_with('@')) row.remove_prefix(1);
  if (row == "token_embd" && is_tied && family.cache.has_cache)
    return "crashes llama.cpp, because the embedding is also the output head";
  const auto found = std::ranges::find_if(lost_pairs, [&](const LostPairs& lost) {
    return (lost.architectures.empty() || has_name(lost.architectures, family.gguf)) && has_name(lost.rows, row);
  });
  return found == std::end(lost_pairs) ? std::string_view() : found->because;
}

bool scaled_pair_aborts(std::string_view row, TensorType type) {
  if (row.starts_with('@')) row.remove_prefix(1);
  return type == TensorType::NVFP4 && has_name(feed_forward, row);
}

std::string_view scaled_pair_is_lost(const Family& family, std::string_view row, TensorType type) {
  if (row.starts_with('@')) row.remove_prefix(1);
  if (scaled_pair_aborts(row, type)) {
    return "crashes llama.cpp, because the tensor is NVFP4 with a factor (.scale)";
  }
  const bool is_late_output = row == "attn_output" && has_name("glm4|glm4moe|jais2", family.gguf);
  if (!is_late_output && !has_name(feed_forward, row)) return {};
  return "llama.cpp also multiplies by the factor of the weights (.scale)";
}

std::optional<std::string> weight_of_scale(const Names& names, std::string_view tensor) {
  constexpr std::string_view suffix = ".scale";
  if (!tensor.ends_with(suffix) || names.find_gguf(tensor).row != nullptr) return std::nullopt;
  return std::string(tensor.substr(0, tensor.size() - suffix.size())) + ".weight";
}

}  // namespace modelutils::arch
