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

/// Tokens by rank, while they are collected.
class RankedTokens {
 public:
  explicit RankedTokens(u64 rows) : rows_(rows) {}

  /// Errors, without a place: "hf-tok-id-range" (the rank is not below the number of rows), "hf-tok-tiktoken" (a rank
  /// that is there twice, a token without bytes or with more than 4096, longer ones in all than any real vocabulary's).
  Status add(u64 rank, std::string bytes);
  /// A token of several bytes is what joining its bytes by the ranks below its own leaves as two parts; those are its
  /// merge, as tiktoken itself would join them last. Error "hf-tok-tiktoken": the ranks below do not make two parts.
  Result<TiktokenVocabulary> finish() const;

 private:
  u64 rows_, total_square_ = 0;
  std::vector<std::string> bytes_;
};

/// Reads lines "base64 rank". Errors: those of RankedTokens, "hf-tok-tiktoken" for a line that is not of that form.
Result<TiktokenVocabulary> parse_tiktoken(std::string_view text, u64 rows);

}  // namespace modelutils::tokenizer
