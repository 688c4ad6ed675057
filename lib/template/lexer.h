// Splits a template's source into tokens, by the rules of Jinja's lexer with trim_blocks and lstrip_blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "template/failure.h"

namespace modelutils::jinja {

enum class TokenType : u8 {
  data,  ///< text outside tags, after whitespace control
  block_begin,
  block_end,
  variable_begin,
  variable_end,
  name,
  string,
  integer,
  real,
  sign,  ///< an operator or a bracket
  end,
};

struct Token {
  TokenType type = TokenType::end;
  std::string_view text;  ///< for strings, with the escapes decoded
  std::size_t at = 0;     ///< byte in the source
};

/// `source` must be normalized (template/source.h) and UTF-8. The last token has type `end`. Token texts point into the
/// source or to `heap`; failures are allocated on `heap`, too. Linear time.
Outcome<std::vector<Token>> tokenize(std::string_view source, Heap& heap);

}  // namespace modelutils::jinja
