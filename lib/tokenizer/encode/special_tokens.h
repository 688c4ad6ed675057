// Special tokens by their texts, before anything else looks at a text.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/encode/prefix_table.h"
#include "tokenizer/encode/vocabulary.h"

namespace modelutils::tokenizer {

/// A token that stands in the text by name, or a part that is to be cut.
struct TextFragment {
  std::optional<u32> token;
  std::string_view text;  ///< without a token; not empty
};

/// Finds the texts of tokens in a text: the longest first, of those the leftmost.
class SpecialTokens {
 public:
  explicit SpecialTokens(const EncodeVocabulary& vocabulary);

  /// `parse_special`: also control and unknown tokens, not only user-defined ones. Linear in the text.
  std::vector<TextFragment> partition(std::string_view text, bool parse_special) const;

 private:
  const EncodeVocabulary& vocabulary_;
  std::vector<u32> order_;  // of tokens: the longest text first
  std::vector<u32> rank_;   // of a token in `order_`
  PrefixTable table_;
};

}  // namespace modelutils::tokenizer
