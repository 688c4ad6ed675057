#include "hf/architecture.h"

#include <array>

namespace modelutils::hf {

namespace {

// clang-format off
constexpr std::array<Architecture, 14> table{{
    // HF class                         model_type      GGUF        family             permutes q, k   norm + 1
    {"LlamaForCausalLM",                "llama",        "llama",    Family::llama,     true,           false},
    {"LLaMAForCausalLM",                "llama",        "llama",    Family::llama,     true,           false},
    {"MistralForCausalLM",              "mistral",      "llama",    Family::llama,     true,           false},
    {"MixtralForCausalLM",              "mixtral",      "llama",    Family::mixtral,   true,           false},
    {"Qwen2ForCausalLM",                "qwen2",        "qwen2",    Family::qwen2,     false,          false},
    {"Qwen2MoeForCausalLM",             "qwen2_moe",    "qwen2moe", Family::qwen2moe,  false,          false},
    {"Qwen3ForCausalLM",                "qwen3",        "qwen3",    Family::qwen3,     false,          false},
    {"Qwen3MoeForCausalLM",             "qwen3_moe",    "qwen3moe", Family::qwen3moe,  false,          false},
    {"GemmaForCausalLM",                "gemma",        "gemma",    Family::gemma,     false,          true},
    {"Gemma2ForCausalLM",               "gemma2",       "gemma2",   Family::gemma2,    false,          true},
    {"Gemma3ForCausalLM",               "gemma3_text",  "gemma3",   Family::gemma3,    false,          true},
    {"Gemma3ForConditionalGeneration",  "gemma3",       "gemma3",   Family::gemma3,    false,          true},
    {"Phi3ForCausalLM",                 "phi3",         "phi3",     Family::phi3,      false,          false},
    // mlx-lm runs this model type with its llama module: same weights, same names.
    {"",                                "iquestcoder",  "llama",    Family::llama,     true,           false},
}};
// clang-format on

}  // namespace

std::span<const Architecture> all_architectures() {
  return table;
}

const Architecture* find_architecture(std::string_view hf_class, std::string_view model_type) {
  // Near relatives of Mistral with keys of their own, whose text_config may still say "mistral".
  if (hf_class.starts_with("Mistral3") || hf_class.starts_with("Ministral3")) return nullptr;
  for (const Architecture& row : table) {
    if (!hf_class.empty() && row.hf_class == hf_class) return &row;
  }
  for (const Architecture& row : table) {
    if (row.model_type == model_type) return &row;
  }
  return nullptr;
}

const Architecture* find_architecture(const Config& config) {
  const Architecture* found = find_architecture(config.architecture, config.model_type);
  // A class that is named and unknown is another model, even if it borrows a known model_type ("…ForSequence-
  // Classification"). The class of a multimodal wrapper says nothing of the text model inside.
  const bool by_class = found != nullptr && found->hf_class == config.architecture;
  const bool nameless = config.architecture.empty() || config.has_text_config;
  const bool has_class = found != nullptr && !found->hf_class.empty();
  return by_class || nameless || !has_class ? found : nullptr;
}

}  // namespace modelutils::hf
