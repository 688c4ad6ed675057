#include "arch/common_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "arch/config_writer.h"
#include "arch/geometry.h"
#include "arch/key_writer.h"
#include "arch/rope.h"

namespace modelutils::arch {

namespace {

const Key* context_key(const Family& family) {
  for (const Key* key : keys_of(family)) {
    if (key->name == "context_length") return key;
  }
  return nullptr;
}

}  // namespace

u64 context_or_default(const KeyWriter& out) {
  const Key* key = context_key(out.family());
  if (key == nullptr) return 0;
  if (const auto stated = out.config().count_field(key->fields)) return *stated;
  return evaluate(key->fallback, out.sizes()).value_or(0);
}

Status write_context(KeyWriter& out, const Key& key) {
  const u64 context = context_or_default(out);
  if (!out.config().count_field(key.fields)) {
    out.warn(first_name(key.fields), fmt::format("is missing; a context of {} is written", context));
  }
  return out.count(key.name, context);
}

Status write_theta(KeyWriter& out, const Key& key) {
  const std::optional<double>& stated = out.config().rope.theta;
  const double theta = rope_theta(out.family(), out.config(), out.is_mlx());
  if (!stated) {
    out.remark(Severity::note, "rope_theta", fmt::format("is missing; the model class's default {} is written", theta));
  }
  return out.real(key.name, theta);
}

Status write_local_theta(KeyWriter& out, const Key& key) {
  const std::optional<double>& stated = out.config().rope.theta_local;
  return stated ? out.real(key.name, *stated) : Status{};
}

std::optional<u64> partial_rotation(const hf::Config& config, const Sizes& sizes) {
  const u64 heads = sizes.get(symbol::heads);
  if (heads == 0) return std::nullopt;
  const double part = config.partial_rotary_factor.value_or(1.0);
  return static_cast<u64>(part * static_cast<double>(sizes.get(symbol::embedding))) / heads;
}

std::optional<u64> rotated_part_of_head(const hf::Config& config, const Sizes& sizes) {
  if (!config.partial_rotary_factor) return std::nullopt;
  return static_cast<u64>(*config.partial_rotary_factor * static_cast<double>(sizes.get(symbol::head_dim)));
}

Status write_gating(KeyWriter& out, const Key& key) {
  const std::string_view field = stated_field(out.config(), key.fields);
  const auto stated = out.config().string_field(field);
  if (!stated) return out.count(key.name, evaluate(key.fallback, out.sizes()).value_or(0));
  if (*stated == "softmax") return out.count(key.name, 1);
  if (*stated == "sigmoid") return out.count(key.name, 2);
  return out.refuse(field, fmt::format("is '{}'; llama.cpp supports softmax and sigmoid", *stated));
}

Status write_weights_norm(KeyWriter& out, const Key& key) {
  const std::optional<bool> stated = out.config().bool_field(stated_field(out.config(), key.fields));
  if (!stated && key.fallback.empty()) return {};
  out.flag(key.name, stated.value_or(key.fallback == "true") && out.size(symbol::experts_used) > 1);
  return {};
}

Status write_groups(KeyWriter& out, const Key& key) {
  const u64 groups = out.size("G"), used = out.size("Gu");
  if (groups < 2) return out.config().count_field(key.fields) ? out.count(key.name, 1) : Status{};
  const u64 kept = out.size("X") / groups * used;
  // Hugging Face and MLX give experts of unselected groups a score of 0, llama.cpp minus infinity.
  if (key.symbol == "Gu" && out.size("U") >= kept) {
    out.warn("num_experts_per_tok",
             fmt::format("is not less than the number of experts in {} groups: an expert whose score plus selection "
                         "bias is negative loses to an expert of another group, but not in llama.cpp",
                         used));
  }
  return out.count(key.name, out.size(key.symbol));
}

Status warn_of_windows(KeyWriter& out) {
  const hf::Config& config = out.config();
  const std::vector<std::string>& types = config.layer_types;
  if (std::find(types.begin(), types.end(), "sliding_attention") != types.end()) {
    out.warn("layer_types", "lists sliding-window layers, which llama.cpp computes with full attention");
    return {};
  }
  // Qwen's classes have a switch, use_sliding_window. If it is absent, a stated window applies.
  const bool is_on = config.bool_field("use_sliding_window").value_or(true);
  if (!is_on || !config.sliding_window || *config.sliding_window == 0) return {};
  const std::optional<u64> context = config.u64_field(hf::fields::context);
  if (context && *config.sliding_window >= *context) return {};
  out.warn("sliding_window", fmt::format("is {}; llama.cpp ignores it and computes full attention: texts longer than "
                                         "the window give other results",
                                         *config.sliding_window));
  return {};
}

// Inverts rows of several families, from keys to config.json: rope, experts, sliding windows.

namespace {

constexpr double loaders_theta = 10000;  // llama.cpp's default if rope.freq_base is absent

// Sets both names of the type, since some readers only accept the older "type".
void set_type(ConfigWriter& out, std::string_view type) {
  out.set("rope_scaling.rope_type", type);
  out.set("rope_scaling.type", type);
}

double theta_of(const ConfigWriter& out) {
  return out.real("rope.freq_base").value_or(loaders_theta);
}

std::optional<u64> original_context_of(const ConfigWriter& out) {
  return out.count("rope.scaling.original_context_length");
}

void set_original_context(ConfigWriter& out) {
  if (const auto original = original_context_of(out)) {
    out.set("rope_scaling.original_max_position_embeddings", *original);
  }
}

void set_real(ConfigWriter& out, std::string_view member, std::string_view key) {
  if (const auto value = out.real(key)) out.set(member, *value);
}

Result<double> factor_of(const ConfigWriter& out) {
  std::optional<double> factor = out.real("rope.scaling.factor");
  if (!factor) factor = out.real("rope.scale_linear");  // used by some old files
  if (!factor) return 1;
  if (std::isfinite(*factor) && *factor > 0) return *factor;
  return out.refuse("rope.scaling.factor", fmt::format("is {}, which is not a factor", *factor));
}

Status read_llama3(ConfigWriter& out, std::vector<float> freqs) {
  const bool is_whole = freqs.size() == out.size(symbol::rotated) / 2;
  if (is_whole && has_generator(out.family(), "llama3-half")) freqs.resize(freqs.size() / 2);
  const std::optional<Llama3Rope> found = is_whole ? find_llama3_rope(theta_of(out), freqs) : std::nullopt;
  if (!found) {
    return input_error("config-rope",
                       "are divisors that no llama3 scaling produces, and config.json supports no others",
                       "rope_freqs.weight");
  }
  set_type(out, "llama3");
  out.set("rope_scaling.factor", found->factor);
  out.set("rope_scaling.low_freq_factor", found->low_freq_factor);
  out.set("rope_scaling.high_freq_factor", found->high_freq_factor);
  out.set("rope_scaling.original_max_position_embeddings", static_cast<u64>(found->original_context));
  return {};
}

// Reads longrope's factors. Returns false if there are none.
Result<bool> read_longrope(ConfigWriter& out) {
  MU_ASSIGN(const auto long_factors, out.values("rope_factors_long.weight"));
  MU_ASSIGN(const auto short_factors, out.values("rope_factors_short.weight"));
  if (!long_factors && !short_factors) return false;
  if (!long_factors || !short_factors) {
    return input_error("config-rope", "is missing; longrope has factors for short and for long texts",
                       long_factors ? "rope_factors_short.weight" : "rope_factors_long.weight");
  }
  set_type(out, "longrope");
  out.set("rope_scaling.long_factor", hf::config_list(*long_factors));
  out.set("rope_scaling.short_factor", hf::config_list(*short_factors));
  set_original_context(out);
  return true;
}

void read_yarn_keys(ConfigWriter& out, double factor) {
  set_type(out, "yarn");
  out.set("rope_scaling.factor", factor);
  set_original_context(out);
  set_real(out, "rope_scaling.attention_factor", "rope.scaling.yarn_attn_factor");
  set_real(out, "rope_scaling.extrapolation_factor", "rope.scaling.yarn_ext_factor");
  set_real(out, "rope_scaling.beta_fast", "rope.scaling.yarn_beta_fast");
  set_real(out, "rope_scaling.beta_slow", "rope.scaling.yarn_beta_slow");
}

// Returns the `mscale` for which yarn_magnitude() is `magnitude`.
double mscale_of(double magnitude, double factor) {
  return factor > 1 ? (magnitude - 1) / (0.1 * std::log(factor)) : 1;
}

void read_yarn(ConfigWriter& out, double factor) {
  read_yarn_keys(out, factor);
  const std::optional<double> log_multiplier = out.real("rope.scaling.yarn_log_multiplier");
  const std::optional<double> attention = out.real("rope.scaling.attn_factor");
  const double on_all = yarn_magnitude(factor, log_multiplier.value_or(0));
  const double wanted = attention.value_or(1) * yarn_magnitude(factor, 1) / on_all;
  if (log_multiplier || attention) out.set("rope_scaling.mscale", mscale_of(wanted * on_all, factor));
  if (log_multiplier) out.set("rope_scaling.mscale_all_dim", *log_multiplier);
  if (attention && !log_multiplier && !out.has("rope_scaling.attention_factor")) {
    out.set("rope_scaling.attention_factor", wanted);
  }
}

// Reads linear, yarn or no scaling. Calls `yarn` for yarn, whose members differ between families.
Status read_key_scaling(ConfigWriter& out, void (*yarn)(ConfigWriter&, double)) {
  const std::string_view type = out.text("rope.scaling.type");
  MU_ASSIGN(const double factor, factor_of(out));
  if (type == "yarn") {
    yarn(out, factor);
  } else if (type == "linear" || type.empty()) {
    if (factor == 1) return {};
    set_type(out, "linear");
    out.set("rope_scaling.factor", factor);
  } else if (type != "none" && type != "longrope") {
    return out.refuse("rope.scaling.type", fmt::format("is '{}', which config.json cannot express", type));
  }
  return {};
}

Status read_scaling(ConfigWriter& out, void (*yarn)(ConfigWriter&, double)) {
  MU_ASSIGN(const auto freqs, out.values("rope_freqs.weight"));
  const bool is_llama3 = freqs && std::any_of(freqs->begin(), freqs->end(), [](float one) { return one != 1; });
  if (is_llama3) return read_llama3(out, *freqs);
  MU_ASSIGN(const bool is_long, read_longrope(out));
  return is_long ? Status{} : read_key_scaling(out, yarn);
}

// llama.cpp multiplies rotated parts by the attention factor A, and all scores by the square of A (1 + 0.1 x
// ln(factor)), with x = 10 × the key. If the key is absent, it uses another attention factor.
void read_mla_yarn(ConfigWriter& out, double factor) {
  read_yarn_keys(out, factor);
  const double multiplier = 10 * out.real("rope.scaling.yarn_log_multiplier").value_or(0);
  const double fixed = multiplier == 0 ? yarn_magnitude(factor, 1) : 1;
  const double on_rotated = out.real("rope.scaling.attn_factor").value_or(1) * fixed;
  const double on_all = on_rotated * yarn_magnitude(factor, multiplier);
  out.set("rope_scaling.mscale", mscale_of(on_rotated * on_all, factor));
  out.set("rope_scaling.mscale_all_dim", mscale_of(on_all, factor));
}

}  // namespace

Status read_theta(ConfigWriter& out, const Key& key) {
  const std::string_view fields = key.fields.empty() ? hf::fields::rope_base : key.fields;
  const double theta = theta_of(out);
  if (!(theta > 0) || !std::isfinite(theta)) return out.refuse("rope.freq_base", fmt::format("is {}", theta));
  out.set(out.spelled(fields), theta);
  return {};
}

Status read_local_theta(ConfigWriter& out, const Key&) {
  if (const auto theta = out.real("rope.freq_base_swa")) {
    out.set(out.spelled(hf::fields::rope_base_sliding), *theta);
  } else if (out.spells("rope_local_base_freq")) {
    out.set("rope_local_base_freq", loaders_theta);
  }
  return {};
}

Status read_rotation(ConfigWriter& out, const Key&) {
  const u64 rotated = out.size(symbol::rotated);
  const u64 head = out.size(symbol::head_dim);
  if (head == 0 || rotated > head) {
    return out.refuse("rope.dimension_count", fmt::format("is {} of {} elements of a head", rotated, head));
  }
  const std::string_view field = out.spelled("partial_rotary_factor|rotary_pct|rotary_dim");
  if (field == "rotary_dim") {
    out.set(field, rotated);
  } else {
    out.set(field, static_cast<double>(rotated) / static_cast<double>(head));
  }
  return {};
}

Status read_rope_scaling(ConfigWriter& out, const Key&) {
  return read_scaling(out, read_yarn);
}

Status read_mla_rope_scaling(ConfigWriter& out, const Key&) {
  return read_scaling(out, read_mla_yarn);
}

Status read_phi3_rope_scaling(ConfigWriter& out, const Key& key) {
  if (const auto original = original_context_of(out)) {
    out.set("original_max_position_embeddings", *original);
  } else if (const auto context = out.count("context_length")) {
    out.assume("original_max_position_embeddings", *context);
  }
  return read_rope_scaling(out, key);
}

Status read_rope_sections(ConfigWriter& out, const Key& key) {
  MU_ASSIGN(std::vector<u64> sections, out.counts(key.name));
  if (sections.empty()) return {};
  sections.resize(3);  // keep time, height and width; the fourth section is unused
  if (!out.has("rope_scaling")) set_type(out, "default");
  out.set("rope_scaling.mrope_section", hf::config_list(sections));
  return {};
}

Status read_gating(ConfigWriter& out, const Key& key) {
  if (out.size(symbol::experts) == 0) return {};
  const std::string_view field = out.spelled(key.fields);
  const std::optional<u64> stated = out.count(key.name);
  const u64 gating = stated.value_or(evaluate(key.fallback, out.sizes()).value_or(1));
  if (gating != 1 && gating != 2) {
    return out.refuse(key.name, fmt::format("is {}; config.json knows softmax (1) and sigmoid (2)", gating));
  }
  const std::string_view text = gating == 1 ? "softmax" : "sigmoid";
  if (stated) {
    out.set(field, text);
  } else {
    out.assume(field, text);
  }
  return {};
}

Status read_expert_groups(ConfigWriter& out, const Key& key) {
  if (out.size(symbol::experts) > 0) out.set(out.spelled(key.fields), out.count(key.name).value_or(1));
  return {};
}

void set_identity(ConfigWriter& out, std::string_view hf_class, std::string_view model_type) {
  out.set("architectures", hf::config_list(std::vector<std::string_view>{hf_class}));
  out.set("model_type", model_type);
}

void gather_rope_parameters(ConfigWriter& out) {
  hf::ConfigValue gathered = out.take("rope_scaling").value_or(hf::ConfigMembers{{"rope_type", "default"}});
  out.set("rope_parameters", std::move(gathered));
  for (const std::string_view member : {"rope_theta", "partial_rotary_factor"}) {
    if (auto value = out.take(member)) out.set(fmt::format("rope_parameters.{}", member), std::move(*value));
  }
}

Status describe_limits(ConfigWriter& out) {
  out.assume("time_step_limit", hf::config_list(std::vector<double>{0, std::numeric_limits<double>::infinity()}));
  return {};
}

Result<std::vector<bool>> sliding_layers(const ConfigWriter& out) {
  const Windows& windows = out.family().cache.windows;
  MU_ASSIGN(const std::vector<u64> flags, out.counts("attention.sliding_window_pattern"));
  const u64 layers = out.size(symbol::layers);
  std::vector<bool> slides(static_cast<std::size_t>(layers), false);
  const bool has_window = windows.always || out.count("attention.sliding_window").value_or(windows.missing) > 0;
  if (!has_window || (windows.only_with_layers != 0 && windows.only_with_layers != layers)) return slides;
  if (!flags.empty() && flags.size() < slides.size()) {
    return out.refuse("attention.sliding_window_pattern", fmt::format("has {} of the {} layers", flags.size(), layers));
  }
  const u64 period = out.count("attention.sliding_window_pattern").value_or(windows.period);
  for (std::size_t i = 0; i < slides.size(); ++i) {
    const std::size_t place = windows.global_first ? i : i + 1;
    slides[i] = flags.empty() ? period == 0 || place % period != 0 : flags[i] != 0;
  }
  return slides;
}

hf::ConfigValue layer_types(const std::vector<bool>& slides) {
  std::vector<std::string_view> types;
  for (const bool one : slides) types.emplace_back(one ? "sliding_attention" : "full_attention");
  return hf::config_list(types);
}

Status read_windows(ConfigWriter& out, const Key& key) {
  if (out.spells("layer_types")) {
    MU_ASSIGN(const std::vector<bool> slides, sliding_layers(out));
    out.set("layer_types", layer_types(slides));
  }
  if (out.spells("sliding_window_pattern")) {
    out.set("sliding_window_pattern", out.count(key.name).value_or(out.family().cache.windows.period));
  }
  return {};
}

hf::ConfigValue kinds_by_heads(const ConfigWriter& out, std::string_view in, std::string_view out_of) {
  std::vector<std::string_view> kinds;
  for (u64 layer = 0; layer < out.size(symbol::layers); ++layer) {
    kinds.push_back(out.sizes().get(symbol::kv_heads, layer) > 0 ? in : out_of);
  }
  return hf::config_list(kinds);
}

hf::ConfigValue layers_with_heads(const ConfigWriter& out, u64 first) {
  std::vector<u64> layers;
  for (u64 layer = 0; layer < out.size(symbol::layers); ++layer) {
    if (out.sizes().get(symbol::kv_heads, layer) > 0) layers.push_back(layer + first);
  }
  return hf::config_list(layers);
}

}  // namespace modelutils::arch
