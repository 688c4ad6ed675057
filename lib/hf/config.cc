#include "hf/config.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <fmt/core.h>

#include "hf/rope_check.h"

namespace modelutils::hf {

namespace {

using Names = std::initializer_list<std::string_view>;

void remark_type(Config& config, std::string_view key, std::string_view expected) {
  config.findings.error(Scope::model, "hf-config-field", fmt::format("is not {}", expected), at_field(key));
}

// Returns the first of `names` whose value `convert` accepts. Reports values of another type and skips them.
template <typename T, typename Convert>
std::optional<T> first_of(Config& config, Names names, std::string_view expected, Convert&& convert) {
  for (const std::string_view name : names) {
    const std::optional<json::Element> found = config.field(name);
    if (!found) continue;
    if (std::optional<T> value = convert(*found)) return value;
    remark_type(config, name, expected);
  }
  return std::nullopt;
}

template <typename T>
std::optional<T> as(json::Element element) {
  T value{};
  if (!element.get(value)) return std::nullopt;
  return value;
}

std::optional<u64> count(Config& config, Names names) {
  return first_of<u64>(config, names, "a non-negative whole number", as<uint64_t>);
}

// Reads a count that may be given per layer: a list of whole numbers is accepted only if all are equal.
std::optional<u64> layer_count(Config& config, Names names) {
  for (const std::string_view name : names) {
    const std::optional<json::Element> found = config.field(name);
    json::Array list;
    if (!found || !found->get(list)) continue;
    if (std::all_of(list.begin(), list.end(), [](json::Element one) { return as<uint64_t>(one).has_value(); })) {
      return config.same_u64_field(name);
    }
  }
  return count(config, names);
}

std::optional<double> number(Config& config, Names names) {
  return first_of<double>(config, names, "a number", as<double>);
}
std::optional<bool> boolean(Config& config, Names names) {
  return first_of<bool>(config, names, "true or false", as<bool>);
}
std::string text(Config& config, Names names) {
  const auto found = first_of<std::string_view>(config, names, "a string", as<std::string_view>);
  return std::string(found.value_or(std::string_view{}));
}

std::vector<std::string> strings(Config& config, std::string_view name) {
  std::vector<std::string> list;
  const std::optional<json::Element> found = config.field(name);
  if (!found) return list;
  json::Array array;
  if (!found->get(array)) {
    remark_type(config, name, "a list of strings");
    return list;
  }
  for (const json::Element element : array) {
    const auto item = as<std::string_view>(element);
    if (!item) {
      remark_type(config, name, "a list of strings");
      return list;
    }
    list.emplace_back(*item);
  }
  return list;
}

// True for -1, which some configs use for "no such token".
bool is_no_token(json::Element element) {
  return as<int64_t>(element) == -1;
}

std::optional<u64> token_id(Config& config, std::string_view name) {
  const std::optional<json::Element> found = config.field(name);
  return found && is_no_token(*found) ? std::nullopt : count(config, {name});
}

std::vector<u64> token_ids(Config& config, std::string_view name) {
  std::vector<u64> list;
  const std::optional<json::Element> found = config.field(name);
  if (!found || is_no_token(*found)) return list;
  if (const auto single = as<uint64_t>(*found)) return {*single};
  json::Array array;
  if (!found->get(array)) {
    remark_type(config, name, "a token id or a list of token ids");
    return list;
  }
  for (const json::Element element : array) {
    if (const auto id = as<uint64_t>(element)) {
      list.push_back(*id);
    } else {
      remark_type(config, name, "a token id or a list of token ids");
    }
  }
  return list;
}

std::vector<double> numbers(json::Element object, std::string_view key) {
  std::vector<double> list;
  const auto array = json::array_member(object, key);
  if (!array) return list;
  for (const json::Element element : *array) {
    const auto item = as<double>(element);
    if (!item) return {};
    list.push_back(*item);
  }
  return list;
}

std::optional<double> first_number(json::Element object, Names names) {
  for (const std::string_view name : names) {
    if (const auto value = json::number_member(object, name)) return value;
  }
  return std::nullopt;
}

// Reads a scaling object of either generation: {"rope_type" or "type", "factor", …}. Returns nullopt for type
// "default", and for a missing type unless the object has a factor other than 1 or long_factor.
std::optional<RopeScaling> read_scaling(json::Element object) {
  auto type = json::string_member(object, "rope_type");
  if (!type) type = json::string_member(object, "type");
  if (type == "default") return std::nullopt;
  const bool scales = json::number_member(object, "factor").value_or(1) != 1 || json::member(object, "long_factor");
  if (type.value_or("").empty() && !scales) return std::nullopt;
  RopeScaling scaling;
  scaling.type = type.value_or("");
  scaling.factor = json::number_member(object, "factor");
  scaling.low_freq_factor = json::number_member(object, "low_freq_factor");
  scaling.high_freq_factor = json::number_member(object, "high_freq_factor");
  scaling.original_max_position_embeddings = json::number_member(object, "original_max_position_embeddings");
  scaling.attention_factor = first_number(object, {"attention_factor", "attn_factor"});
  scaling.extrapolation_factor = json::number_member(object, "extrapolation_factor");
  scaling.beta_fast = json::number_member(object, "beta_fast");
  scaling.beta_slow = json::number_member(object, "beta_slow");
  scaling.mscale = json::number_member(object, "mscale");
  scaling.mscale_all_dim = json::number_member(object, "mscale_all_dim");
  scaling.short_mscale = json::number_member(object, "short_mscale");
  scaling.long_mscale = json::number_member(object, "long_mscale");
  scaling.short_factor = numbers(object, "short_factor");
  scaling.long_factor = numbers(object, "long_factor");
  return scaling;
}

// Reads a rope object, either flat or split into full_attention and sliding_attention. Does not overwrite known values.
void read_rope_object(json::Element object, Config& config) {
  Rope& rope = config.rope;
  const auto full = json::member(object, "full_attention");
  const auto sliding = json::member(object, "sliding_attention");
  const json::Element global = full ? *full : object;
  if (!rope.theta) rope.theta = json::number_member(global, "rope_theta");
  if (!rope.scaling) rope.scaling = read_scaling(global);
  if (!config.partial_rotary_factor) {
    config.partial_rotary_factor = json::number_member(global, "partial_rotary_factor");
  }
  if (sliding) {
    if (!rope.theta_local) rope.theta_local = json::number_member(*sliding, "rope_theta");
    if (!rope.scaling_local) rope.scaling_local = read_scaling(*sliding);
  }
}

// Reads rope_theta as a list with one base per layer: takes the first of each layer type.
void read_thetas_of_layers(Config& config) {
  const std::optional<json::Element> field = config.field("rope_theta");
  json::Array list;
  if (!field || !field->get(list)) return;
  auto type = config.layer_types.begin();
  for (const json::Element one : list) {
    if (type == config.layer_types.end()) break;
    std::optional<double>& theta = *type++ == "sliding_attention" ? config.rope.theta_local : config.rope.theta;
    double value = 0;
    if (!theta && one.get(value)) theta = value;
  }
}

void read_rope(Config& config) {
  // The newer name comes first. Files from transitional versions may use either name for either form.
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const std::optional<json::Element> object = config.field(key);
    if (!object) continue;
    if (!object->is_object()) {
      remark_type(config, key, "an object");
      continue;
    }
    read_rope_object(*object, config);
  }
  read_thetas_of_layers(config);
  if (!config.rope.theta) {
    config.rope.theta = number(config, {"rope_theta", "global_rope_theta", "rope_global_theta", "rotary_emb_base"});
  }
  if (!config.rope.theta_local) {
    config.rope.theta_local = number(config, {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta"});
  }
  if (!config.partial_rotary_factor) config.partial_rotary_factor = number(config, {"partial_rotary_factor"});
}

void read_sizes(Config& config) {
  config.block_count = count(config, {"num_hidden_layers", "n_layers", "n_layer", "num_layers"});
  config.context_length =
      count(config, {"max_position_embeddings", "n_ctx", "n_positions", "max_sequence_length", "model_max_length"});
  config.embedding_length = count(config, {"hidden_size", "n_embd", "dim"});
  config.feed_forward_length = layer_count(config, {"intermediate_size", "n_inner", "hidden_dim"});
  config.head_count = layer_count(config, {"num_attention_heads", "n_head", "n_heads"});
  config.head_count_kv = layer_count(config, {"num_key_value_heads", "n_kv_heads"});
  config.head_dim = count(config, {"head_dim"});
  config.vocab_size = count(config, {"vocab_size"});
  config.expert_count = count(config, {"num_local_experts", "num_experts"});
  config.expert_used_count = layer_count(config, {"num_experts_per_tok"});
  config.expert_feed_forward_length = layer_count(config, {"moe_intermediate_size"});
  config.expert_shared_feed_forward_length = layer_count(config, {"shared_expert_intermediate_size"});
  config.sliding_window = count(config, {"sliding_window"});
  // A text such as "LLLG" spells the pattern in letters; it is not a number.
  if (!config.string_field("sliding_window_pattern")) {
    config.sliding_window_pattern = count(config, {"sliding_window_pattern"});
  }
  config.original_max_position_embeddings = count(config, {"original_max_position_embeddings"});
}

void read_rest(Config& config) {
  config.rms_norm_eps = number(config, {"rms_norm_eps", "norm_eps"});
  config.attn_logit_softcapping = number(config, {"attn_logit_softcapping"});
  config.final_logit_softcapping = number(config, {"final_logit_softcapping"});
  config.query_pre_attn_scalar = number(config, {"query_pre_attn_scalar"});
  config.tie_word_embeddings = boolean(config, {"tie_word_embeddings"});
  config.layer_types = strings(config, "layer_types");
  config.hidden_act = text(config, {"hidden_activation", "hidden_act"});
  config.dtype = text(config, {"dtype", "torch_dtype"});
  config.eos_token_ids = token_ids(config, "eos_token_id");
  config.bos_token_id = token_id(config, "bos_token_id");
  config.pad_token_id = token_id(config, "pad_token_id");
  config.architectures = strings(config, "architectures");
  if (!config.architectures.empty()) config.architecture = config.architectures.front();
  config.model_type = text(config, {"model_type"});
  config.quantization = config.field("quantization");
  config.quantization_config = config.field("quantization_config");
  if (config.quantization_config) {
    config.quant_method = json::string_member(*config.quantization_config, "quant_method").value_or("");
  }
}

Result<Config> read_config(std::shared_ptr<json::Document> document) {
  Config config;
  config.path = document->name;
  config.document = std::move(document);
  const json::Element root = config.document->root;
  if (!root.is_object()) {
    return input_error("hf-config-not-object", "is not a JSON object", {}, {}, config.path);
  }
  for (const std::string_view key : {"text_config", "llm_config", "lm_config", "language_config"}) {
    const auto inner = json::member(root, key);
    if (inner && inner->is_object()) {
      config.overlay = inner;
      config.has_text_config = true;
      break;
    }
  }
  read_sizes(config);
  read_rest(config);
  read_rope(config);
  check_rope(config, config.findings);
  return config;
}

}  // namespace

namespace {

std::optional<json::Element> member_at(json::Element object, std::string_view path) {
  if (const auto found = json::member(object, path)) return found;
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto inner = json::member(object, path.substr(0, dot));
  return inner ? member_at(*inner, path.substr(dot + 1)) : std::nullopt;
}

}  // namespace

std::optional<json::Element> Config::field(std::string_view key) const {
  if (overlay) {
    if (const auto inner = member_at(*overlay, key)) return inner;
  }
  return document ? member_at(document->root, key) : std::nullopt;
}

std::optional<u64> Config::u64_field(std::string_view key) const {
  const auto found = field(key);
  return found ? as<uint64_t>(*found) : std::nullopt;
}
std::optional<u64> Config::same_u64_field(std::string_view key) const {
  const auto found = field(key);
  json::Array list;
  if (!found || !found->get(list)) return u64_field(key);
  std::optional<u64> same;
  for (const json::Element one : list) {
    const auto value = as<uint64_t>(one);
    if (!value || same.value_or(*value) != *value) return std::nullopt;
    same = value;
  }
  return same;
}
std::optional<double> Config::number_field(std::string_view key) const {
  const auto found = field(key);
  return found ? as<double>(*found) : std::nullopt;
}
std::optional<std::string_view> Config::string_field(std::string_view key) const {
  const auto found = field(key);
  return found ? as<std::string_view>(*found) : std::nullopt;
}
std::optional<bool> Config::bool_field(std::string_view key) const {
  const auto found = field(key);
  return found ? as<bool>(*found) : std::nullopt;
}

Result<std::optional<Config>> load_config(const ModelFolder& folder) {
  MU_ASSIGN(std::shared_ptr<json::Document> document,
            json::load_if_present(folder, "config.json", u64{64} << 20, json::Numbers::python));
  if (document == nullptr) return std::nullopt;
  MU_ASSIGN(Config config, read_config(std::move(document)));
  return std::optional(std::move(config));
}

Result<Config> parse_config(std::string_view text, std::string name) {
  MU_ASSIGN(std::unique_ptr<json::Document> document, json::parse(text, std::move(name), json::Numbers::python));
  return read_config(std::move(document));
}

}  // namespace modelutils::hf
