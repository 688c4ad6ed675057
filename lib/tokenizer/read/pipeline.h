// The component trees of tokenizer.json (normalizer, pre_tokenizer, decoder, post_processor) as flat lists,
// llama.cpp's pre-tokenizer that splits text alike, and warnings about texts that both tokenize differently.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "json/reader.h"
#include "tokenizer/pre_table.h"
#include "tokenizer/read/vocabulary.h"

namespace modelutils::tokenizer {

/// One component: an object with a `type`.
struct Component {
  std::string_view type;  ///< empty if the object has none
  json::Element value;
};

/// Returns the member `key` of `root` as a list, with every Sequence replaced by its members in order. `members` is the
/// name of a Sequence's array, e.g. "pretokenizers". Returns an empty list if the member is null or absent. Not
/// recursive. Keeps at most 256 components (no known tokenizer has more than ten).
std::vector<Component> flatten(json::Element root, std::string_view key, std::string_view members);

std::vector<Component> pre_tokenizers(json::Element root);
std::vector<Component> normalizers(json::Element root);
std::vector<Component> decoders(json::Element root);
std::vector<Component> post_processors(json::Element root);

/// True if a component has this type.
bool has_type(const std::vector<Component>& components, std::string_view type);

// Determines tokenizer.ggml.pre: the pre-tokenizer of llama.cpp that splits text like tokenizer.json.

/// Returns the signature of a tokenizer.json.
PreSignature pre_signature(json::Element tokenizer_json);

/// Facts that select between rows with the same signature.
struct PreFacts {
  bool ignore_merges = false;        ///< model.ignore_merges
  std::optional<bool> clean_spaces;  ///< tokenizer_config.json clean_up_tokenization_spaces
  bool has_gmask = false;            ///< there is an added token [gMASK]
  bool roberta = false;              ///< the post-processor is RobertaProcessing
  bool nfc = false;                  ///< the normalizer is NFC
  std::string_view of_family;        ///< the family's own pre-tokenizer, if it has one (arch/family_facts.h)
};

/// Returns the first matching row of the table. Equivalent elements match: ByteLevel with its own regex is a Split by
/// that regex, Digits one by one is `\\p{N}`. Error: "hf-tok-pre-unknown" with the signature and the nearest row.
Result<const PreRow*> recognise_pre(const PreSignature& signature, const PreFacts& facts);

// Warnings about texts that Hugging Face's tokenizers and llama.cpp tokenize differently.

/// llama.cpp does not normalise texts, except for spaces: with `marks_spaces` it does the same as a Prepend of U+2581
/// and a Replace by it. Warns about each other normalizer of tokenizer.json: "hf-tok-nfc" for NFC, "hf-tok-normalizer"
/// for the rest.
void warn_of_normalizers(json::Element tokenizer_json, bool marks_spaces, FindingLog& findings);

/// Warns about one normalizer that llama.cpp does not support.
void warn_of_normalizer(const Component& component, FindingLog& findings);

/// llama.cpp splits a text at each occurrence of an added token and removes nothing else. Warns about tokens that
/// Hugging Face treats differently: "hf-tok-single-word" (recognised only between words), "hf-tok-strips-spaces"
/// (removed with adjacent spaces).
void warn_of_added_tokens(const std::vector<AddedToken>& added, FindingLog& findings);

}  // namespace modelutils::tokenizer
