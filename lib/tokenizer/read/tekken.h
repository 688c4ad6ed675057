// tekken.json: the tokenizer file of Mistral's own format, tiktoken's ranks behind a block of special tokens.
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

/// Ids are those of `special`, then the ranks of `ordinary`.
struct TekkenVocabulary {
  std::vector<TekkenSpecial> special;  ///< as many as the file says; those that it does not name are "<SPECIAL_7>" …
  TiktokenVocabulary ordinary;         ///< no rank is missing
  std::string_view pattern;            ///< the regex by which texts are split
};

/// Reads config {pattern, default_vocab_size, default_num_special_tokens}, vocab [{rank, token_bytes}, …] as far as the
/// vocabulary's size goes, and special_tokens [{rank, token_str, is_control}, …]; versions up to v7 may leave those
/// out, and have the same twenty. Errors: "hf-tok-tekken" (a member is missing or of another type, numbers that
/// contradict each other, a rank or a special text that is there twice, a rank that is missing), "hf-tok-id-range" (the
/// embedding has fewer than default_vocab_size `rows`), "hf-tok-tiktoken" (a token without bytes, with too many, or
/// that those of lower rank do not make).
Result<TekkenVocabulary> parse_tekken(json::Element root, u64 rows);

}  // namespace modelutils::tokenizer
