#include "tokenizer/token_roles.h"

#include <algorithm>
#include <array>

namespace modelutils::tokenizer {

namespace {

constexpr std::array roles = {
    TokenRole{"bos", "tokenizer.ggml.bos_token_id", &SpecialIds::bos},
    TokenRole{"eos", "tokenizer.ggml.eos_token_id", &SpecialIds::eos},
    TokenRole{"unk", "tokenizer.ggml.unknown_token_id", &SpecialIds::unk},
    TokenRole{"sep", "tokenizer.ggml.seperator_token_id", &SpecialIds::sep},
    TokenRole{"pad", "tokenizer.ggml.padding_token_id", &SpecialIds::pad},
    TokenRole{"cls", "tokenizer.ggml.cls_token_id", &SpecialIds::cls},
    TokenRole{"mask", "tokenizer.ggml.mask_token_id", &SpecialIds::mask},
    TokenRole{"eot", "tokenizer.ggml.eot_token_id", &SpecialIds::eot},
    TokenRole{"eom", "tokenizer.ggml.eom_token_id", &SpecialIds::eom},
    TokenRole{"fim_pre", "tokenizer.ggml.fim_pre_token_id", &SpecialIds::fim_pre},
    TokenRole{"fim_suf", "tokenizer.ggml.fim_suf_token_id", &SpecialIds::fim_suf},
    TokenRole{"fim_mid", "tokenizer.ggml.fim_mid_token_id", &SpecialIds::fim_mid},
    TokenRole{"fim_pad", "tokenizer.ggml.fim_pad_token_id", &SpecialIds::fim_pad},
    TokenRole{"fim_rep", "tokenizer.ggml.fim_rep_token_id", &SpecialIds::fim_rep},
    TokenRole{"fim_sep", "tokenizer.ggml.fim_sep_token_id", &SpecialIds::fim_sep},
};

// Source: llama_vocab::impl::load().
constexpr std::array<std::string_view, 22> ends_by_text = {"<|eot_id|>",
                                                           "<|im_end|>",
                                                           "<|end|>",
                                                           "<|return|>",
                                                           "<|call|>",
                                                           "<|flush|>",
                                                           "<|calls|>",
                                                           "<end_of_turn>",
                                                           "<|endoftext|>",
                                                           "</s>",
                                                           "<|eom_id|>",
                                                           "<EOT>",
                                                           "_<EOT>",
                                                           "[EOT]",
                                                           "[EOS]",
                                                           "<|end_of_text|>",
                                                           "<end_of_utterance>",
                                                           "<eos>",
                                                           "<turn|>",
                                                           "<|tool_response>",
                                                           "<｜end▁of▁sentence｜>",
                                                           "[e~["};

}  // namespace

std::span<const std::string_view> end_texts() {
  return ends_by_text;
}

std::span<const TokenRole> token_roles() {
  return roles;
}

const TokenRole* find_token_role(std::string_view name) {
  const auto* found =
      std::find_if(roles.begin(), roles.end(), [&](const TokenRole& role) { return role.name == name; });
  return found == roles.end() ? nullptr : found;
}

}  // namespace modelutils::tokenizer
