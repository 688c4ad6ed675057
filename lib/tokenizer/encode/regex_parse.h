// The tree of a regex (regex.h).
#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/encode/regex.h"

namespace modelutils::tokenizer {

struct RegexNode {
  enum class Kind : u8 { one, look, look_not, end, sequence, alternatives, repeat };
  Kind kind = Kind::sequence;
  EncodeRegex::Set set = {};             ///< one, look, look_not
  std::vector<RegexNode> children = {};  ///< sequence, alternatives; one of a repeat
  u32 least = 0, most = 0;               ///< repeat; `most` 0: any number

  bool matches_empty() const;
};

/// Error, internal: what the header says.
Result<RegexNode> parse_encode_regex(std::string_view regex, RegexAlphabet alphabet);

}  // namespace modelutils::tokenizer
