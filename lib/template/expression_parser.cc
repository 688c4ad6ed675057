#include "template/expression_parser.h"

#include <fmt/core.h>

#include <algorithm>

namespace modelutils::jinja {

namespace {

bool is_constant_name(std::string_view name) {
  return name == "true" || name == "false" || name == "none" || name == "True" || name == "False" || name == "None";
}

}  // namespace

Expression* ExpressionParser::make(ExpressionKind kind, std::size_t at) {
  auto* expression = tokens_.heap().make<Expression>();
  expression->kind = kind;
  expression->at = at;
  return expression;
}

// Sets a node's depth; its children must be complete. Fails if it is too deep.
Outcome<Expression*> ExpressionParser::finish(Expression* expression) {
  const auto below = [&](const Expression* child) {
    if (child != nullptr) expression->depth = std::max(expression->depth, child->depth + 1);
  };
  for (const Expression* child : expression->operands) below(child);
  for (const Expression* child : expression->arguments.positional) below(child);
  for (const auto& [name, child] : expression->arguments.named) below(child);
  below(expression->arguments.rest);
  below(expression->arguments.rest_named);
  if (expression->depth > max_expression_depth) {
    return tokens_.fail("the expression nests too deeply", expression->at, FailureKind::limit);
  }
  return expression;
}

Outcome<Expression*> ExpressionParser::postfix(Expression* of) {
  while (true) {
    if (tokens_.is_sign(".") || tokens_.is_sign("[")) {
      MU_ASSIGN(of, subscript(of));
    } else if (tokens_.is_sign("(")) {
      MU_ASSIGN(of, call(of));
    } else {
      return of;
    }
  }
}

Outcome<Expression*> ExpressionParser::filtered(Expression* of) {
  while (true) {
    if (tokens_.is_sign("|")) {
      MU_ASSIGN(of, filters(of));
    } else if (tokens_.is_name("is")) {
      MU_ASSIGN(of, test(of));
    } else if (tokens_.is_sign("(")) {
      MU_ASSIGN(of, call(of));
    } else {
      return of;
    }
  }
}

Outcome<Expression*> ExpressionParser::call(Expression* of) {
  auto* node = make(ExpressionKind::call, tokens_.current().at);
  node->operands = {of};
  MU_TRY(arguments(node->arguments));
  return finish(node);
}

Outcome<std::string_view> ExpressionParser::dotted_name() {
  MU_ASSIGN(const Token token, tokens_.expect(TokenType::name));
  if (!tokens_.is_sign(".")) return token.text;
  std::string name(token.text);
  while (tokens_.skip_sign(".")) {
    MU_ASSIGN(const Token part, tokens_.expect(TokenType::name));
    name += '.';
    name += part.text;
  }
  return std::string_view(tokens_.heap().make<Text>(std::move(name))->bytes);
}

Outcome<Expression*> ExpressionParser::filters(Expression* input, bool inline_first) {
  while (tokens_.is_sign("|") || inline_first) {
    if (!inline_first) tokens_.take();
    inline_first = false;
    auto* node = make(ExpressionKind::filter, tokens_.current().at);
    MU_ASSIGN(node->text, dotted_name());
    node->operands = {input};
    if (tokens_.is_sign("(")) MU_TRY(arguments(node->arguments));
    MU_ASSIGN(input, finish(node));
  }
  return input;
}

Outcome<Expression*> ExpressionParser::test(Expression* of) {
  const std::size_t at = tokens_.take().at;
  const bool is_negated = tokens_.skip_name("not");
  auto* node = make(ExpressionKind::test, at);
  MU_ASSIGN(node->text, dotted_name());
  node->operands = {of};
  const Token& next = tokens_.current();
  const bool begins_argument = next.type == TokenType::name || next.type == TokenType::string ||
                               next.type == TokenType::integer || next.type == TokenType::real ||
                               TokenStream::is_sign(next, "[") || TokenStream::is_sign(next, "{");
  if (tokens_.is_sign("(")) {
    MU_TRY(arguments(node->arguments));
  } else if (begins_argument && !tokens_.is_name("else") && !tokens_.is_name("or") && !tokens_.is_name("and")) {
    if (tokens_.is_name("is")) return tokens_.fail("You cannot chain multiple tests with is", next.at);
    MU_ASSIGN(Expression * argument, primary());
    MU_ASSIGN(argument, postfix(argument));
    node->arguments.positional.push_back(argument);
  }
  MU_TRY(finish(node));
  if (!is_negated) return node;
  auto* negation = make(ExpressionKind::negation, at);
  negation->operands = {node};
  return finish(negation);
}

Outcome<void> ExpressionParser::arguments(ArgumentList& list) {
  const std::size_t at = tokens_.current().at;
  MU_TRY(tokens_.expect_sign("("));
  bool is_first = true;
  const auto invalid = [&] { return tokens_.fail("invalid syntax for function call expression", at); };
  while (!tokens_.is_sign(")")) {
    if (!is_first) {
      MU_TRY(tokens_.expect_sign(","));
      if (tokens_.is_sign(")")) break;
    }
    is_first = false;
    if (tokens_.is_sign("*")) {
      if (list.rest != nullptr || list.rest_named != nullptr) return invalid();
      tokens_.take();
      MU_ASSIGN(list.rest, expression());
    } else if (tokens_.is_sign("**")) {
      if (list.rest_named != nullptr) return invalid();
      tokens_.take();
      MU_ASSIGN(list.rest_named, expression());
    } else if (tokens_.is(TokenType::name) && TokenStream::is_sign(tokens_.after(), "=")) {
      if (list.rest_named != nullptr) return invalid();
      const std::string_view name = tokens_.take().text;
      tokens_.take();
      MU_ASSIGN(Expression * value, expression());
      list.named.emplace_back(name, value);
    } else {
      if (list.rest != nullptr || list.rest_named != nullptr || !list.named.empty()) return invalid();
      MU_ASSIGN(Expression * value, expression());
      list.positional.push_back(value);
    }
  }
  MU_TRY(tokens_.expect_sign(")"));
  return {};
}

Outcome<Expression*> ExpressionParser::name_target() {
  MU_ASSIGN(const Token token, tokens_.expect(TokenType::name));
  auto* node = make(ExpressionKind::name, token.at);
  node->text = token.text;
  MU_TRY(store(node));
  return node;
}

Outcome<Expression*> ExpressionParser::target(std::string_view end, bool or_member) {
  if (or_member && TokenStream::is_sign(tokens_.after(), ".")) {
    MU_ASSIGN(const Token name, tokens_.expect(TokenType::name));
    tokens_.take();
    MU_ASSIGN(const Token attribute, tokens_.expect(TokenType::name));
    auto* node = make(ExpressionKind::member, name.at);
    auto* of = make(ExpressionKind::name, name.at);
    of->text = name.text;
    node->operands = {of};
    node->text = attribute.text;
    return finish(node);
  }
  MU_ASSIGN(Expression * node, tuple(Items::primaries, end));
  MU_TRY(store(node));
  return node;
}

Outcome<void> ExpressionParser::store(Expression* target) {
  if (target->kind == ExpressionKind::name && !is_constant_name(target->text)) {
    target->is_store = true;
    return {};
  }
  if (target->kind == ExpressionKind::tuple) {
    for (Expression* item : target->operands) MU_TRY(store(item));
    return {};
  }
  return tokens_.fail("can't assign to this", target->at);
}

// Parses operators, from lowest to highest precedence.

namespace {

struct BinarySign {
  std::string_view sign;
  ExpressionKind kind;
};
constexpr BinarySign sum_signs[] = {{"+", ExpressionKind::add}, {"-", ExpressionKind::subtract}};
constexpr BinarySign product_signs[] = {{"*", ExpressionKind::multiply},
                                        {"/", ExpressionKind::divide},
                                        {"//", ExpressionKind::floor_divide},
                                        {"%", ExpressionKind::modulo}};
constexpr BinarySign power_signs[] = {{"**", ExpressionKind::power}};

struct ComparisonSign {
  std::string_view sign;
  Comparison comparison;
};
constexpr ComparisonSign comparison_signs[] = {{"==", Comparison::equal},  {"!=", Comparison::not_equal},
                                               {"<", Comparison::less},    {"<=", Comparison::less_equal},
                                               {">", Comparison::greater}, {">=", Comparison::greater_equal}};

template <std::size_t N>
const BinarySign* find_sign(const BinarySign (&signs)[N], const Token& token) {
  if (token.type != TokenType::sign) return nullptr;
  const auto found = std::find_if(signs, signs + N, [&](const BinarySign& one) { return one.sign == token.text; });
  return found == signs + N ? nullptr : found;
}

}  // namespace

// Counts the parser's recursion depth.
class ExpressionParser::Nested {
 public:
  explicit Nested(u32& depth) : depth_(depth) { ++depth_; }
  ~Nested() { --depth_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  u32& depth_;
};

Outcome<Expression*> ExpressionParser::expression(bool with_choice) {
  return with_choice ? choice() : either();
}

Outcome<Expression*> ExpressionParser::choice() {
  std::size_t at = tokens_.current().at;
  MU_ASSIGN(Expression * value, either());
  while (tokens_.skip_name("if")) {
    auto* node = make(ExpressionKind::choice, at);
    MU_ASSIGN(Expression * test, either());
    Expression* otherwise = nullptr;
    if (tokens_.skip_name("else")) {
      const Nested nested(nested_);
      if (nested_ > max_expression_depth) {
        return tokens_.fail("the expression nests too deeply", at, FailureKind::limit);
      }
      MU_ASSIGN(otherwise, choice());
    }
    node->operands = {test, value, otherwise};
    MU_ASSIGN(value, finish(node));
    at = tokens_.current().at;
  }
  return value;
}

Outcome<Expression*> ExpressionParser::either() {
  MU_ASSIGN(Expression * left, both());
  while (tokens_.is_name("or")) {
    auto* node = make(ExpressionKind::either, tokens_.take().at);
    MU_ASSIGN(Expression * right, both());
    node->operands = {left, right};
    MU_ASSIGN(left, finish(node));
  }
  return left;
}

Outcome<Expression*> ExpressionParser::both() {
  MU_ASSIGN(Expression * left, negation());
  while (tokens_.is_name("and")) {
    auto* node = make(ExpressionKind::both, tokens_.take().at);
    MU_ASSIGN(Expression * right, negation());
    node->operands = {left, right};
    MU_ASSIGN(left, finish(node));
  }
  return left;
}

Outcome<Expression*> ExpressionParser::negation() {
  if (!tokens_.is_name("not")) return comparison();
  const Nested nested(nested_);
  auto* node = make(ExpressionKind::negation, tokens_.take().at);
  if (nested_ > max_expression_depth) {
    return tokens_.fail("the expression nests too deeply", node->at, FailureKind::limit);
  }
  MU_ASSIGN(Expression * of, negation());
  node->operands = {of};
  return finish(node);
}

Outcome<Expression*> ExpressionParser::comparison() {
  MU_ASSIGN(Expression * first, sum());
  Expression* node = nullptr;
  while (true) {
    const Token& token = tokens_.current();
    const auto sign = std::find_if(std::begin(comparison_signs), std::end(comparison_signs),
                                   [&](const ComparisonSign& one) { return TokenStream::is_sign(token, one.sign); });
    Comparison comparison = Comparison::in;
    const std::size_t at = token.at;
    if (sign != std::end(comparison_signs)) {
      comparison = sign->comparison;
      tokens_.take();
    } else if (tokens_.is_name("not") && TokenStream::is_name(tokens_.after(), "in")) {
      comparison = Comparison::not_in;
      tokens_.take();
      tokens_.take();
    } else if (!tokens_.skip_name("in")) {
      return node == nullptr ? first : finish(node);
    }
    if (node == nullptr) {
      node = make(ExpressionKind::compare, at);
      node->operands = {first};
    }
    MU_ASSIGN(Expression * next, sum());
    node->comparisons.push_back(comparison);
    node->operands.push_back(next);
  }
}

Outcome<Expression*> ExpressionParser::sum() {
  MU_ASSIGN(Expression * left, concat());
  while (const BinarySign* sign = find_sign(sum_signs, tokens_.current())) {
    auto* node = make(sign->kind, tokens_.take().at);
    MU_ASSIGN(Expression * right, concat());
    node->operands = {left, right};
    MU_ASSIGN(left, finish(node));
  }
  return left;
}

Outcome<Expression*> ExpressionParser::concat() {
  MU_ASSIGN(Expression * first, product());
  if (!tokens_.is_sign("~")) return first;
  auto* node = make(ExpressionKind::concat, tokens_.current().at);
  node->operands = {first};
  while (tokens_.skip_sign("~")) {
    MU_ASSIGN(Expression * next, product());
    node->operands.push_back(next);
  }
  return finish(node);
}

Outcome<Expression*> ExpressionParser::product() {
  MU_ASSIGN(Expression * left, power());
  while (const BinarySign* sign = find_sign(product_signs, tokens_.current())) {
    auto* node = make(sign->kind, tokens_.take().at);
    MU_ASSIGN(Expression * right, power());
    node->operands = {left, right};
    MU_ASSIGN(left, finish(node));
  }
  return left;
}

Outcome<Expression*> ExpressionParser::power() {
  MU_ASSIGN(Expression * left, unary());
  while (const BinarySign* sign = find_sign(power_signs, tokens_.current())) {
    auto* node = make(sign->kind, tokens_.take().at);
    MU_ASSIGN(Expression * right, unary());
    node->operands = {left, right};
    MU_ASSIGN(left, finish(node));
  }
  return left;
}

Outcome<Expression*> ExpressionParser::unary(bool with_filter) {
  const Nested nested(nested_);
  if (nested_ > max_expression_depth) {
    return tokens_.fail("the expression nests too deeply", tokens_.current().at, FailureKind::limit);
  }
  Expression* node = nullptr;
  if (tokens_.is_sign("-") || tokens_.is_sign("+")) {
    const Token& sign = tokens_.take();
    node = make(sign.text == "-" ? ExpressionKind::minus : ExpressionKind::plus, sign.at);
    MU_ASSIGN(Expression * of, unary(false));
    node->operands = {of};
    MU_TRY(finish(node));
  } else {
    MU_ASSIGN(node, primary());
  }
  MU_ASSIGN(node, postfix(node));
  if (!with_filter) return node;
  return filtered(node);
}

}  // namespace modelutils::jinja
