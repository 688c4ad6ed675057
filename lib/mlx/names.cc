#include "mlx/names.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace modelutils::mlx {

namespace {

using hf::Family;

constexpr std::string_view layer_prefix = "model.layers.";

// Sets of families.
constexpr u32 bit(Family family) {
  return u32{1} << static_cast<u32>(family);
}
constexpr u32 all = ~u32{0};
constexpr u32 mixtral = bit(Family::mixtral);
constexpr u32 phi3 = bit(Family::phi3);
constexpr u32 qwen_moe = bit(Family::qwen2moe) | bit(Family::qwen3moe);
constexpr u32 qwen2moe = bit(Family::qwen2moe);
constexpr u32 gemma_2_3 = bit(Family::gemma2) | bit(Family::gemma3);
constexpr u32 qk_norm = bit(Family::qwen3) | bit(Family::qwen3moe) | bit(Family::gemma3);
constexpr u32 mlp = all & ~mixtral;
constexpr u32 gate_and_up = mlp & ~phi3;

struct Row {
  std::string_view hf;
  std::string_view gguf;
  u32 families;
};

// clang-format off
// Modules outside the layers.
constexpr std::array<Row, 3> model_rows{{
    {"model.embed_tokens", "token_embd",  all},
    {"model.norm",         "output_norm", all},
    {"lm_head",            "output",      all},
}};

// Below "model.layers.N." and below "blk.N.".
constexpr std::array<Row, 33> layer_rows{{
    {"input_layernorm",                      "attn_norm",           all},
    {"self_attn.q_proj",                     "attn_q",              all & ~phi3},
    {"self_attn.k_proj",                     "attn_k",              all & ~phi3},
    {"self_attn.v_proj",                     "attn_v",              all & ~phi3},
    {"self_attn.o_proj",                     "attn_output",         all},
    {"self_attn.qkv_proj",                   "attn_qkv",            phi3},
    {"self_attn.q_norm",                     "attn_q_norm",         qk_norm},
    {"self_attn.k_norm",                     "attn_k_norm",         qk_norm},
    {"post_attention_layernorm",             "ffn_norm",            all & ~gemma_2_3},
    {"post_attention_layernorm",             "post_attention_norm", gemma_2_3},
    {"pre_feedforward_layernorm",            "ffn_norm",            gemma_2_3},
    {"post_feedforward_layernorm",           "post_ffw_norm",       gemma_2_3},
    {"mlp.gate_proj",                        "ffn_gate",            gate_and_up & ~qwen_moe},
    {"mlp.up_proj",                          "ffn_up",              gate_and_up & ~qwen_moe},
    {"mlp.down_proj",                        "ffn_down",            mlp & ~qwen_moe},
    {"mlp.gate_up_proj",                     "ffn_up",              phi3},
    {"block_sparse_moe.gate",                "ffn_gate_inp",        mixtral},
    {"mlp.gate",                             "ffn_gate_inp",        qwen_moe},
    {"block_sparse_moe.switch_mlp.gate_proj", "ffn_gate_exps",      mixtral},
    {"block_sparse_moe.switch_mlp.down_proj", "ffn_down_exps",      mixtral},
    {"block_sparse_moe.switch_mlp.up_proj",  "ffn_up_exps",         mixtral},
    {"mlp.switch_mlp.gate_proj",             "ffn_gate_exps",       qwen_moe},
    {"mlp.switch_mlp.down_proj",             "ffn_down_exps",       qwen_moe},
    {"mlp.switch_mlp.up_proj",               "ffn_up_exps",         qwen_moe},
    {"mlp.experts.down_proj",                "ffn_down_exps",       qwen_moe | mixtral},
    {"mlp.shared_expert.gate_proj",          "ffn_gate_shexp",      qwen2moe},
    {"mlp.shared_expert.up_proj",            "ffn_up_shexp",        qwen2moe},
    {"mlp.shared_expert.down_proj",          "ffn_down_shexp",      qwen2moe},
    {"mlp.shared_expert_gate",               "ffn_gate_inp_shexp",  qwen2moe},
    {"mlp.experts.gate_proj",                "ffn_gate_exps",       qwen_moe},
    {"mlp.experts.up_proj",                  "ffn_up_exps",         qwen_moe},
    {"mlp.gate",                             "ffn_gate_inp",        mixtral},
    {"block_sparse_moe.experts.down_proj",   "ffn_down_exps",       mixtral},
}};

// Below "model.layers.N.PREFIX.E.".
struct ExpertRow {
  std::string_view prefix;
  std::string_view hf;
  std::string_view gguf;
  u32 families;
};
constexpr std::array<ExpertRow, 6> expert_rows{{
    {"block_sparse_moe.experts.", "w1",        "ffn_gate_exps", mixtral},
    {"block_sparse_moe.experts.", "w2",        "ffn_down_exps", mixtral},
    {"block_sparse_moe.experts.", "w3",        "ffn_up_exps",   mixtral},
    {"mlp.experts.",              "gate_proj", "ffn_gate_exps", qwen_moe},
    {"mlp.experts.",              "down_proj", "ffn_down_exps", qwen_moe},
    {"mlp.experts.",              "up_proj",   "ffn_up_exps",   qwen_moe},
}};

// The name without a suffix says what the tensor is.
constexpr std::array<std::string_view, 6> other_modalities{
    "vision_tower", "vision_model", "visual.", "multi_modal_projector", "audio_", "mtp."};
constexpr std::array<std::string_view, 3> derived_endings{".rotary_emb.inv_freq", ".attention.masked_bias",
                                                          ".attention.bias"};
// clang-format on

// Takes a decimal number without leading zeros and the dot behind it off the front of `text`.
std::optional<u64> take_number(std::string_view& text) {
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || digits == text.size() || *end != '.') return std::nullopt;
  if (digits > 1 && text.front() == '0') return std::nullopt;
  text.remove_prefix(digits + 1);
  return value;
}

}  // namespace

std::string canonical_name(std::string_view name) {
  static constexpr std::string_view wrapper = "language_model.";
  std::string out;
  out.reserve(name.size());
  while (true) {
    const std::size_t at = name.find(wrapper);
    out += name.substr(0, at);
    if (at == std::string_view::npos) return out;
    name.remove_prefix(at + wrapper.size());
  }
}

NameClass classify_name(std::string_view canonical) {
  for (const std::string_view mark : other_modalities) {
    if (canonical.find(mark) != std::string_view::npos) return NameClass::other_modality;
  }
  for (const std::string_view ending : derived_endings) {
    if (canonical.ends_with(ending)) return NameClass::derived;
  }
  return NameClass::keep;
}

SplitName split_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {name, Suffix::none};
  const std::string_view module = name.substr(0, dot);
  const std::string_view last = name.substr(dot + 1);
  if (last == "weight") return {module, Suffix::weight};
  if (last == "bias") return {module, Suffix::bias};
  if (last == "scales") return {module, Suffix::scales};
  if (last == "biases") return {module, Suffix::biases};
  return {name, Suffix::none};
}

std::optional<u64> layer_of(std::string_view canonical) {
  if (!canonical.starts_with(layer_prefix)) return std::nullopt;
  canonical.remove_prefix(layer_prefix.size());
  return take_number(canonical);
}

std::optional<GgufTarget> gguf_module(hf::Family family, std::string_view module) {
  const u32 wanted = bit(family);
  for (const Row& row : model_rows) {
    if (row.hf == module && (row.families & wanted) != 0) return GgufTarget{std::string(row.gguf), Piece::whole, {}, 0};
  }
  if (!module.starts_with(layer_prefix)) return std::nullopt;
  module.remove_prefix(layer_prefix.size());
  const std::optional<u64> layer = take_number(module);
  if (!layer) return std::nullopt;
  for (const Row& row : layer_rows) {
    if (row.hf == module && (row.families & wanted) != 0) {
      return GgufTarget{fmt::format("blk.{}.{}", *layer, row.gguf), Piece::whole, layer, 0};
    }
  }
  if (module == "mlp.experts.gate_up_proj" && ((qwen_moe | mixtral) & wanted) != 0) {
    return GgufTarget{fmt::format("blk.{}.ffn_gate_exps", *layer), Piece::gate_up_stack, layer, 0};
  }
  for (const ExpertRow& row : expert_rows) {
    if ((row.families & wanted) == 0 || !module.starts_with(row.prefix)) continue;
    std::string_view rest = module.substr(row.prefix.size());
    const std::optional<u64> expert = take_number(rest);
    if (expert && rest == row.hf) {
      return GgufTarget{fmt::format("blk.{}.{}", *layer, row.gguf), Piece::expert, layer, *expert};
    }
  }
  return std::nullopt;
}

std::optional<GgufTarget> gguf_tensor(hf::Family family, std::string_view canonical) {
  const SplitName name = split_name(canonical);
  if (name.suffix == Suffix::scales || name.suffix == Suffix::biases) return std::nullopt;
  std::optional<GgufTarget> target = gguf_module(family, name.module);
  if (!target) return std::nullopt;
  // Only stacks of experts that transformers v5 saved go without a suffix.
  if (name.suffix == Suffix::none && name.module.find(".mlp.experts.") == std::string_view::npos) return std::nullopt;
  target->module += name.suffix == Suffix::bias ? ".bias" : ".weight";
  return target;
}

std::optional<std::string> hf_tensor(hf::Family family, std::string_view gguf_name) {
  const SplitName name = split_name(gguf_name);
  if (name.suffix != Suffix::weight && name.suffix != Suffix::bias) return std::nullopt;
  const std::string_view ending = name.suffix == Suffix::bias ? ".bias" : ".weight";
  const u32 wanted = bit(family);
  for (const Row& row : model_rows) {
    if (row.gguf == name.module && (row.families & wanted) != 0) return fmt::format("{}{}", row.hf, ending);
  }
  std::string_view module = name.module;
  if (!module.starts_with("blk.")) return std::nullopt;
  module.remove_prefix(4);
  const std::optional<u64> layer = take_number(module);
  if (!layer) return std::nullopt;
  for (const Row& row : layer_rows) {
    if (row.gguf == module && (row.families & wanted) != 0) {
      return fmt::format("{}{}.{}{}", layer_prefix, *layer, row.hf, ending);
    }
  }
  return std::nullopt;
}

}  // namespace modelutils::mlx
