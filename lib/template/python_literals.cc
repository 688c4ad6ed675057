#include "template/python_literals.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/types.h"
#include "base/utf8.h"
#include "template/expression_parser.h"
#include "template/python_text.h"

namespace modelutils::jinja {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

class Unescape {
 public:
  Unescape(std::string_view text, std::string& error) : text_(text), error_(error) {}

  std::optional<std::string> run() {
    while (at_ < text_.size()) {
      if (text_[at_] != '\\') {
        out_ += text_[at_++];
      } else if (!escape()) {
        return {};
      }
    }
    return std::move(out_);
  }

 private:
  // Decodes an escape. The lexer guarantees a character after the backslash.
  bool escape() {
    const char c = text_[at_ + 1];
    at_ += 2;
    switch (c) {
      case '\n': return true;
      case '\\':
      case '\'':
      case '"': out_ += c; return true;
      case 'a': out_ += '\a'; return true;
      case 'b': out_ += '\b'; return true;
      case 'f': out_ += '\f'; return true;
      case 'n': out_ += '\n'; return true;
      case 'r': out_ += '\r'; return true;
      case 't': out_ += '\t'; return true;
      case 'v': out_ += '\v'; return true;
      case 'x': return number(2, "truncated \\xXX escape");
      case 'u': return number(4, "truncated \\uXXXX escape");
      case 'U': return number(8, "truncated \\UXXXXXXXX escape");
      case 'N': error_ = "names of characters (\\N{…}) are not supported"; return false;
      default: break;
    }
    if (c >= '0' && c <= '7') return octal();
    if (static_cast<u8>(c) >= 0x80) return not_ascii();
    out_ += '\\';
    out_ += c;
    return true;
  }

  bool number(std::size_t size, const char* cut_off) {
    char32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const int digit = at_ < text_.size() ? hex_digit(text_[at_]) : -1;
      if (digit < 0) {
        error_ = cut_off;
        return false;
      }
      value = value * 16 + static_cast<char32_t>(digit);
      ++at_;
    }
    return append(value);
  }

  bool octal() {
    char32_t value = 0;
    --at_;
    for (int i = 0; i < 3 && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7'; ++i) {
      value = value * 8 + static_cast<char32_t>(text_[at_++] - '0');
    }
    return append(value);
  }

  // Jinja encodes non-ASCII characters as escapes before decoding all escapes, so a backslash before one escapes the
  // backslash of that escape.
  bool not_ascii() {
    const CodePoint point = decode_utf8(text_.substr(at_ - 1));
    at_ += point.size - 1;
    const u32 value = static_cast<u32>(point.value);
    out_ += value <= 0xff     ? fmt::format("\\x{:02x}", value)
            : value <= 0xffff ? fmt::format("\\u{:04x}", value)
                              : fmt::format("\\U{:08x}", value);
    return true;
  }

  bool append(char32_t value) {
    if (value > 0x10ffff) {
      error_ = "illegal Unicode character";
      return false;
    }
    if (value >= 0xd800 && value <= 0xdfff) {
      error_ = "surrogates in strings are not supported: no text can be encoded with them";
      return false;
    }
    append_utf8(out_, value);
    return true;
  }

  std::string_view text_;
  std::string& error_;
  std::string out_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::string> unescaped(std::string_view text, std::string& error) {
  return Unescape(text, error).run();
}

namespace {

constexpr std::size_t max_digits = 4300;

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
}

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

bool is_any_digit(char c) {
  return digit_value(c) != 99;
}

// Removes underscores between digits. Returns nullopt if one is elsewhere.
std::optional<std::string> without_underscores(std::string_view text, bool (*is_digit)(char)) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      return {};
    }
  }
  return digits;
}

// Replaces decimal digits of any script by ASCII digits. Returns nullopt if there is another non-ASCII character.
std::optional<std::string> in_ascii(std::string_view text) {
  std::string ascii;
  const bool is_number = each_character(text, [&](char32_t c, std::size_t, std::size_t) {
    if (c < 0x80) {
      ascii += static_cast<char>(c);
      return true;
    }
    const std::optional<int> digit = decimal_value(c);
    if (digit) ascii += static_cast<char>('0' + *digit);
    return digit.has_value();
  });
  return is_number ? std::optional(std::move(ascii)) : std::nullopt;
}

}  // namespace

std::optional<Value> parse_integer(std::string_view digits, int base, Heap& heap) {
  bool is_negative = false;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
    is_negative = digits[0] == '-';
    digits.remove_prefix(1);
  }
  if (digits.size() > 1 && digits[0] == '0') {
    const char mark = static_cast<char>(digits[1] | 0x20);
    const int marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (marked != 0 && (base == 0 || base == marked)) {
      base = marked;
      digits.remove_prefix(2);
    }
  }
  if (base == 0) {
    base = 10;
    if (digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of('0') != std::string_view::npos) return {};
  }
  if (digits.empty() || digits.size() > max_digits) return {};
  i64 value = 0;
  bool fits = true;
  for (const char c : digits) {
    const int digit = digit_value(c);
    if (digit >= base) return {};
    fits = fits && !__builtin_mul_overflow(value, i64{base}, &value) &&
           !__builtin_add_overflow(value, is_negative ? -i64{digit} : i64{digit}, &value);
  }
  if (fits) return Value::of(value);
  if (base != 10) return {};
  digits.remove_prefix(digits.find_first_not_of('0'));
  return Value::of(Kind::big, heap.make<Text>((is_negative ? "-" : "") + std::string(digits)));
}

std::optional<Value> integer_of_text(std::string_view text, int base, Heap& heap) {
  const std::optional<std::string> ascii = in_ascii(strip(text));
  const std::optional<std::string> digits = ascii ? without_underscores(*ascii, is_any_digit) : std::nullopt;
  if (!digits) return {};
  return parse_integer(*digits, base, heap);
}

std::optional<double> real_of_text(std::string_view text) {
  const std::optional<std::string> ascii = in_ascii(strip(text));
  const std::optional<std::string> digits = ascii ? without_underscores(*ascii, is_decimal) : std::nullopt;
  if (!digits || digits->empty()) return {};
  std::string_view rest = *digits;
  bool is_negative = false;
  if (rest[0] == '-' || rest[0] == '+') {
    is_negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  std::string word;
  for (const char c : rest.substr(0, 9)) word += static_cast<char>(c | 0x20);
  if (word == "inf" || word == "infinity") {
    return is_negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  // strtod() also accepts hexadecimal numbers.
  if (rest.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return {};
  return parse_real(*digits);
}

std::optional<double> parse_real(const std::string& digits) {
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  if (digits.empty() || end != digits.c_str() + digits.size()) return {};
  return value;
}

// Parses names, literals, brackets and subscripts.

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
