#include "formats/hf/config.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/text.h"
#include "formats/hf/config_members.h"

namespace modelutils::hf {

namespace {

void remark_type(Config& config, std::string_view key, std::string_view expected) {
  config.findings.error(Scope::model, "hf-config-field", fmt::format("is not {}", expected), at_field(key));
}

template <typename T>
std::optional<T> as(json::Element element) {
  T value{};
  if (!element.get(value)) return std::nullopt;
  return value;
}

// Returns the result of `convert` for the first name in "a|b" for which it returns a value.
template <typename Convert>
auto first_of(std::string_view names, Convert convert) -> decltype(convert(std::string_view{})) {
  decltype(convert(std::string_view{})) value;
  for_each_name(names, [&](std::string_view name) {
    if (!value) value = convert(name);
  });
  return value;
}

template <typename T>
std::optional<T> value_of(const Config& config, std::string_view names) {
  return first_of(names, [&](std::string_view name) {
    const std::optional<json::Element> found = config.field(name);
    return found ? as<T>(*found) : std::nullopt;
  });
}

enum class FieldType : u8 { count, layer_count, number, flag, text };

bool has_type(json::Element element, FieldType type) {
  json::Array list;
  switch (type) {
    case FieldType::count: return as<u64>(element).has_value();
    case FieldType::layer_count:
      if (!element.get(list)) return as<u64>(element).has_value();
      return std::all_of(list.begin(), list.end(), [](json::Element one) { return as<u64>(one).has_value(); });
    case FieldType::number: return as<double>(element).has_value();
    case FieldType::flag: return as<bool>(element).has_value();
    case FieldType::text: return as<std::string_view>(element).has_value();
  }
  return false;
}

std::string_view type_text(FieldType type) {
  switch (type) {
    case FieldType::count:
    case FieldType::layer_count: return "a non-negative whole number";
    case FieldType::number: return "a number";
    case FieldType::flag: return "true or false";
    case FieldType::text: return "a string";
  }
  return {};
}

// Reports members of another type, up to the first name in "a|b" whose value has the type.
void check_type(Config& config, std::string_view names, FieldType type) {
  bool is_found = false;
  for_each_name(names, [&](std::string_view name) {
    const auto found = is_found ? std::nullopt : config.field(name);
    if (!found) return;
    is_found = has_type(*found, type);
    if (!is_found) remark_type(config, name, type_text(type));
  });
}

std::optional<u64> count(Config& config, std::string_view names) {
  check_type(config, names, FieldType::count);
  return config.u64_field(names);
}
std::optional<double> number(Config& config, std::string_view names) {
  check_type(config, names, FieldType::number);
  return config.number_field(names);
}
std::string text(Config& config, std::string_view names) {
  check_type(config, names, FieldType::text);
  return std::string(config.string_field(names).value_or(std::string_view{}));
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
  return as<i64>(element) == -1;
}

void check_token_id(Config& config, std::string_view name) {
  const std::optional<json::Element> found = config.field(name);
  if (!found || !is_no_token(*found)) check_type(config, name, FieldType::count);
}

// A number or a list of numbers.
void check_token_ids(Config& config, std::string_view name) {
  const std::optional<json::Element> found = config.field(name);
  if (!found || is_no_token(*found) || as<u64>(*found)) return;
  json::Array array;
  if (!found->get(array)) return remark_type(config, name, "a token id or a list of token ids");
  for (const json::Element element : array) {
    if (!as<u64>(element)) remark_type(config, name, "a token id or a list of token ids");
  }
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
  scaling.attention_factor = json::number_member(object, "attention_factor");
  if (!scaling.attention_factor) scaling.attention_factor = json::number_member(object, "attn_factor");
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
  if (!config.rope.theta) config.rope.theta = number(config, fields::rope_base);
  if (!config.rope.theta_local) config.rope.theta_local = number(config, fields::rope_base_sliding);
  if (!config.partial_rotary_factor) config.partial_rotary_factor = number(config, "partial_rotary_factor");
}

void read_sizes(Config& config) {
  config.block_count = count(config, fields::layers);
  check_type(config, fields::context, FieldType::count);
  check_type(config, fields::width, FieldType::count);
  check_type(config, fields::feed_forward, FieldType::layer_count);
  check_type(config, fields::heads, FieldType::layer_count);
  check_type(config, fields::kv_heads, FieldType::layer_count);
  check_type(config, "head_dim", FieldType::count);
  config.vocab_size = count(config, "vocab_size");
  check_type(config, fields::experts, FieldType::count);
  check_type(config, fields::experts_used, FieldType::layer_count);
  check_type(config, "moe_intermediate_size", FieldType::layer_count);
  check_type(config, "shared_expert_intermediate_size", FieldType::layer_count);
  config.sliding_window = count(config, "sliding_window");
  // A text such as "LLLG" states the pattern as letters instead of a number.
  if (!config.string_field("sliding_window_pattern")) {
    config.sliding_window_pattern = count(config, "sliding_window_pattern");
  }
  check_type(config, "original_max_position_embeddings", FieldType::count);
}

void read_rest(Config& config) {
  check_type(config, fields::rms_epsilon, FieldType::number);
  check_type(config, "attn_logit_softcapping", FieldType::number);
  check_type(config, "final_logit_softcapping", FieldType::number);
  check_type(config, "query_pre_attn_scalar", FieldType::number);
  check_type(config, "tie_word_embeddings", FieldType::flag);
  config.tie_word_embeddings = config.bool_field("tie_word_embeddings");
  config.layer_types = strings(config, "layer_types");
  config.hidden_act = text(config, fields::activation);
  check_type(config, fields::dtype, FieldType::text);
  check_token_ids(config, "eos_token_id");
  check_token_id(config, "bos_token_id");
  check_token_id(config, "pad_token_id");
  config.architectures = strings(config, "architectures");
  if (!config.architectures.empty()) config.architecture = config.architectures.front();
  config.model_type = text(config, "model_type");
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
  const auto thinker = json::member(root, "thinker_config");
  if (thinker && thinker->is_object()) config.thinker = thinker;
  for (const std::string_view key : {"text_config", "llm_config", "lm_config", "language_config"}) {
    const auto inner = json::member(config.thinker.value_or(root), key);
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

std::optional<json::Element> member_at(json::Element object, std::string_view path) {
  if (const auto found = json::member(object, path)) return found;
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto inner = json::member(object, path.substr(0, dot));
  return inner ? member_at(*inner, path.substr(dot + 1)) : std::nullopt;
}

}  // namespace

std::optional<json::Element> Config::field(std::string_view names) const {
  return first_of(names, [&](std::string_view name) {
    std::optional<json::Element> found;
    for (const auto& object : {overlay, thinker}) {
      if (!found && object) found = member_at(*object, name);
    }
    return found || !document ? found : member_at(document->root, name);
  });
}

std::optional<u64> Config::u64_field(std::string_view names) const {
  return value_of<u64>(*this, names);
}
std::optional<u64> Config::count_field(std::string_view names) const {
  return first_of(names, [&](std::string_view name) -> std::optional<u64> {
    const auto found = field(name);
    json::Array list;
    if (!found || !found->get(list)) return found ? as<u64>(*found) : std::nullopt;
    std::optional<u64> same;
    for (const json::Element one : list) {
      const auto value = as<u64>(one);
      if (!value || same.value_or(*value) != *value) return std::nullopt;
      same = value;
    }
    return same;
  });
}
std::optional<double> Config::number_field(std::string_view names) const {
  return value_of<double>(*this, names);
}
std::optional<std::string_view> Config::string_field(std::string_view names) const {
  return value_of<std::string_view>(*this, names);
}
std::optional<bool> Config::bool_field(std::string_view names) const {
  return value_of<bool>(*this, names);
}

Result<std::optional<Config>> load_config(const ModelFolder& folder) {
  MU_ASSIGN(std::shared_ptr<json::Document> document,
            json::load_if_present(folder, "config.json", u64{64} << 20, json::Numbers::python));
  if (document == nullptr) return std::nullopt;
  MU_ASSIGN(Config config, read_config(std::move(document)));
  config.modules = load_sentence_modules(folder, config.findings);
  return std::optional(std::move(config));
}

Result<Config> parse_config(std::string_view text, std::string name) {
  MU_ASSIGN(std::unique_ptr<json::Document> document, json::parse(text, std::move(name), json::Numbers::python));
  return read_config(std::move(document));
}

namespace {

class RopeCheck {
 public:
  explicit RopeCheck(FindingLog& findings) : findings_(findings) {}

  void positive(std::string_view field, const std::optional<double>& value) {
    if (value && !is_positive(*value))
      findings_.error(Scope::model, "hf-rope", fmt::format("is {}; it must be a finite number greater than 0", *value),
                      at_field(field));
  }

  void scaling(const RopeScaling& s) {
    positive("rope_scaling.factor", s.factor);
    positive("rope_scaling.low_freq_factor", s.low_freq_factor);
    positive("rope_scaling.high_freq_factor", s.high_freq_factor);
    positive("rope_scaling.original_max_position_embeddings", s.original_max_position_embeddings);
    positive("rope_scaling.attention_factor", s.attention_factor);
    if (s.low_freq_factor && s.high_freq_factor && *s.low_freq_factor > *s.high_freq_factor) {
      findings_.error(
          Scope::model, "hf-rope",
          fmt::format("is {}; it must be at least low_freq_factor {}", *s.high_freq_factor, *s.low_freq_factor),
          at_field("rope_scaling.high_freq_factor"));
    }
    for (const auto& [name, factors] :
         {std::pair{"rope_scaling.long_factor", &s.long_factor}, {"rope_scaling.short_factor", &s.short_factor}}) {
      const auto bad = std::find_if_not(factors->begin(), factors->end(), is_positive);
      if (bad != factors->end()) {
        findings_.error(
            Scope::model, "hf-rope",
            fmt::format("has {} at index {}; all must be finite numbers greater than 0", *bad, bad - factors->begin()),
            at_field(name));
      }
    }
  }

  void part(const std::optional<double>& value) {
    if (value && !(*value > 0 && *value <= 1)) {
      findings_.error(Scope::model, "hf-rope", fmt::format("is {}; it must be greater than 0 and at most 1", *value),
                      at_field("partial_rotary_factor"));
    }
  }

 private:
  static bool is_positive(double value) { return std::isfinite(value) && value > 0; }

  FindingLog& findings_;
};

}  // namespace

void check_rope(const Config& config, FindingLog& findings) {
  RopeCheck check(findings);
  check.positive("rope_theta", config.rope.theta);
  check.positive("rope_local_base_freq", config.rope.theta_local);
  if (config.rope.scaling) check.scaling(*config.rope.scaling);
  if (config.rope.scaling_local) check.scaling(*config.rope.scaling_local);
  check.part(config.partial_rotary_factor);
}

}  // namespace modelutils::hf
