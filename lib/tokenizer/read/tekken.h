// tekken.json, the tokenizer file of Mistral's own format: a block of special tokens followed by tiktoken's ranks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/reader.h"
#include "tokenizer/read/tiktoken.h"

namespace modelutils::tokenizer {

struct TekkenSpecial {
  std::string text;
  bool is_control = true;
};

/// Ids are positions in `special`, followed by the ranks of `ordinary`.
struct TekkenVocabulary {
  std::vector<TekkenSpecial> special;  ///< as many as the file states; unnamed ones are "<SPECIAL_7>", …
  TiktokenVocabulary ordinary;         ///< without missing ranks
  std::string_view pattern;            ///< the regex that splits texts
};

/// Reads config {pattern, default_vocab_size, default_num_special_tokens}, vocab [{rank, token_bytes}, …] up to the
/// vocabulary's size, and special_tokens [{rank, token_str, is_control}, …]. Versions up to v7 may omit the special
/// tokens; they all have the same twenty. Errors: "hf-tok-tekken" (a missing member or one of another type,
/// contradictory numbers, a duplicate rank or special text, a missing rank), "hf-tok-id-range" (`rows` is less than
/// default_vocab_size), "hf-tok-tiktoken" (a token without bytes, with too many, or that cannot be built from tokens of
/// lower rank).
Result<TekkenVocabulary> parse_tekken(json::Element root, u64 rows);

}  // namespace modelutils::tokenizer
