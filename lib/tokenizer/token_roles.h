// The special tokens of a GGUF, by short names.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

struct TokenRole {
  std::string_view name;  ///< "eos"
  std::string_view key;   ///< "tokenizer.ggml.eos_token_id"
  std::optional<u32> SpecialIds::*id;
};

/// In the order in which they are written. Source: llama.cpp's key names ("seperator" is its spelling).
std::span<const TokenRole> token_roles();
/// Returns the role with this short name; nullptr for other names.
const TokenRole* find_token_role(std::string_view name);

/// Texts of tokens that end a text, a turn or a tool call: llama.cpp stops at them regardless of the keys.
std::span<const std::string_view> end_texts();

}  // namespace modelutils::tokenizer
