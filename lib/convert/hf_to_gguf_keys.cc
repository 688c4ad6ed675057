#include "convert/hf_to_gguf_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/checked_math.h"
#include "model/rope_scaling.h"

namespace modelutils::convert {

namespace {

class KeyMaker {
 public:
  KeyMaker(const HfModel& model, const HyperParameters& parameters)
      : model_(model), config_(model.config), p_(parameters), name_(model.architecture->name) {}

  Result<ModelKeys> make() {
    MU_TRY(check_activation());
    MU_TRY(sizes());
    MU_TRY(rope());
    if (p_.n_expert > 0) experts();
    MU_TRY(attention_details());
    check_constants();
    if (failed_) return tl::make_unexpected(*failed_);
    return std::move(result_);
  }

 private:
  std::string key(std::string_view suffix) const { return fmt::format("{}.{}", name_, suffix); }

  void number(std::string_view suffix, u64 value) {
    const std::optional<u32> narrow = checked_cast<u32>(value);
    if (!narrow && !failed_) {
      failed_ = input_error("convert-config", fmt::format("is {}, which does not fit into 32 bits", value),
                            "key '" + key(suffix) + "'", {}, config_.path)
                    .value();
    }
    result_.keys.push_back(gguf::make_key(key(suffix), narrow.value_or(0)));
  }
  void real(std::string_view suffix, double value) {
    const float narrow = static_cast<float>(value);
    if (!std::isfinite(narrow) && !failed_) {
      failed_ = input_error("convert-config", fmt::format("is {}, which is no finite float32", value),
                            "key '" + key(suffix) + "'", {}, config_.path)
                    .value();
    }
    result_.keys.push_back(gguf::make_key_f32(key(suffix), narrow));
  }
  void text(std::string_view suffix, std::string_view value) {
    result_.keys.push_back(gguf::make_key_string(key(suffix), value));
  }
  void remark(Severity severity, std::string where, std::string message) {
    result_.remarks.push_back(
        {severity, Scope::model, "convert-remark", std::nullopt, std::move(where), std::move(message), {}});
  }
  void warn(std::string where, std::string message) { remark(Severity::warning, std::move(where), std::move(message)); }
  tl::unexpected<Error> refuse(std::string where, std::string message) const {
    return input_error("convert-config", std::move(message), std::move(where), {}, config_.path);
  }

  // The runtime has one activation for each architecture.
  Status check_activation() {
    if (config_.hidden_act.empty()) return {};
    const bool wants_gelu = model_.architecture->activation != "silu";
    constexpr std::array silu = {"silu", "swish"};
    // Gemma's first configs say "gelu" and mean the tanh form.
    constexpr std::array gelu = {"gelu_pytorch_tanh", "gelu", "gelu_new", "gelu_fast"};
    const bool fits = wants_gelu ? std::find(gelu.begin(), gelu.end(), config_.hidden_act) != gelu.end()
                                 : std::find(silu.begin(), silu.end(), config_.hidden_act) != silu.end();
    if (fits) return {};
    return refuse("hidden_act", fmt::format("is '{}'; the runtime computes {} for {}", config_.hidden_act,
                                            model_.architecture->activation, name_));
  }

  Status sizes() {
    number("block_count", p_.n_layer);
    number("context_length", context_length());
    number("embedding_length", p_.n_embd);
    number("feed_forward_length", p_.n_ff);
    number("attention.head_count", p_.n_head);
    number("attention.head_count_kv", p_.n_head_kv);
    std::optional<double> epsilon = config_.rms_norm_eps;
    if (!epsilon && model_.hf_architecture->norm_plus_one) epsilon = 1e-6;  // Gemma's class default
    if (!epsilon) return refuse("rms_norm_eps", "is missing; the loader needs it");
    real("attention.layer_norm_rms_epsilon", *epsilon);
    number("attention.key_length", p_.head_dim);
    number("attention.value_length", p_.head_dim);
    number("vocab_size", p_.n_vocab);
    return {};
  }

  u64 context_length() {
    if (config_.context_length) return *config_.context_length;
    const u64 assumed = name_ == "gemma3" ? 131072 : name_.starts_with("qwen") ? 32768 : 2048;
    warn("max_position_embeddings", fmt::format("is missing; a context of {} is written", assumed));
    return assumed;
  }

  double theta() {
    if (config_.rope.theta) return *config_.rope.theta;
    const double assumed = default_rope_theta(model_);
    remark(Severity::note, "rope_theta", fmt::format("is missing; the model class's default {} is written", assumed));
    return assumed;
  }

  Status rope() {
    number("rope.dimension_count", p_.n_rot);
    real("rope.freq_base", theta());
    if (config_.rope.theta_local) real("rope.freq_base_swa", *config_.rope.theta_local);
    const std::optional<hf::RopeScaling>& scaling = config_.rope.scaling;
    if (model_.architecture->fused) {
      if (const auto original = original_context()) number("rope.scaling.original_context_length", *original);
    }
    if (!scaling) return {};
    if (scaling->type == "linear") {
      text("rope.scaling.type", "linear");
      if (!scaling->factor) return refuse("rope_scaling.factor", "is missing");
      real("rope.scaling.factor", *scaling->factor);
    } else if (scaling->type == "llama3") {
      // Carried by rope_freqs.weight.
    } else if (model_.architecture->fused && !scaling->long_factor.empty()) {
      return longrope_of_phi3(*scaling);
    } else if (scaling->type == "yarn") {
      return yarn(*scaling);
    } else if (scaling->type == "longrope" || scaling->type == "su") {
      text("rope.scaling.type", "longrope");
      if (const auto original = original_context()) number("rope.scaling.original_context_length", *original);
    } else if (scaling->type.empty()) {
      warn("rope_scaling", "has no type, without which nobody applies it: it is left out");
    } else {
      warn("rope_scaling", fmt::format("is of type '{}', which GGUF cannot say: it is left out, and the model is right "
                                       "only up to its original context",
                                       scaling->type));
    }
    return {};
  }

  std::optional<u64> original_context() const {
    if (config_.rope.scaling && config_.rope.scaling->original_max_position_embeddings) {
      const double value = *config_.rope.scaling->original_max_position_embeddings;
      if (value >= 1 && value <= 4294967295.0) return static_cast<u64>(value);
    }
    return config_.original_max_position_embeddings;
  }

  Status yarn(const hf::RopeScaling& scaling) {
    text("rope.scaling.type", "yarn");
    if (!scaling.factor) return refuse("rope_scaling.factor", "is missing");
    real("rope.scaling.factor", *scaling.factor);
    const auto original = original_context();
    if (!original) return refuse("rope_scaling.original_max_position_embeddings", "is missing; yarn needs it");
    number("rope.scaling.original_context_length", *original);
    if (scaling.extrapolation_factor) real("rope.scaling.yarn_ext_factor", *scaling.extrapolation_factor);
    if (scaling.attention_factor) real("rope.scaling.yarn_attn_factor", *scaling.attention_factor);
    if (scaling.beta_fast) real("rope.scaling.yarn_beta_fast", *scaling.beta_fast);
    if (scaling.beta_slow) real("rope.scaling.yarn_beta_slow", *scaling.beta_slow);
    return {};
  }

  Status longrope_of_phi3(const hf::RopeScaling& scaling) {
    const auto original = original_context();
    if (!original) return refuse("original_max_position_embeddings", "is missing; longrope needs it");
    const double context = static_cast<double>(context_length());
    const double scale = context / static_cast<double>(*original);
    const double factor = scaling.type == "yarn" ? (scale > 1 ? 0.1 * std::log(scale) + 1 : 1)
                                                 : longrope_attention_factor(context, static_cast<double>(*original));
    real("rope.scaling.attn_factor", factor);
    if (scaling.short_mscale || scaling.long_mscale) {
      warn("rope_scaling", "has short_mscale or long_mscale, which GGUF cannot say: left out");
    }
    return {};
  }

  void experts() {
    number("expert_count", p_.n_expert);
    number("expert_used_count", p_.n_expert_used);
    if (model_.architecture->experts == Presence::required) {
      number("expert_feed_forward_length", p_.n_ff_expert);
      if (model_.architecture->has_shared_expert) number("expert_shared_feed_forward_length", p_.n_ff_shared);
      const bool normalises = name_ == "qwen3moe";
      if (const auto stated = config_.bool_field("norm_topk_prob"); stated && *stated != normalises) {
        warn("norm_topk_prob", fmt::format("is {}; the runtime computes as if it were {}", *stated, normalises));
      }
    }
  }

  Status attention_details() {
    if (name_ == "gemma2" || name_ == "gemma3") {
      if (!config_.sliding_window) warn("sliding_window", "is missing; the class default 4096 is written");
      number("attention.sliding_window", config_.sliding_window.value_or(4096));
    } else if (name_ == "phi3") {
      number("attention.sliding_window", config_.sliding_window.value_or(0));
    } else if (std::find(config_.layer_types.begin(), config_.layer_types.end(), "sliding_attention") !=
               config_.layer_types.end()) {
      warn("layer_types", "names sliding-window layers, which the runtime computes with full attention");
    }
    if (name_ == "gemma3") {
      const u64 pattern = window_pattern();
      MU_TRY(check_layer_types(pattern));
      if (pattern != 6) number("attention.sliding_window_pattern", pattern);
      if (config_.rope.scaling_local) {
        return refuse("rope_parameters.sliding_attention", "scales the rope of sliding layers, which GGUF cannot say");
      }
    }
    if (name_ == "gemma2") {
      MU_TRY(check_layer_types(2));
      real("attn_logit_softcapping", config_.attn_logit_softcapping.value_or(50));
      real("final_logit_softcapping", config_.final_logit_softcapping.value_or(30));
    } else if (name_ == "gemma3" && config_.final_logit_softcapping) {
      real("final_logit_softcapping", *config_.final_logit_softcapping);
    }
    return {};
  }

  // Every n-th layer is global. Stated as a number, or visible in the list of layer types.
  u64 window_pattern() const {
    if (config_.sliding_window_pattern) return *config_.sliding_window_pattern;
    if (const auto hidden = config_.u64_field("_sliding_window_pattern")) return *hidden;
    const auto global = std::find(config_.layer_types.begin(), config_.layer_types.end(), "full_attention");
    if (global != config_.layer_types.end()) return static_cast<u64>(global - config_.layer_types.begin()) + 1;
    return std::max<u64>(6, config_.layer_types.size() + 1);
  }

  // The runtime knows no other order of sliding and global layers than the periodic one.
  Status check_layer_types(u64 pattern) const {
    const std::vector<std::string>& types = config_.layer_types;
    if (types.empty()) return {};
    if (types.size() != p_.n_layer) {
      return refuse("layer_types", fmt::format("has {} entries for {} layers", types.size(), p_.n_layer));
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      const bool is_global = pattern != 0 && (i + 1) % pattern == 0;
      if (types[i] == (is_global ? "full_attention" : "sliding_attention")) continue;
      return refuse("layer_types",
                    fmt::format("has '{}' for layer {}; the runtime makes every layer whose number + 1 is "
                                "a multiple of {} global and lets the others slide",
                                types[i], i, pattern));
    }
    return {};
  }

  // Attention scale of Gemma 2 and 3 is fixed in the runtime.
  void check_constants() {
    if ((name_ != "gemma2" && name_ != "gemma3") || !config_.query_pre_attn_scalar) return;
    const bool is_27b = p_.n_layer == (name_ == "gemma2" ? 46u : 62u);
    const u64 fixed = is_27b ? p_.n_embd / p_.n_head : p_.head_dim;
    if (*config_.query_pre_attn_scalar != static_cast<double>(fixed)) {
      warn("query_pre_attn_scalar",
           fmt::format("is {}; the runtime computes with {}", *config_.query_pre_attn_scalar, fixed));
    }
  }

  const HfModel& model_;
  const hf::Config& config_;
  const HyperParameters& p_;
  std::string_view name_;
  ModelKeys result_;
  std::optional<Error> failed_;
};

}  // namespace

Result<ModelKeys> hyper_parameter_keys(const HfModel& model, const HyperParameters& parameters) {
  return KeyMaker(model, parameters).make();
}

}  // namespace modelutils::convert
