// Parses expressions from tokens.
#pragma once

#include "template/syntax.h"
#include "template/tokens.h"

namespace modelutils::jinja {

/// Maximum nesting depth of expressions; a chain of operators, attributes or filters counts, too. Python refuses the
/// code that Jinja generates at about the same depth.
constexpr u32 max_expression_depth = 200;

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  /// Parses one expression. `with_choice` allows `a if b else c`.
  Outcome<Expression*> expression(bool with_choice = true);
  /// Parses an expression, or a tuple of expressions separated by commas. A tuple ends at the name `end`, at the end of
  /// the tag, or at a closing parenthesis.
  enum class Items : u8 { expressions, without_choice, primaries };
  Outcome<Expression*> tuple(Items items = Items::expressions, std::string_view end = {}, bool in_parentheses = false);
  /// Parses an assignment target: a name, a tuple of names, or with `or_member` an attribute of a namespace.
  Outcome<Expression*> target(std::string_view end = {}, bool or_member = false);
  Outcome<Expression*> name_target();
  /// Parses `| name(…) | …` applied to `input` (nullptr: the text of a block). With `inline_first` the first bar is
  /// omitted. Returns nullptr if there is no filter.
  Outcome<Expression*> filters(Expression* input, bool inline_first = false);

 private:
  class Nested;

  Expression* make(ExpressionKind kind, std::size_t at);
  Outcome<Expression*> finish(Expression* expression);
  Outcome<Expression*> choice();
  Outcome<Expression*> either();
  Outcome<Expression*> both();
  Outcome<Expression*> negation();
  Outcome<Expression*> comparison();
  Outcome<Expression*> sum();
  Outcome<Expression*> concat();
  Outcome<Expression*> product();
  Outcome<Expression*> power();
  Outcome<Expression*> unary(bool with_filter = true);
  Outcome<Expression*> primary();
  Outcome<Expression*> constant();
  Outcome<Expression*> list();
  Outcome<Expression*> dict();
  Outcome<Expression*> postfix(Expression* of);
  Outcome<Expression*> filtered(Expression* of);
  Outcome<Expression*> subscript(Expression* of);
  Outcome<Expression*> subscribed();
  Outcome<Expression*> call(Expression* of);
  Outcome<Expression*> test(Expression* of);
  Outcome<void> arguments(ArgumentList& list);
  Outcome<std::string_view> dotted_name();
  Outcome<void> store(Expression* target);

  TokenStream& tokens_;
  u32 nested_ = 0;
};

}  // namespace modelutils::jinja
