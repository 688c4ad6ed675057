// Parses names, literals, brackets and subscripts.
#include <charconv>

#include "template/expression_parser.h"
#include "template/python_literals.h"

namespace modelutils::jinja {

Outcome<Expression*> ExpressionParser::primary() {
  const Token& token = tokens_.current();
  switch (token.type) {
    case TokenType::name: {
      tokens_.take();
      const std::string_view name = token.text;
      auto* node = make(ExpressionKind::constant, token.at);
      if (name == "true" || name == "True" || name == "false" || name == "False") {
        node->constant = Value::of(name == "true" || name == "True");
      } else if (name == "none" || name == "None") {
        node->constant = Value::none();
      } else {
        node->kind = ExpressionKind::name;
        node->text = name;
      }
      return node;
    }
    case TokenType::string:
    case TokenType::integer:
    case TokenType::real: return constant();
    default: break;
  }
  if (tokens_.skip_sign("(")) {
    MU_ASSIGN(Expression * node, tuple(Items::expressions, {}, true));
    MU_TRY(tokens_.expect_sign(")"));
    return node;
  }
  if (tokens_.is_sign("[")) return list();
  if (tokens_.is_sign("{")) return dict();
  return tokens_.fail_unexpected();
}

Outcome<Expression*> ExpressionParser::constant() {
  const Token& token = tokens_.take();
  auto* node = make(ExpressionKind::constant, token.at);
  if (token.type == TokenType::string) {
    std::string text(token.text);
    while (tokens_.is(TokenType::string)) text += tokens_.take().text;
    node->constant = Value::of(Kind::text, tokens_.heap().make<Text>(std::move(text)));
    return node;
  }
  std::string digits;
  for (const char c : token.text) {
    if (c != '_') digits += c;
  }
  if (token.type == TokenType::real) {
    node->constant = Value::of(parse_real(digits).value_or(0));
    return node;
  }
  const std::optional<Value> number = parse_integer(digits, 0, tokens_.heap());
  if (!number) return tokens_.fail("the number has too many digits", token.at, FailureKind::limit);
  node->constant = *number;
  return node;
}

Outcome<Expression*> ExpressionParser::tuple(Items items, std::string_view end, bool in_parentheses) {
  const std::size_t at = tokens_.current().at;
  std::vector<Expression*> values;
  bool is_tuple = false;
  while (true) {
    if (!values.empty()) MU_TRY(tokens_.expect_sign(","));
    if (tokens_.is(TokenType::variable_end) || tokens_.is(TokenType::block_end) || tokens_.is_sign(")") ||
        (!end.empty() && tokens_.is_name(end))) {
      break;
    }
    MU_ASSIGN(Expression * value, items == Items::primaries ? primary() : expression(items == Items::expressions));
    values.push_back(value);
    if (!tokens_.is_sign(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!values.empty()) return values.front();
    if (!in_parentheses) {
      return tokens_.fail("Expected an expression, got '" + described(tokens_.current()) + "'", tokens_.current().at);
    }
  }
  auto* node = make(ExpressionKind::tuple, at);
  node->operands = std::move(values);
  return finish(node);
}

Outcome<Expression*> ExpressionParser::list() {
  auto* node = make(ExpressionKind::list, tokens_.take().at);
  while (!tokens_.is_sign("]")) {
    if (!node->operands.empty()) MU_TRY(tokens_.expect_sign(","));
    if (tokens_.is_sign("]")) break;
    MU_ASSIGN(Expression * item, expression());
    node->operands.push_back(item);
  }
  MU_TRY(tokens_.expect_sign("]"));
  return finish(node);
}

Outcome<Expression*> ExpressionParser::dict() {
  auto* node = make(ExpressionKind::dict, tokens_.take().at);
  while (!tokens_.is_sign("}")) {
    if (!node->operands.empty()) MU_TRY(tokens_.expect_sign(","));
    if (tokens_.is_sign("}")) break;
    MU_ASSIGN(Expression * key, expression());
    MU_TRY(tokens_.expect_sign(":"));
    MU_ASSIGN(Expression * value, expression());
    node->operands.push_back(key);
    node->operands.push_back(value);
  }
  MU_TRY(tokens_.expect_sign("}"));
  return finish(node);
}

Outcome<Expression*> ExpressionParser::subscript(Expression* of) {
  const Token& sign = tokens_.take();
  if (sign.text == ".") {
    const Token& name = tokens_.take();
    if (name.type == TokenType::name) {
      auto* node = make(ExpressionKind::attribute, name.at);
      node->text = name.text;
      node->operands = {of};
      return finish(node);
    }
    if (name.type != TokenType::integer) return tokens_.fail("expected name or number", name.at);
    auto* index = make(ExpressionKind::constant, name.at);
    const std::optional<Value> number = parse_integer(std::string(name.text), 0, tokens_.heap());
    if (!number) return tokens_.fail("the number has too many digits", name.at, FailureKind::limit);
    index->constant = *number;
    auto* node = make(ExpressionKind::item, sign.at);
    node->operands = {of, index};
    return finish(node);
  }
  std::vector<Expression*> subscripts;
  while (!tokens_.is_sign("]")) {
    if (!subscripts.empty()) MU_TRY(tokens_.expect_sign(","));
    MU_ASSIGN(Expression * one, subscribed());
    subscripts.push_back(one);
  }
  MU_TRY(tokens_.expect_sign("]"));
  Expression* subscript = nullptr;
  if (subscripts.size() == 1) {
    subscript = subscripts.front();
  } else {
    subscript = make(ExpressionKind::tuple, sign.at);
    subscript->operands = std::move(subscripts);
    MU_TRY(finish(subscript));
  }
  auto* node = make(ExpressionKind::item, sign.at);
  node->operands = {of, subscript};
  return finish(node);
}

// Parses a subscript: an expression, or start:stop:step, each optional.
Outcome<Expression*> ExpressionParser::subscribed() {
  const std::size_t at = tokens_.current().at;
  std::vector<Expression*> parts(3, nullptr);
  if (!tokens_.is_sign(":")) {
    MU_ASSIGN(parts[0], expression());
    if (!tokens_.is_sign(":")) return parts[0];
  }
  tokens_.take();
  const auto at_end = [&] { return tokens_.is_sign("]") || tokens_.is_sign(","); };
  if (!tokens_.is_sign(":") && !at_end()) {
    MU_ASSIGN(parts[1], expression());
  }
  if (tokens_.skip_sign(":") && !at_end()) {
    MU_ASSIGN(parts[2], expression());
  }
  auto* node = make(ExpressionKind::slice, at);
  node->operands = std::move(parts);
  return finish(node);
}

}  // namespace modelutils::jinja
