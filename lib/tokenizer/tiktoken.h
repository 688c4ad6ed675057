// tiktoken's vocabularies: a line for each token, its bytes in base64 and its rank.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/types.h"

namespace modelutils::tokenizer {

/// Texts in byte-level BPE's alphabet, and the merges that the ranks imply.
struct TiktokenVocabulary {
  std::vector<std::string> tokens;  ///< by rank, which is the id; empty where there is none
  std::vector<std::string> merges;  ///< "left right", best first
};

/// Reads lines "base64 rank". A token of several bytes is what joining its bytes by the ranks below its own leaves as
/// two parts; those are its merge, as tiktoken itself would join them last. Errors: "hf-tok-tiktoken" (a line that is
/// not of that form, a rank that is there twice, a token of more than 4096 bytes, or one that the ranks below do not
/// make of two parts), "hf-tok-id-range" (a rank that is not below `rows`).
Result<TiktokenVocabulary> parse_tiktoken(std::string_view text, u64 rows);

}  // namespace modelutils::tokenizer
