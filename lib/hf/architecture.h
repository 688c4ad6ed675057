// The model architectures we know, and what a GGUF of them needs (docs/conversion.md, 1.1): the one table.
#pragma once

#include <span>
#include <string_view>

#include "hf/config.h"

namespace modelutils::hf {

enum class Family : u8 { llama, mixtral, qwen2, qwen2moe, qwen3, qwen3moe, gemma, gemma2, gemma3, phi3 };

struct Architecture {
  std::string_view hf_class;    ///< config.json architectures[0]
  std::string_view model_type;  ///< config.json model_type
  std::string_view gguf;        ///< general.architecture; "llama" also for mistral and mixtral
  Family family;                ///< decides about tensor names
  bool permutes_qk;             ///< rows of q_proj and k_proj are interleaved in GGUF (arch llama only)
  bool norm_plus_one;           ///< norms are stored minus one (Gemma)
};

std::span<const Architecture> all_architectures();

/// By architectures[0], else (also if that is no class of the table, as with wrappers and fine-tunes) by model_type;
/// nullptr if we do not know it. Mistral3 and Ministral3 classes are not llama, whatever their model_type.
const Architecture* find_architecture(const Config& config);
const Architecture* find_architecture(std::string_view hf_class, std::string_view model_type);

}  // namespace modelutils::hf
