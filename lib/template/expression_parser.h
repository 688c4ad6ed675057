// Tokens → expressions.
#pragma once

#include "template/syntax.h"
#include "template/token_stream.h"

namespace modelutils::jinja {

/// Expressions nest at most so deeply, also by a chain of operators, attributes or filters: Python refuses Jinja's
/// output at about the same depth.
constexpr u32 max_expression_depth = 200;

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  Outcome<Expression*> expression(bool with_choice = true);
  /// An expression, or a tuple of several with commas between them. `end`: the name that ends it, as do the end of a
  /// tag and a parenthesis.
  enum class Items : u8 { expressions, without_choice, primaries };
  Outcome<Expression*> tuple(Items items = Items::expressions, std::string_view end = {}, bool in_parentheses = false);
  /// What can be assigned to: a name, names in a tuple, and with `or_member` an attribute of a namespace.
  Outcome<Expression*> target(std::string_view end = {}, bool or_member = false);
  Outcome<Expression*> name_target();
  /// `| name(…) | …` applied to `input`, which may be nullptr; with `inline_first` the first bar is missing. nullptr if
  /// there is none.
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
