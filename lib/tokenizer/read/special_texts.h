// The texts of special tokens, before they become ids; and what the post-processor says about them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/finding_log.h"
#include "tokenizer/read/files.h"

namespace modelutils::tokenizer {

/// bos_token, eos_token, … of tokenizer_config.json, else of special_tokens_map.json; plain or as {content}.
struct SpecialTexts {
  std::optional<std::string> bos, eos, unk, sep, pad, cls, mask;
  std::optional<std::string> eot, eom;  ///< only ever set by the post-processor
};

SpecialTexts read_special_texts(const TokenizerFiles& files);

/// A special token that files and chat templates call by a name.
struct SpecialVariable {
  std::string_view name;  ///< "bos_token"
  std::optional<std::string> SpecialTexts::*text;
};
/// bos, eos, unk, sep, pad, cls and mask: all that transformers knows.
std::span<const SpecialVariable> special_variables();
/// nullptr if the name is none of them.
const SpecialVariable* find_special_variable(std::string_view name);

/// Which special tokens are put around a text.
struct AddSpecial {
  std::optional<bool> bos, eos, sep;
};

/// What the post_processor of tokenizer.json adds. It may also change `texts`: a template that ends in another token
/// than eos_token makes that one the eos, and the former the eot (or eom). `bos_by_id`, `eos_by_id`: the texts that
/// config.json's ids stand for, used where `texts` names none. What llama.cpp cannot do is a warning.
AddSpecial read_post_processor(json::Element tokenizer_json, SpecialTexts& texts,
                               const std::optional<std::string>& bos_by_id, const std::optional<std::string>& eos_by_id,
                               FindingLog& findings);

}  // namespace modelutils::tokenizer
