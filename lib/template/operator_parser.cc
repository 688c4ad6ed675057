// Parses operators, from lowest to highest precedence.
#include <algorithm>

#include "template/expression_parser.h"

namespace modelutils::jinja {

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
