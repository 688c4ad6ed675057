// Finds special tokens by their texts before the rest of a text is tokenized.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/encode/prefix_table.h"
#include "tokenizer/encode/vocabulary.h"

namespace modelutils::tokenizer {

/// A special token found in the text, or a part of the text that is still to be tokenized.
struct TextFragment {
  std::optional<u32> token;
  std::string_view text;  ///< if there is no token; not empty
};

/// Finds the texts of tokens in a text: longer ones first, leftmost first among equals.
class SpecialTokens {
 public:
  explicit SpecialTokens(const EncodeVocabulary& vocabulary);

  /// Splits a text at special tokens. `parse_special` includes control and unknown tokens besides user-defined ones.
  /// Linear in the text.
  std::vector<TextFragment> partition(std::string_view text, bool parse_special) const;

 private:
  const EncodeVocabulary& vocabulary_;
  std::vector<u32> order_;  // token ids, longest text first
  std::vector<u32> rank_;   // position of each token in `order_`
  PrefixTable table_;
};

}  // namespace modelutils::tokenizer
