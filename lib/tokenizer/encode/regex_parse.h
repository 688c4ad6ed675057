// The syntax tree of a regex (regex.h).
#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/encode/regex.h"

namespace modelutils::tokenizer {

struct RegexNode {
  enum class Kind : u8 { one, look, look_not, end, sequence, alternatives, repeat };
  Kind kind = Kind::sequence;
  EncodeRegex::Set set = {};             ///< one, look, look_not
  std::vector<RegexNode> children = {};  ///< sequence, alternatives; exactly one for repeat
  u32 least = 0, most = 0;               ///< repeat; `most` is 0 for no limit

  bool matches_empty() const;
};

/// Error (internal): a construct that regex.h does not support.
Result<RegexNode> parse_encode_regex(std::string_view regex, RegexAlphabet alphabet);

}  // namespace modelutils::tokenizer
