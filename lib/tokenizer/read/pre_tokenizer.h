// Determines tokenizer.ggml.pre: the pre-tokenizer of llama.cpp that splits text like tokenizer.json.
#pragma once

#include <optional>
#include <string_view>

#include "base/error.h"
#include "json/reader.h"
#include "tokenizer/pre_table.h"

namespace modelutils::tokenizer {

/// Returns the signature of a tokenizer.json.
PreSignature pre_signature(json::Element tokenizer_json);

/// Facts that select between rows with the same signature.
struct PreFacts {
  bool ignore_merges = false;        ///< model.ignore_merges
  std::optional<bool> clean_spaces;  ///< tokenizer_config.json clean_up_tokenization_spaces
  bool has_gmask = false;            ///< there is an added token [gMASK]
  bool roberta = false;              ///< the post-processor is RobertaProcessing
  bool nfc = false;                  ///< the normalizer is NFC
  std::string_view of_family;        ///< the family's own pre-tokenizer, if it has one (arch/tokenizer_facts.h)
};

/// Returns the first matching row of the table. Equivalent elements match: ByteLevel with its own regex is a Split by
/// that regex, Digits one by one is `\\p{N}`. Error: "hf-tok-pre-unknown" with the signature and the nearest row.
Result<const PreRow*> recognise_pre(const PreSignature& signature, const PreFacts& facts);

}  // namespace modelutils::tokenizer
