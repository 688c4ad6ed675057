// Detects vocabularies whose scores are all equal. Scores decide how SentencePiece-like vocabularies split a text;
// equal ones decide nothing.
#pragma once

#include <optional>
#include <span>

#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

/// Collects the scores of a vocabulary's NORMAL tokens.
class ScoreSpread {
 public:
  void add(float score) {
    if (!first_) first_ = score;
    are_equal_ = are_equal_ && score == *first_;
    ++count_;
  }

  /// Returns the common score of two or more tokens; nullopt if scores differ.
  std::optional<float> common() const { return count_ > 1 && are_equal_ ? first_ : std::nullopt; }

 private:
  u64 count_ = 0;
  bool are_equal_ = true;
  std::optional<float> first_;
};

/// `types` has one TokenType number per score.
inline std::optional<float> common_score(std::span<const i32> types, std::span<const float> scores) {
  ScoreSpread spread;
  for (std::size_t id = 0; id < scores.size() && id < types.size(); ++id) {
    if (types[id] == static_cast<i32>(TokenType::normal)) spread.add(scores[id]);
  }
  return spread.common();
}

}  // namespace modelutils::tokenizer
