// The rules of every mix. Source: docs/formats/quantize.md, "Mixes".
#include <algorithm>
#include <array>
#include <cctype>

#include "tensor/quantize/mix.h"

namespace modelutils::quantize {

namespace {

using enum TensorType;

constexpr MixRule o_with_experts{Role::attention_output, When::eight_experts, Q5_K, Matrix::any, Family::not_falcon};

constexpr MixRule q2_k_rules[] = {
    {Role::value, When::shared_heads, Q4_K},
    {Role::value, When::always, Q3_K},
    o_with_experts,
    {Role::attention_output, When::always, Q3_K, Matrix::any, Family::not_falcon},
    {Role::ffn_down, When::always, Q3_K},
};
constexpr MixRule q2_k_s_rules[] = {
    {Role::value, When::shared_heads, Q4_K},
    {Role::ffn_down, When::eighth, Q4_K},
};
constexpr MixRule q3_k_s_rules[] = {o_with_experts};
constexpr MixRule q3_k_m_rules[] = {
    {Role::value, When::first_two, Q5_K},
    {Role::value, When::always, Q4_K},
    o_with_experts,
    {Role::attention_output, When::always, Q4_K, Matrix::any, Family::not_falcon},
    {Role::ffn_down, When::sixteenth, Q5_K},
    {Role::ffn_down, When::more, Q4_K},
    {Role::ffn_down, When::always, Q4_K, Matrix::any, Family::not_falcon},
};
constexpr MixRule q3_k_l_rules[] = {
    {Role::value, When::always, Q5_K},
    {Role::attention_output, When::always, Q4_K, Matrix::any, Family::falcon},
    {Role::attention_output, When::eight_experts, Q3_K},
    {Role::attention_output, When::always, Q5_K},
    {Role::ffn_down, When::always, Q4_K, Matrix::any, Family::falcon},
    {Role::ffn_down, When::always, Q5_K},
};
constexpr MixRule q4_k_s_rules[] = {
    {Role::value, When::first_four, Q5_K},
    o_with_experts,
    {Role::ffn_down, When::eighth, Q5_K, Matrix::any, Family::not_falcon},
};
constexpr MixRule q4_k_m_rules[] = {
    {Role::value, When::more_values, Q6_K},
    o_with_experts,
    {Role::ffn_down, When::more, Q6_K, Matrix::any, Family::not_falcon},
    {Role::ffn_down, When::sixteenth, Q6_K, Matrix::any, Family::falcon},
    {Role::ffn_down, When::more, Q5_K, Matrix::any, Family::falcon},
};
constexpr MixRule q5_k_m_rules[] = {
    {Role::value, When::more_values, Q6_K},
    {Role::ffn_down, When::more, Q6_K},
};
constexpr MixRule q4_0_rules[] = {{Role::ffn_down, When::eighth, Q4_1, Matrix::given}};
constexpr MixRule q5_0_rules[] = {{Role::ffn_down, When::eighth, Q5_1, Matrix::given}};
constexpr MixRule iq4_rules[] = {
    {Role::value, When::shared_heads, Q5_K},
    o_with_experts,
    {Role::ffn_down, When::eighth, Q5_K, Matrix::missing},
};
constexpr MixRule iq3_m_rules[] = {
    {Role::value, When::always, Q4_K},
    o_with_experts,
    {Role::attention_output, When::always, Q4_K, Matrix::any, Family::not_falcon},
    {Role::ffn_down, When::eighth, Q4_K},
    {Role::ffn_down, When::eight_and_more, Q4_K},
};
constexpr MixRule iq3_s_rules[] = {
    {Role::value, When::shared_heads, Q4_K},
    o_with_experts,
};
constexpr MixRule iq3_xs_rules[] = {
    {Role::value, When::shared_heads, Q4_K}, o_with_experts,
    {Role::key, When::always, IQ3_XXS},      {Role::query, When::always, IQ3_XXS},
    {Role::ffn_gate, When::middle, IQ3_XXS}, {Role::ffn_up, When::middle, IQ3_XXS},
};
constexpr MixRule iq3_xxs_rules[] = {
    {Role::value, When::shared_heads, Q4_K},
    {Role::value, When::always, IQ3_S, Matrix::missing},
    o_with_experts,
    {Role::attention_output, When::always, IQ3_S, Matrix::any, Family::not_falcon},
    {Role::key, When::always, IQ2_S},
    {Role::query, When::always, IQ2_S},
    {Role::ffn_down, When::eighth, Q4_K, Matrix::missing},
    {Role::ffn_down, When::always, Q3_K, Matrix::missing},
    {Role::embedding, When::always, IQ3_S},
};
constexpr MixRule iq2_m_rules[] = {
    {Role::value, When::shared_or_experts, Q4_K},  {Role::value, When::always, IQ3_S},
    {Role::key, When::eight_experts, Q4_K},        {Role::attention_output, When::eight_experts, Q5_K},
    {Role::attention_output, When::always, IQ3_S}, {Role::ffn_down, When::eighth_counted, IQ3_S},
    {Role::embedding, When::always, IQ3_S},
};
constexpr MixRule iq2_xs_rules[] = {
    {Role::value, When::shared_or_experts, Q4_K}, {Role::value, When::always, Q2_K},
    {Role::key, When::eight_experts, Q4_K},       {Role::attention_output, When::eight_experts, Q5_K},
    {Role::ffn_down, When::eighth_counted, Q2_K}, {Role::embedding, When::always, Q2_K},
};
constexpr MixRule iq1_rules[] = {
    {Role::value, When::shared_or_experts, Q4_K},    {Role::value, When::always, Q2_K},
    {Role::key, When::eight_experts, Q4_K},          {Role::attention_output, When::eight_experts, Q5_K},
    {Role::attention_output, When::always, IQ2_XXS}, {Role::ffn_down, When::eighth_counted, Q2_K},
    {Role::embedding, When::always, Q2_K},
};
constexpr MixRule ternary_rules[] = {{Role::embedding, When::always, Q4_K}};
constexpr std::span<const MixRule> no_rules;

constexpr std::array mixes = {
    Mix{"F32", 0, F32, no_rules},
    Mix{"F16", 1, F16, no_rules},
    Mix{"Q4_0", 2, Q4_0, q4_0_rules},
    Mix{"Q4_1", 3, Q4_1, no_rules},
    Mix{"Q8_0", 7, Q8_0, no_rules},
    Mix{"Q5_0", 8, Q5_0, q5_0_rules},
    Mix{"Q5_1", 9, Q5_1, no_rules},
    Mix{"Q2_K", 10, Q2_K, q2_k_rules},
    Mix{"Q3_K_S", 11, Q3_K, q3_k_s_rules},
    Mix{"Q3_K_M", 12, Q3_K, q3_k_m_rules},
    Mix{"Q3_K_L", 13, Q3_K, q3_k_l_rules},
    Mix{"Q4_K_S", 14, Q4_K, q4_k_s_rules},
    Mix{"Q4_K_M", 15, Q4_K, q4_k_m_rules},
    Mix{"Q5_K_S", 16, Q5_K, no_rules},
    Mix{"Q5_K_M", 17, Q5_K, q5_k_m_rules},
    Mix{"Q6_K", 18, Q6_K, no_rules},
    Mix{"IQ2_XXS", 19, IQ2_XXS, iq2_xs_rules, true, true},
    Mix{"IQ2_XS", 20, IQ2_XS, iq2_xs_rules, true, true},
    Mix{"Q2_K_S", 21, Q2_K, q2_k_s_rules},
    Mix{"IQ3_XS", 22, IQ3_S, iq3_xs_rules},
    Mix{"IQ3_XXS", 23, IQ3_XXS, iq3_xxs_rules, false, true},
    Mix{"IQ1_S", 24, IQ1_S, iq1_rules, true, true},
    Mix{"IQ4_NL", 25, IQ4_NL, iq4_rules},
    Mix{"IQ3_S", 26, IQ3_S, iq3_s_rules},
    Mix{"IQ3_M", 27, IQ3_S, iq3_m_rules},
    Mix{"IQ2_S", 28, IQ2_XS, iq2_m_rules, true, true},
    Mix{"IQ2_M", 29, IQ2_S, iq2_m_rules, true, true},
    Mix{"IQ4_XS", 30, IQ4_XS, iq4_rules},
    Mix{"IQ1_M", 31, IQ1_M, iq1_rules, true, true},
    Mix{"BF16", 32, BF16, no_rules},
    Mix{"TQ1_0", 36, TQ1_0, ternary_rules},
    Mix{"TQ2_0", 37, TQ2_0, ternary_rules},
    Mix{"MXFP4_MOE", 38, MXFP4, no_rules},
    Mix{"Q1_0", 40, Q1_0, no_rules},
    Mix{"Q2_0", 41, Q2_0, ternary_rules},
};

// Image models. Source: docs/formats/quantize.md, "Image models".
constexpr MixRule image_q2_k_rules[] = {{Role::value, When::always, Q3_K}};
constexpr MixRule image_q3_k_m_rules[] = {
    {Role::value, When::first_two, Q5_K},
    {Role::value, When::always, Q4_K},
    {Role::fused_value, When::always, Q4_K},
    {Role::ffn_down, When::always, Q4_K},
};
constexpr MixRule image_q3_k_l_rules[] = {
    {Role::value, When::always, Q5_K},
    {Role::fused_value, When::always, Q4_K},
    {Role::ffn_down, When::always, Q5_K},
};
constexpr MixRule image_q4_k_s_rules[] = {
    {Role::value, When::first_four, Q5_K},
    {Role::ffn_down, When::always, Q5_K},
};
constexpr MixRule image_q4_k_m_rules[] = {
    {Role::value, When::always, Q6_K},
    {Role::fused_value, When::always, Q5_K},
    {Role::ffn_down, When::always, Q6_K},
};
constexpr MixRule image_q5_k_m_rules[] = {
    {Role::value, When::always, Q6_K},
    {Role::fused_value, When::always, Q6_K},
    {Role::ffn_down, When::always, Q6_K},
};
constexpr MixRule image_q4_0_rules[] = {{Role::ffn_down, When::always, Q4_1}};
constexpr MixRule image_q5_0_rules[] = {{Role::ffn_down, When::always, Q5_1}};

constexpr ImageMix image_mixes[] = {
    {"F32", no_rules},
    {"F16", no_rules},
    {"Q4_0", image_q4_0_rules},
    {"Q4_1", no_rules},
    {"Q8_0", no_rules},
    {"Q5_0", image_q5_0_rules},
    {"Q5_1", no_rules},
    {"Q2_K", image_q2_k_rules, Q4_K},
    {"Q3_K_S", no_rules, Q4_K},
    {"Q3_K_M", image_q3_k_m_rules, Q4_K},
    {"Q3_K_L", image_q3_k_l_rules, Q4_K},
    {"Q4_K_S", image_q4_k_s_rules},
    {"Q4_K_M", image_q4_k_m_rules, Q5_K},
    {"Q5_K_S", no_rules},
    {"Q5_K_M", image_q5_k_m_rules, Q6_K},
    {"Q6_K", no_rules},
    {"IQ4_NL", image_q4_k_s_rules},
    {"IQ4_XS", image_q4_k_s_rules},
    {"BF16", no_rules},
};

// llama-quantize's aliases for mixes.
struct Alias {
  std::string_view alias;
  std::string_view name;
};
constexpr Alias aliases[] = {{"Q3_K", "Q3_K_M"}, {"Q4_K", "Q4_K_M"}, {"Q5_K", "Q5_K_M"}, {"MXFP4", "MXFP4_MOE"}};

struct LargeModel {
  std::string_view architecture;
  u64 layers;
};
constexpr LargeModel large_models[] = {{"llama", 80}, {"qwen2", 80}, {"deci", 80}, {"olmo", 80}, {"jais2", 68}};

bool is_same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::toupper(static_cast<unsigned char>(x)) == std::toupper(static_cast<unsigned char>(y));
  });
}

}  // namespace

bool is_falcon(const MixModel& model) {
  return model.architecture == "falcon";
}

bool has_small_values(const MixModel& model) {
  // Models of architecture llama count only if they share key-value heads and do not have eight experts.
  if (model.architecture == "llama" && (model.heads == model.kv_heads || model.experts == 8)) return false;
  return std::any_of(std::begin(large_models), std::end(large_models), [&](const LargeModel& large) {
    return model.architecture == large.architecture && model.layers == large.layers;
  });
}

bool has_other_stacks(const MixModel& model) {
  return model.architecture == "bailingmoe3";
}

std::span<const Mix> all_mixes() {
  return mixes;
}

const ImageMix* image_mix_of(const Mix& mix) {
  const auto* found = std::ranges::find(image_mixes, mix.name, &ImageMix::name);
  return found == std::end(image_mixes) ? nullptr : found;
}

std::string image_mix_names() {
  std::string names;
  for (const ImageMix& mix : image_mixes) {
    if (!names.empty()) names += ", ";
    names += mix.name;
  }
  return names;
}

const Mix* mix_from_name(std::string_view name) {
  for (const Alias& alias : aliases) {
    if (is_same_name(alias.alias, name)) name = alias.name;
  }
  const auto* mix = std::find_if(mixes.begin(), mixes.end(), [&](const Mix& m) { return is_same_name(m.name, name); });
  return mix == mixes.end() ? nullptr : mix;
}

const Mix* mix_of_file_type(u64 code) {
  const auto* mix = std::find_if(mixes.begin(), mixes.end(), [&](const Mix& m) { return m.file_type == code; });
  return mix == mixes.end() ? nullptr : mix;
}

}  // namespace modelutils::quantize
