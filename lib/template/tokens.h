// Normalises a template's source and splits it into tokens, by the rules of Jinja's lexer with trim_blocks and
// lstrip_blocks. Offsets become lines and columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "template/value.h"

namespace modelutils::jinja {

// Normalises a template's source and converts offsets to line and column.

/// Replaces CR LF and CR by line feeds, and removes one line feed at the end.
std::string normalized(std::string_view source);

/// Line and column, both counted from 1. Columns count characters.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;

  /// "line 3, column 14"
  std::string text() const;
};

/// Returns the position of byte `at` in a normalized source.
Position position(std::string_view source, std::size_t at);

/// Converts byte `at` of normalized(`original`) to an offset in `original`.
std::size_t original_offset(std::string_view original, std::size_t at);

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

/// `source` must be normalized and UTF-8. The last token has type `end`. Token texts point into the
/// source or to `heap`; failures are allocated on `heap`, too. Linear time.
Outcome<std::vector<Token>> tokenize(std::string_view source, Heap& heap);

/// A cursor over a template's tokens, with the error messages for unexpected ones.
class TokenStream {
 public:
  TokenStream(std::vector<Token> tokens, Heap& heap) : tokens_(std::move(tokens)), heap_(heap) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& after() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  const Token& take() {
    const Token& token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }

  bool is(TokenType type) const { return current().type == type; }
  bool is_sign(std::string_view sign) const { return is_sign(current(), sign); }
  bool is_name(std::string_view name) const { return is_name(current(), name); }
  static bool is_sign(const Token& token, std::string_view sign) {
    return token.type == TokenType::sign && token.text == sign;
  }
  static bool is_name(const Token& token, std::string_view name) {
    return token.type == TokenType::name && token.text == name;
  }

  bool skip_sign(std::string_view sign) {
    if (!is_sign(sign)) return false;
    take();
    return true;
  }
  bool skip_name(std::string_view name) {
    if (!is_name(name)) return false;
    take();
    return true;
  }

  Outcome<Token> expect(TokenType type);
  Outcome<Token> expect_sign(std::string_view sign);
  Outcome<Token> expect_name(std::string_view name);

  tl::unexpected<Failure*> fail(std::string message, std::size_t at, FailureKind kind = FailureKind::syntax);
  /// Fails with "expected token 'x', got 'y'".
  tl::unexpected<Failure*> fail_expected(std::string_view what);
  /// Fails with "unexpected 'y'".
  tl::unexpected<Failure*> fail_unexpected();

  Heap& heap() { return heap_; }

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  Heap& heap_;
};

/// Describes a token in Jinja's words, for messages: "end of print statement", or its text.
std::string described(const Token& token);

}  // namespace modelutils::jinja
