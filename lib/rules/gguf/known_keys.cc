// Keys that loaders read, with the type they insist on: a scalar of another width makes llama.cpp refuse the file.
// Source: docs/conversion.md (what the loader checks).
#include <fmt/core.h>

#include <array>
#include <string>

#include "rules/gguf/rule_parts.h"

namespace modelutils::gguf_rules {

namespace {

using gguf::ValueType;

// What a key may hold: a scalar type, an array of an element type, or either.
struct Allowed {
  std::optional<ValueType> scalar;
  std::optional<ValueType> elements;
  std::optional<ValueType> other_elements = std::nullopt;
};

constexpr Allowed u32_value = {ValueType::u32, std::nullopt};
constexpr Allowed i32_value = {ValueType::i32, std::nullopt};
constexpr Allowed f32_value = {ValueType::f32, std::nullopt};
constexpr Allowed flag = {ValueType::boolean, std::nullopt};
constexpr Allowed text = {ValueType::string, std::nullopt};
constexpr Allowed texts = {std::nullopt, ValueType::string};
constexpr Allowed u32_or_per_layer = {ValueType::u32, ValueType::u32, ValueType::i32};
constexpr Allowed f32_or_per_layer = {ValueType::f32, ValueType::f32};

struct KnownKey {
  std::string_view name;
  Allowed allowed;
};

constexpr std::array general_keys = {
    KnownKey{"general.type", text},
    KnownKey{"general.name", text},
    KnownKey{"general.author", text},
    KnownKey{"general.organization", text},
    KnownKey{"general.basename", text},
    KnownKey{"general.finetune", text},
    KnownKey{"general.version", text},
    KnownKey{"general.size_label", text},
    KnownKey{"general.description", text},
    KnownKey{"general.license", text},
    KnownKey{"general.license.name", text},
    KnownKey{"general.license.link", text},
    KnownKey{"general.sampling.sequence", text},
    KnownKey{"general.sampling.top_k", i32_value},
    KnownKey{"general.sampling.top_p", f32_value},
    KnownKey{"general.sampling.min_p", f32_value},
    KnownKey{"general.sampling.xtc_probability", f32_value},
    KnownKey{"general.sampling.xtc_threshold", f32_value},
    KnownKey{"general.sampling.temp", f32_value},
    KnownKey{"general.sampling.penalty_last_n", i32_value},
    KnownKey{"general.sampling.penalty_repeat", f32_value},
    KnownKey{"general.sampling.mirostat", i32_value},
    KnownKey{"general.sampling.mirostat_tau", f32_value},
    KnownKey{"general.sampling.mirostat_eta", f32_value},
    KnownKey{"general.file_type", u32_value},
    KnownKey{"general.quantization_version", u32_value},
    KnownKey{"general.base_model.count", u32_value},
    KnownKey{"general.dataset.count", u32_value},
    KnownKey{"general.tags", texts},
    KnownKey{"general.languages", texts},
    KnownKey{"xielu.alpha_n", f32_or_per_layer},
    KnownKey{"xielu.alpha_p", f32_or_per_layer},
    KnownKey{"xielu.beta", f32_or_per_layer},
    KnownKey{"xielu.eps", f32_or_per_layer},
    KnownKey{"split.no", {ValueType::u16, std::nullopt}},
    KnownKey{"split.count", {ValueType::u16, std::nullopt}},
    KnownKey{"split.tensors.count", i32_value},
    KnownKey{"tokenizer.ggml.model", text},
    KnownKey{"tokenizer.ggml.pre", text},
    KnownKey{"tokenizer.ggml.tokens", texts},
    KnownKey{"tokenizer.ggml.token_type", {std::nullopt, ValueType::i32}},
    KnownKey{"tokenizer.ggml.scores", {std::nullopt, ValueType::f32, ValueType::i32}},
    KnownKey{"tokenizer.ggml.merges", texts},
    KnownKey{"tokenizer.ggml.token_type_count", u32_value},
    KnownKey{"tokenizer.ggml.add_bos_token", flag},
    KnownKey{"tokenizer.ggml.add_eos_token", flag},
    KnownKey{"tokenizer.ggml.add_sep_token", flag},
    KnownKey{"tokenizer.ggml.add_space_prefix", flag},
    KnownKey{"tokenizer.ggml.remove_extra_whitespaces", flag},
    KnownKey{"tokenizer.ggml.precompiled_charsmap", {std::nullopt, ValueType::u8, ValueType::i8}},
    KnownKey{"tokenizer.chat_template", text},
    KnownKey{"tokenizer.chat_templates", texts},
};

// After "<architecture>."
constexpr std::array architecture_keys = {
    KnownKey{"vocab_size", u32_value},
    KnownKey{"context_length", u32_value},
    KnownKey{"embedding_length", u32_value},
    KnownKey{"block_count", u32_value},
    KnownKey{"leading_dense_block_count", u32_value},
    KnownKey{"feed_forward_length", u32_or_per_layer},
    KnownKey{"expert_count", u32_value},
    KnownKey{"expert_used_count", u32_value},
    KnownKey{"expert_shared_count", u32_value},
    KnownKey{"expert_feed_forward_length", u32_value},
    KnownKey{"expert_shared_feed_forward_length", u32_value},
    KnownKey{"attention.head_count", u32_or_per_layer},
    KnownKey{"attention.head_count_kv", u32_or_per_layer},
    KnownKey{"attention.key_length", u32_value},
    KnownKey{"attention.value_length", u32_value},
    KnownKey{"attention.layer_norm_epsilon", f32_value},
    KnownKey{"attention.layer_norm_rms_epsilon", f32_value},
    KnownKey{"attention.causal", flag},
    KnownKey{"attention.sliding_window", u32_value},
    KnownKey{"attention.clamp_kqv", f32_value},
    KnownKey{"attention.max_alibi_bias", f32_value},
    KnownKey{"attention.scale", f32_value},
    KnownKey{"attn_logit_softcapping", f32_value},
    KnownKey{"final_logit_softcapping", f32_value},
    KnownKey{"rope.dimension_count", u32_value},
    KnownKey{"rope.freq_base", f32_value},
    KnownKey{"rope.freq_base_swa", f32_value},
    KnownKey{"rope.scaling.type", text},
    KnownKey{"rope.scaling.factor", f32_value},
    KnownKey{"rope.scaling.attn_factor", f32_value},
    KnownKey{"rope.scaling.original_context_length", u32_value},
    KnownKey{"rope.scaling.finetuned", flag},
    KnownKey{"use_parallel_residual", flag},
    KnownKey{"logit_scale", f32_or_per_layer},
};

const Allowed* find(std::span<const KnownKey> keys, std::string_view name) {
  for (const KnownKey& known : keys) {
    if (known.name == name) return &known.allowed;
  }
  return nullptr;
}

const Allowed* allowed_for(std::string_view key, std::string_view architecture) {
  if (key.starts_with("tokenizer.chat_template.")) return &text;
  if (key.starts_with("tokenizer.ggml.") && key.ends_with("_token_id")) return &u32_value;
  if (const Allowed* general = find(general_keys, key)) return general;
  if (architecture.empty() || !key.starts_with(architecture) || key.size() <= architecture.size() ||
      key[architecture.size()] != '.') {
    return nullptr;
  }
  return find(architecture_keys, key.substr(architecture.size() + 1));
}

bool fits_type(const gguf::Value& value, ValueType type, const Allowed& allowed) {
  if (type != ValueType::array) return allowed.scalar == type;
  const ValueType elements = std::get<gguf::ArrayRef>(value).element_type;
  return allowed.elements == elements || allowed.other_elements == elements;
}

std::string type_text(const gguf::KeyValue& entry) {
  const auto* array = std::get_if<gguf::ArrayRef>(&entry.value);
  if (array == nullptr) return std::string(gguf::value_type_name(entry.type()));
  return fmt::format("an array of {}", gguf::value_type_name(array->element_type));
}

std::string allowed_text(const Allowed& allowed) {
  std::string list;
  if (allowed.scalar) list = gguf::value_type_name(*allowed.scalar);
  for (const std::optional<ValueType>& elements : {allowed.elements, allowed.other_elements}) {
    if (!elements) continue;
    if (!list.empty()) list += " or ";
    list += fmt::format("an array of {}", gguf::value_type_name(*elements));
  }
  return list;
}

}  // namespace

void check_known_keys(const gguf::Document& document, const gguf::Index& index, FindingLog& log) {
  const std::string_view architecture = index.architecture();
  for (const gguf::KeyValue& entry : document.keys) {
    const Allowed* allowed = allowed_for(entry.key, architecture);
    if (allowed == nullptr || fits_type(entry.value, entry.type(), *allowed)) continue;
    log.warning(Scope::model, "gguf-key-type",
                fmt::format("is {}, but llama.cpp requires {}", type_text(entry), allowed_text(*allowed)),
                at_key(entry.key), entry.offset);
  }
}

}  // namespace modelutils::gguf_rules
