#include "tensor/quantize/mix.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "base/error.h"
#include "base/not_found.h"

namespace modelutils::quantize {

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Parts of the names of tensors that are small, or too sensitive for block types.
constexpr std::array<std::string_view, 35> untouched_parts = {
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
};

struct RolePart {
  std::string_view part;
  Role role;
};
constexpr RolePart role_parts[] = {
    {"attn_qkv.weight", Role::value}, {"attn_kv_b.weight", Role::value}, {"attn_v.weight", Role::value},
    {"attn_k.weight", Role::key},     {"attn_q.weight", Role::query},    {"attn_output.weight", Role::attention_output},
    {"ffn_up", Role::ffn_up},         {"ffn_gate", Role::ffn_gate},      {"ffn_down", Role::ffn_down},
};

// The roles that the mixes of image models distinguish; the first match decides.
constexpr RolePart image_role_parts[] = {
    {"attn_v.weight", Role::value},
    {".to_v.weight", Role::value},
    {".v.weight", Role::value},
    {".attn.w1v.weight", Role::value},
    {".attn.w2v.weight", Role::value},
    {"_attn.v_proj.weight", Role::value},
    {".add_v_proj.weight", Role::value},
    {"attn_qkv.weight", Role::fused_value},
    {"attn.qkv.weight", Role::fused_value},
    {"attention.qkv.weight", Role::fused_value},
    {"ffn_down", Role::ffn_down},
    {".ffn.2.weight", Role::ffn_down},
    {".ff.net.2.weight", Role::ffn_down},
    {".mlp.layer2.weight", Role::ffn_down},
    {".adaln_modulation_mlp.2.weight", Role::ffn_down},
    {".feed_forward.w2.weight", Role::ffn_down},
    {".img_mlp.net.2.weight", Role::ffn_down},
    {".txt_mlp.net.2.weight", Role::ffn_down},
};

// Returns the dimension count without trailing dimensions of 1.
std::size_t dimensions(std::span<const u64> ne) {
  std::size_t count = ne.size();
  while (count > 1 && ne[count - 1] == 1) --count;
  return count;
}

// Returns the number in the prefix "blk.N." of a name, or nullopt.
std::optional<u64> layer_of(std::string_view name) {
  constexpr std::string_view prefix = "blk.";
  if (!name.starts_with(prefix)) return std::nullopt;
  u64 layer = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, layer);
  if (error != std::errc() || rest == end || *rest != '.') return std::nullopt;
  return layer;
}

// True in the first and the last eighth of n, and for every third in between.
bool gets_more(u64 l, u64 n) {
  return l < n / 8 || l >= 7 * n / 8 || (l - n / 8) % 3 == 2;
}

class Chooser {
 public:
  Chooser(const MixModel& model, std::span<const MixTensor> tensors, const MixOptions& options)
      : model_(model),
        options_(options),
        mix_(*options.mix),
        image_mix_(model.is_image ? image_mix_of(mix_) : nullptr),
        is_falcon_(is_falcon(model)) {
    for (const MixTensor& tensor : tensors) {
      const Role role = role_of(tensor.name);
      if (role == Role::value) ++values_;
      if (role == Role::output) has_output_ = true;
    }
  }

  Result<MixChoice> choose(const MixTensor& tensor) {
    MixChoice choice{.type = tensor.type, .touched = !tensor.stays && may_quantize(tensor, model_.is_image)};
    if (!choice.touched) return choice;
    TensorType type = mix_.type;
    if (const TypeOverride* wanted = override_of(tensor.name)) {
      type = wanted->type;
      choice.overridden = true;
    } else if (!options_.pure && type_info(mix_.type).is_quantized) {
      type = image_mix_ != nullptr ? by_image_rules(tensor) : by_rules(tensor);
    }
    MU_ASSIGN(choice.type, fitting_type(type, tensor.ne[0], tensor.name, model_.is_image));
    choice.fell_back = choice.type != type;
    return choice;
  }

 private:
  const TypeOverride* override_of(std::string_view name) const {
    const auto found = std::find_if(options_.overrides.begin(), options_.overrides.end(),
                                    [&](const TypeOverride& one) { return glob_match(one.pattern, name); });
    return found == options_.overrides.end() ? nullptr : &*found;
  }

  TensorType by_image_rules(const MixTensor& tensor) {
    const Role role = image_role_of(tensor.name);
    // V matrices of outer blocks count, although their type does not depend on the number.
    const u64 number = role == Role::value ? values_so_far_++ : 0;
    if (image_mix_->outer && is_in_outer_block(tensor.name)) return *image_mix_->outer;
    const auto rule = std::ranges::find_if(image_mix_->rules,
                                           [&](const MixRule& one) { return one.role == role && holds(one, number); });
    return rule == image_mix_->rules.end() ? mix_.type : rule->type;
  }

  bool is_in_outer_block(std::string_view name) const {
    std::string_view left = model_.outer_blocks;
    while (!left.empty()) {
      const std::size_t end = std::min(left.find(' '), left.size());
      if (contains(name, left.substr(0, end))) return true;
      left.remove_prefix(std::min(end + 1, left.size()));
    }
    return false;
  }

  TensorType by_rules(const MixTensor& tensor) {
    const Role role = role_of(tensor.name);
    if (role == Role::output || (role == Role::embedding && !has_output_)) return of_output(tensor);
    if (mix_.type == TensorType::MXFP4) return of_experts(tensor, role);
    const u64 number = number_of(role, tensor.name);
    TensorType type = mix_.type;
    // With eight experts, more_for_values() decides for keys instead of the rules.
    if (!(role == Role::key && model_.experts == 8 && !mix_.is_low)) {
      for (const MixRule& rule : mix_.rules) {
        if (rule.role == role && holds(rule, number)) {
          type = rule.type;
          break;
        }
      }
    }
    return mix_.is_low ? type : more_for_values(role, type);
  }

  // "70B" models have small V matrices; with eight experts, attention is a small part of the model. Both get more bits.
  TensorType more_for_values(Role role, TensorType type) const {
    if (role == Role::value && has_small_values(model_) && (type == TensorType::Q3_K || type == TensorType::Q4_K)) {
      type = TensorType::Q5_K;
    }
    if ((role == Role::value || role == Role::key) && model_.experts == 8) type = TensorType::Q8_0;
    return type;
  }

  TensorType of_output(const MixTensor& tensor) const {
    if (mix_.type == TensorType::MXFP4 || is_falcon_) return TensorType::Q8_0;
    if (tensor.ne[0] % type_info(mix_.type).block_elements != 0) return TensorType::Q8_0;
    if (mix_.output_q5) return TensorType::Q5_K;
    return mix_.type == TensorType::Q8_0 ? TensorType::Q8_0 : TensorType::Q6_K;
  }

  // MXFP4_MOE quantises the stacks of experts.
  TensorType of_experts(const MixTensor& tensor, Role role) const {
    const bool is_ffn = role == Role::ffn_up || role == Role::ffn_gate || role == Role::ffn_down;
    const bool stacked = tensor.ne.size() > 2 && tensor.ne[2] > 1;
    return stacked && (is_ffn || !has_other_stacks(model_)) ? TensorType::MXFP4 : TensorType::Q8_0;
  }

  // Returns the number that this role's rules depend on, and advances the counter: V tensors so far, or the layer of
  // FFN tensors.
  u64 number_of(Role role, std::string_view name) {
    u64* counter = role == Role::value      ? &values_so_far_
                   : role == Role::ffn_down ? &downs_so_far_
                   : role == Role::ffn_gate ? &gates_so_far_
                   : role == Role::ffn_up   ? &ups_so_far_
                                            : nullptr;
    if (counter == nullptr) return 0;
    const u64 number = (*counter)++;
    const bool by_name = role != Role::value && model_.experts > 1 && !mix_.is_low;
    return by_name ? layer_of(name).value_or(number) : number;
  }

  bool holds(const MixRule& rule, u64 number) const {
    if (rule.family != Family::any && (rule.family == Family::falcon) != is_falcon_) return false;
    if (rule.matrix != Matrix::any && (rule.matrix == Matrix::given) != options_.has_importance) return false;
    const u64 layers = model_.layers;
    const u64 shared = model_.kv_heads == 0 ? 0 : model_.heads / model_.kv_heads;
    switch (rule.when) {
      case When::always: return true;
      case When::first_two: return number < 2;
      case When::first_four: return number < 4;
      case When::more_values: return gets_more(number, values_);
      case When::eighth:
      case When::eighth_counted: return number < layers / 8;
      case When::sixteenth: return number < layers / 16;
      case When::more: return gets_more(number, layers);
      case When::middle: return number >= layers / 8 && number < 7 * layers / 8;
      case When::shared_heads: return shared >= 4;
      case When::shared_or_experts: return shared >= 4 || model_.experts >= 4;
      case When::eight_experts: return model_.experts == 8;
      case When::eight_and_more: return model_.experts == 8 && gets_more(number, layers);
    }
    return false;
  }

  const MixModel& model_;
  const MixOptions& options_;
  const Mix& mix_;
  const ImageMix* image_mix_;  // nullptr for language models
  bool is_falcon_;
  bool has_output_ = false;
  u64 values_ = 0;
  u64 values_so_far_ = 0, downs_so_far_ = 0, gates_so_far_ = 0, ups_so_far_ = 0;
};

}  // namespace

Role role_of(std::string_view name) {
  if (name == "output.weight") return Role::output;
  if (name == "token_embd.weight" || name == "per_layer_token_embd.weight") return Role::embedding;
  for (const RolePart& row : role_parts) {
    if (contains(name, row.part)) return row.role;
  }
  return Role::other;
}

Role image_role_of(std::string_view name) {
  for (const RolePart& row : image_role_parts) {
    if (contains(name, row.part)) return row.role;
  }
  return contains(name, "experts.") && contains(name, ".w2.weight") ? Role::ffn_down : Role::other;
}

bool may_quantize(const MixTensor& tensor, bool is_image) {
  if (dimensions(tensor.ne) < 2 || !tensor.name.ends_with("weight")) return false;
  if (is_image && (dimensions(tensor.ne) > 2 || contains(tensor.name, "_norm.weight"))) return false;
  if (!is_image && (tensor.name == "position_embd.weight" || tensor.name == "token_types.weight")) return false;
  const bool has_values = type_info(tensor.type).is_quantized || tensor.type == TensorType::F32 ||
                          tensor.type == TensorType::F16 || tensor.type == TensorType::BF16;
  if (is_image) return has_values;
  return has_values && std::none_of(untouched_parts.begin(), untouched_parts.end(),
                                    [&](std::string_view part) { return contains(tensor.name, part); });
}

bool mix_needs_importance(std::string_view name, TensorType type, const Mix& mix) {
  const Role role = role_of(name);
  if (role == Role::output || role == Role::embedding) return false;
  switch (type) {
    case TensorType::IQ1_S:
    case TensorType::IQ1_M:
    case TensorType::IQ2_XXS:
    case TensorType::IQ2_XS:
    case TensorType::IQ2_S:
    case TensorType::IQ3_XXS: return true;
    case TensorType::Q2_K: return mix.name == "Q2_K_S";
    default: return false;
  }
}

std::vector<std::size_t> mix_order(std::span<const std::string_view> names) {
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::optional<u64>> layers;
  layers.reserve(names.size());
  for (const std::string_view name : names) layers.push_back(layer_of(name));
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    // nullopt sorts before layer 0.
    return layers[a] != layers[b] ? layers[a] < layers[b] : names[a] < names[b];
  });
  return order;
}

Result<TensorType> fitting_type(TensorType type, u64 ne0, std::string_view name) {
  const auto fits = [&](TensorType wanted) { return ne0 % type_info(wanted).block_elements == 0; };
  if (fits(type)) return type;
  TensorType next = type;
  switch (type) {
    case TensorType::IQ1_S:
    case TensorType::IQ1_M:
    case TensorType::IQ2_XXS:
    case TensorType::IQ2_XS:
    case TensorType::IQ2_S:
    case TensorType::IQ3_XXS:
    case TensorType::IQ3_S:
    case TensorType::IQ4_XS: next = TensorType::IQ4_NL; break;
    case TensorType::Q2_0:
    case TensorType::Q2_K:
    case TensorType::Q3_K:
    case TensorType::TQ1_0:
    case TensorType::TQ2_0: next = TensorType::Q4_0; break;
    case TensorType::Q4_K: next = TensorType::Q5_0; break;
    case TensorType::Q5_K: next = TensorType::Q5_1; break;
    case TensorType::Q6_K: next = TensorType::Q8_0; break;
    default:
      if (type_info(type).block_elements > 32) {
        return input_error(
            "quantize-no-fallback",
            fmt::format("rows of {} elements are not whole blocks of {}, and no other type can replace it", ne0,
                        type_name(type)),
            at_tensor(name));
      }
  }
  return fits(next) ? next : TensorType::F16;
}

Result<TensorType> fitting_type(TensorType type, u64 ne0, std::string_view name, bool is_image) {
  if (!is_image) return fitting_type(type, ne0, name);
  return ne0 % type_info(type).block_elements == 0 ? type : TensorType::F16;
}

Result<std::vector<MixChoice>> choose_types(const MixModel& model, std::span<const MixTensor> tensors,
                                            const MixOptions& options) {
  if (model.is_image && (options.pure || image_mix_of(*options.mix) == nullptr)) {
    return input_error("quantize-image-mix",
                       options.pure ? std::string("--pure has no meaning for image models, whose embedders must stay")
                                    : fmt::format("{} is not a mix for image models; choose one of {}",
                                                  options.mix->name, image_mix_names()));
  }
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const MixTensor& tensor : tensors) names.push_back(tensor.name);
  Chooser chooser(model, tensors, options);
  std::vector<MixChoice> choices(tensors.size());
  for (const std::size_t i : mix_order(names)) {
    MU_ASSIGN(choices[i], chooser.choose(tensors[i]));
  }
  return choices;
}

}  // namespace modelutils::quantize
