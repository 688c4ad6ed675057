// A template's source → tokens, by the rules of Jinja's lexer with trim_blocks and lstrip_blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "template/failure.h"

namespace modelutils::jinja {

enum class TokenType : u8 {
  data,  ///< text outside tags, with the blanks that the tags around it leave
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
  std::string_view text;  ///< of a string with what its escapes mean
  std::size_t at = 0;     ///< byte in the source
};

/// Of a normalized source (template/source.h) that is UTF-8; the last token is of type `end`. Tokens are views of the
/// source, or of texts on `heap`, where failures lie, too. Linear.
Outcome<std::vector<Token>> tokenize(std::string_view source, Heap& heap);

}  // namespace modelutils::jinja
