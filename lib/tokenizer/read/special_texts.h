// The texts of special tokens, not yet resolved to ids, and the post-processor's information about them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/finding_log.h"
#include "tokenizer/read/files.h"

namespace modelutils::tokenizer {

/// bos_token, eos_token, … of tokenizer_config.json, else of special_tokens_map.json; as a string or as {content}.
struct SpecialTexts {
  std::optional<std::string> bos, eos, unk, sep, pad, cls, mask;
  std::optional<std::string> eot, eom;  ///< set only by the post-processor
};

/// Reads the texts; those of absent tokens stay empty.
SpecialTexts read_special_texts(const TokenizerFiles& files);

/// A special token that has a name in files and chat templates.
struct SpecialVariable {
  std::string_view name;  ///< "bos_token"
  std::optional<std::string> SpecialTexts::*text;
};
/// bos, eos, unk, sep, pad, cls and mask: all that transformers defines.
std::span<const SpecialVariable> special_variables();
/// Returns nullptr for other names.
const SpecialVariable* find_special_variable(std::string_view name);

/// The special tokens added around a text.
struct AddSpecial {
  std::optional<bool> bos, eos, sep;
};

/// Returns the tokens that tokenizer.json's post_processor adds. May also change `texts`: if a template ends in another
/// token than eos_token, that token becomes the eos, and the former eos becomes the eot (or eom). `bos_by_id` and
/// `eos_by_id` are the texts of config.json's ids, used if `texts` has none. Behaviour that llama.cpp lacks is a
/// warning.
AddSpecial read_post_processor(json::Element tokenizer_json, SpecialTexts& texts,
                               const std::optional<std::string>& bos_by_id, const std::optional<std::string>& eos_by_id,
                               FindingLog& findings);

}  // namespace modelutils::tokenizer
