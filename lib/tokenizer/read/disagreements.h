// Where Hugging Face's tokenizers and llama.cpp cannot agree: warnings that say for which texts.
#pragma once

#include "base/finding_log.h"
#include "json/reader.h"
#include "tokenizer/read/added_tokens.h"
#include "tokenizer/read/pipeline.h"

namespace modelutils::tokenizer {

/// llama.cpp changes no text before it looks for tokens (but for spaces, where `marks_spaces`: a Prepend of U+2581 and
/// a Replace by it are its own way). A warning for each other normalizer of tokenizer.json: "hf-tok-nfc" for NFC,
/// "hf-tok-normalizer" for the rest.
void warn_of_normalizers(json::Element tokenizer_json, bool marks_spaces, FindingLog& findings);

/// The warning of one normalizer that llama.cpp has not.
void warn_of_normalizer(const Component& component, FindingLog& findings);

/// llama.cpp cuts a text at an added token wherever its text occurs, and takes nothing else away. Warnings where
/// Hugging Face does otherwise: "hf-tok-single-word" (only between words), "hf-tok-strips-spaces" (with the spaces
/// before or after).
void warn_of_added_tokens(const std::vector<AddedToken>& added, FindingLog& findings);

}  // namespace modelutils::tokenizer
