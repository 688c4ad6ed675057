// Special tokens, not yet resolved to ids: their texts, the post-processor's information about them, and those added
// before and after a text by Hugging Face's tokenizers and by llama.cpp.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "json/reader.h"
#include "tokenizer/read/files.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

/// bos_token, eos_token, … of tokenizer_config.json, else of special_tokens_map.json; as a string or as {content}.
struct SpecialTexts {
  std::optional<std::string> bos, eos, unk, sep, pad, cls, mask;
  std::optional<std::string> eot, eom;  ///< set only by the post-processor
};

/// Reads the texts; those of absent tokens stay empty.
SpecialTexts read_special_texts(const TokenizerFiles& files);

/// Gives the tokens that begin and end a text their usual names: BERT's are called cls and sep.
void name_ends(SpecialTexts& texts);

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

/// Returns the tokens that tokenizer.json's post_processor adds. May also change `texts`: where there is no bos or eos,
/// cls and sep take their places; if a template ends in another token than eos_token, that token becomes the eos, and
/// the former eos becomes the eot (or eom). `bos_by_id` and
/// `eos_by_id` are the texts of config.json's ids, used if `texts` has none. Behaviour that llama.cpp lacks is a
/// warning.
AddSpecial read_post_processor(json::Element tokenizer_json, SpecialTexts& texts,
                               const std::optional<std::string>& bos_by_id, const std::optional<std::string>& eos_by_id,
                               FindingLog& findings);

// The tokens added before and after a text: by Hugging Face's tokenizers, and by llama.cpp from the keys to be written.

/// Ids before and after a text.
struct BoundaryTokens {
  std::vector<u32> before, after;
  bool operator==(const BoundaryTokens&) const = default;
};

/// Returns the id of a token's text; nullopt if there is no such token.
using TokenFinder = std::function<std::optional<u32>(const std::optional<std::string>&)>;

/// Returns the tokens that tokenizer.json's post-processor adds to a single text. Considers at most 16 ids on each side
/// and 256 template items. transformers adds the same from version 5 on, and in most classes before it.
BoundaryTokens post_processor_boundaries(json::Element tokenizer_json, const TokenFinder& find);

/// Returns the boundary tokens of classes in which transformers before version 5 adds something else: LlamaTokenizer
/// and similar ones replace the post-processor according to add_bos_token and add_eos_token in tokenizer_config.json.
/// Returns nullopt for other classes. Source: their update_post_processor().
std::optional<BoundaryTokens> class_boundaries(json::Element tokenizer_config, const SpecialIds& special);

/// True if this class of tokenizer_config.json uses the post-processor in every version.
bool leaves_it_to_post_processor(std::string_view tokenizer_class);

/// Warns ("hf-tok-around") if llama.cpp will add other boundary tokens than Hugging Face's tokenizers, or if those
/// disagree with each other. `tokenizer` must be complete except for its templates.
void warn_of_boundary_tokens(json::Element tokenizer_json, std::optional<json::Element> tokenizer_config,
                             const TokenFinder& find, Tokenizer& tokenizer);

}  // namespace modelutils::tokenizer
