// Warnings about texts that Hugging Face's tokenizers and llama.cpp tokenize differently.
#pragma once

#include "base/finding_log.h"
#include "json/reader.h"
#include "tokenizer/read/added_tokens.h"
#include "tokenizer/read/pipeline.h"

namespace modelutils::tokenizer {

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
