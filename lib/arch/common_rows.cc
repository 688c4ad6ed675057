#include "arch/common_rows.h"

#include <fmt/core.h>

#include <algorithm>

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
             fmt::format("is not less than the experts in {} groups: one whose score plus correction is negative loses "
                         "to an expert of another group, but not in llama.cpp",
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
  // Qwen's classes have a switch. Without the field, a stated window applies.
  const bool is_on = config.bool_field("use_sliding_window").value_or(true);
  if (!is_on || !config.sliding_window || *config.sliding_window == 0) return {};
  const std::optional<u64> context = config.u64_field(hf::fields::context);
  if (context && *config.sliding_window >= *context) return {};
  out.warn("sliding_window", fmt::format("is {}; llama.cpp ignores it and computes full attention: texts longer than "
                                         "the window give other results",
                                         *config.sliding_window));
  return {};
}

}  // namespace modelutils::arch
