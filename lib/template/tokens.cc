#include "template/tokens.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "template/python_literals.h"
#include "template/python_text.h"

namespace modelutils::jinja {

std::string normalized(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  while (true) {
    const std::size_t end = std::min(source.find('\r'), source.size());
    text += source.substr(0, end);
    if (end == source.size()) break;
    source.remove_prefix(end + 1);
    if (!source.starts_with('\n')) text += '\n';
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string Position::text() const {
  return fmt::format("line {}, column {}", line, column);
}

Position position(std::string_view source, std::size_t at) {
  const std::string_view before = source.substr(0, std::min(at, source.size()));
  Position result;
  result.line += static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
  result.column += static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<u8>(c) & 0xc0) != 0x80; }));
  return result;
}

std::size_t original_offset(std::string_view original, std::size_t at) {
  std::size_t place = 0;
  for (; at > 0 && place < original.size(); --at, ++place) {
    if (original.substr(place).starts_with("\r\n")) ++place;
  }
  return place;
}

namespace {

bool is_digit_byte(char c) {
  return c >= '0' && c <= '9';
}

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit_byte(c);
}

class Lexer {
 public:
  Lexer(std::string_view source, Heap& heap) : source_(source), heap_(heap) {}

  Outcome<std::vector<Token>> run() {
    tokens_.reserve(std::min<std::size_t>(source_.size() / 4, 8192));  // typical for templates
    while (at_ < source_.size()) {
      MU_TRY(text());
    }
    add(TokenType::end, source_.size(), {});
    return std::move(tokens_);
  }

 private:
  tl::unexpected<Failure*> fail(std::string message, std::size_t at, FailureKind kind = FailureKind::syntax) {
    auto* failure = heap_.make<Failure>(kind, std::move(message));
    failure->at = at;
    return tl::make_unexpected(failure);
  }

  // Returns the character at `at_`, with a fast path for ASCII.
  CodePoint character() const {
    const u8 byte = static_cast<u8>(source_[at_]);
    return byte < 0x80 ? CodePoint{byte, 1, true} : decode_utf8(source_.substr(at_));
  }

  void add(TokenType type, std::size_t at, std::string_view text) { tokens_.push_back({type, text, at}); }

  void skip_spaces() {
    while (at_ < source_.size() && (source_[at_] == ' ' || source_[at_] == '\n')) ++at_;  // the common characters
    while (at_ < source_.size()) {
      const CodePoint point = character();
      if (!is_space(point.value)) return;
      at_ += point.size;
    }
  }

  // Applies whitespace control to the text before a tag: '-' strips whitespace at its end; lstrip_blocks strips
  // whitespace before a tag that starts its line.
  std::string_view before_tag(std::size_t begin, std::size_t end, char sign, bool strips_line) const {
    const std::string_view text = source_.substr(begin, end - begin);
    if (sign == '-') return strip(text, Side::right);
    if (sign == '+' || !strips_line) return text;
    const std::size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
    const bool begins_line = line > 0 || begin == 0 || source_[begin - 1] == '\n';
    if (begins_line && strip(text.substr(line)).empty()) return text.substr(0, line);
    return text;
  }

  void add_data(std::size_t at, std::string_view text) {
    if (!text.empty()) add(TokenType::data, at, text);
  }

  char sign_at(std::size_t at) const {
    return at < source_.size() && (source_[at] == '-' || source_[at] == '+') ? source_[at] : '\0';
  }

  // Consumes `word` and surrounding whitespace in a raw or endraw tag.
  bool take_word(std::string_view word) {
    skip_spaces();
    if (!source_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    skip_spaces();
    return true;
  }

  // Reads the text up to the next tag, and the tag.
  Outcome<void> text() {
    const std::size_t begin = at_;
    std::size_t tag = source_.find('{', begin);
    while (tag != std::string_view::npos && (tag + 1 == source_.size() || !is_tag(source_[tag + 1]))) {
      tag = source_.find('{', tag + 1);
    }
    if (tag == std::string_view::npos) {
      add_data(begin, source_.substr(begin));
      at_ = source_.size();
      return {};
    }
    const char type = source_[tag + 1];
    const char sign = sign_at(tag + 2);
    add_data(begin, before_tag(begin, tag, sign, type != '{'));
    at_ = tag + 2 + (sign != '\0' ? 1 : 0);
    if (type == '#') return comment(tag);
    if (type == '%' && is_raw()) return raw(tag);
    add(type == '%' ? TokenType::block_begin : TokenType::variable_begin, tag, source_.substr(tag, 2));
    return tag_tokens(type);
  }

  static bool is_tag(char c) { return c == '{' || c == '%' || c == '#'; }

  // Consumes the end of a block or comment (`mark` and '}') at `at_`, and the whitespace that it strips.
  bool take_end(char mark) {
    const std::string_view rest = source_.substr(at_);
    const std::array<char, 2> plain = {mark, '}'};
    const std::string_view end(plain.data(), plain.size());
    if (!rest.empty() && (rest[0] == '-' || rest[0] == '+') && rest.substr(1).starts_with(end)) {
      at_ += 3;
      if (rest[0] == '-') skip_spaces();
      return true;
    }
    if (!rest.starts_with(end)) return false;
    at_ += 2;
    if (at_ < source_.size() && source_[at_] == '\n') ++at_;
    return true;
  }

  Outcome<void> comment(std::size_t tag) {
    if (at_ == source_.size()) return {};  // as in Jinja
    while (at_ < source_.size()) {
      if (take_end('#')) return {};
      ++at_;
    }
    return fail("Missing end of comment tag", tag);
  }

  // Consumes "raw %}" at the start of a block. Only whitespace and '-' may surround the word.
  bool is_raw() {
    const std::size_t begin = at_;
    if (take_word("raw")) {
      const bool strips = source_.substr(at_).starts_with("-%}");
      if (strips || source_.substr(at_).starts_with("%}")) {
        at_ += strips ? 3 : 2;
        if (strips) skip_spaces();
        return true;
      }
    }
    at_ = begin;
    return false;
  }

  Outcome<void> raw(std::size_t tag) {
    const std::size_t begin = at_;
    if (begin == source_.size()) return {};  // as in Jinja
    for (std::size_t end = source_.find("{%", begin); end != std::string_view::npos;
         end = source_.find("{%", end + 1)) {
      const char sign = sign_at(end + 2);
      at_ = end + 2 + (sign != '\0' ? 1 : 0);
      if (!take_word("endraw") || !take_end('%')) continue;
      add_data(begin, before_tag(begin, end, sign, true));
      return {};
    }
    return fail("Missing end of raw directive", tag);
  }

  // Reads tokens up to the end of the tag. "}}" and "%}" within brackets do not end it.
  Outcome<void> tag_tokens(char type) {
    std::string open;  // closing brackets still expected
    while (true) {
      skip_spaces();
      if (at_ == source_.size()) return {};  // the parser reports the missing end
      const std::size_t begin = at_;
      if (open.empty()) {
        if (type == '%' && take_end('%')) {
          add(TokenType::block_end, begin, "%}");
          return {};
        }
        if (type == '{' && take_variable_end()) {
          add(TokenType::variable_end, begin, "}}");
          return {};
        }
      }
      MU_TRY(token(open));
    }
  }

  bool take_variable_end() {
    const std::string_view rest = source_.substr(at_);
    if (rest.starts_with("-}}")) {
      at_ += 3;
      skip_spaces();
      return true;
    }
    if (!rest.starts_with("}}")) return false;
    at_ += 2;
    return true;
  }

  Outcome<void> token(std::string& open) {
    const char c = source_[at_];
    if (is_digit_byte(c)) return number();
    if (c == '\'' || c == '"') return string();
    if (is_word_byte(c) || is_word(character().value)) return name();
    return sign(open);
  }

  Outcome<void> name() {
    const std::size_t begin = at_;
    bool is_valid = is_name_start(character().value);
    while (at_ < source_.size()) {
      if (is_word_byte(source_[at_])) {
        ++at_;
        continue;
      }
      const CodePoint point = character();
      if (!is_word(point.value)) break;
      is_valid = is_valid && is_name_part(point.value);
      at_ += point.size;
    }
    if (!is_valid) return fail("Invalid character in identifier", begin);
    add(TokenType::name, begin, source_.substr(begin, at_ - begin));
    return {};
  }

  // Returns the end of the digits at `at`, which may have single underscores between them.
  template <typename IsDigit>
  std::size_t digits(std::size_t at, const IsDigit& is_one) const {
    while (at < source_.size()) {
      if (is_one(source_[at])) {
        ++at;
      } else if (source_[at] == '_' && at + 1 < source_.size() && is_one(source_[at + 1])) {
        at += 2;
      } else {
        break;
      }
    }
    return at;
  }

  Outcome<void> number() {
    const std::size_t begin = at_;
    const bool follows_dot = begin > 0 && source_[begin - 1] == '.';
    std::size_t end = digits(begin, is_digit_byte);
    bool is_real = false;
    if (!follows_dot) {
      const auto digit_at = [&](std::size_t at) { return at < source_.size() && is_digit_byte(source_[at]); };
      if (end < source_.size() && source_[end] == '.' && digit_at(end + 1)) {
        end = digits(end + 1, is_digit_byte);
        is_real = true;
      }
      if (end < source_.size() && (source_[end] | 0x20) == 'e') {
        const std::size_t sign = sign_at(end + 1) != '\0' ? 1 : 0;
        if (digit_at(end + 1 + sign)) {
          end = digits(end + 1 + sign, is_digit_byte);
          is_real = true;
        }
      }
    }
    if (!is_real) end = integer_end(begin);
    at_ = end;
    add(is_real ? TokenType::real : TokenType::integer, begin, source_.substr(begin, end - begin));
    return {};
  }

  std::size_t integer_end(std::size_t begin) const {
    if (source_[begin] != '0') return digits(begin, is_digit_byte);
    const char base = begin + 1 < source_.size() ? static_cast<char>(source_[begin + 1] | 0x20) : '\0';
    const auto with_base = [&](const auto& is_one) {
      const std::size_t first = begin + 2 + (begin + 2 < source_.size() && source_[begin + 2] == '_' ? 1 : 0);
      const std::size_t end = digits(first, is_one);
      return end > first ? end : begin + 1;
    };
    if (base == 'b') return with_base([](char c) { return c == '0' || c == '1'; });
    if (base == 'o') return with_base([](char c) { return c >= '0' && c <= '7'; });
    if (base == 'x') {
      return with_base([](char c) { return is_digit_byte(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); });
    }
    return digits(begin, [](char c) { return c == '0'; });
  }

  Outcome<void> string() {
    const std::size_t begin = at_;
    const char quote = source_[begin];
    std::size_t end = begin + 1;
    bool has_escapes = false;
    while (end < source_.size() && source_[end] != quote) {
      has_escapes = has_escapes || source_[end] == '\\';
      end += source_[end] == '\\' ? 2 : 1;
    }
    if (end >= source_.size()) {
      return fail(fmt::format("unexpected char {} at {}", quote == '"' ? "'\"'" : "\"'\"",
                              characters_of(source_.substr(0, begin))),
                  begin);
    }
    const std::string_view inside = source_.substr(begin + 1, end - begin - 1);
    at_ = end + 1;
    if (!has_escapes) {
      add(TokenType::string, begin, inside);
      return {};
    }
    std::string error;
    std::optional<std::string> text = unescaped(inside, error);
    if (!text) return fail(std::move(error), begin);
    add(TokenType::string, begin, heap_.make<Text>(std::move(*text))->bytes);
    return {};
  }

  Outcome<void> sign(std::string& open) {
    constexpr std::string_view twos[] = {"//", "**", "==", "!=", ">=", "<="};
    constexpr std::string_view ones = "+-/*%~[](){}><=.:|,;";
    const std::string_view rest = source_.substr(at_);
    const bool is_two =
        std::any_of(std::begin(twos), std::end(twos), [&](std::string_view two) { return rest.starts_with(two); });
    if (!is_two && ones.find(rest[0]) == std::string_view::npos) {
      const CodePoint point = decode_utf8(rest);
      std::string shown;
      append_repr(shown, rest.substr(0, point.size));
      return fail(fmt::format("unexpected char {} at {}", shown, characters_of(source_.substr(0, at_))), at_);
    }
    MU_TRY(balance(rest[0], open));
    add(TokenType::sign, at_, rest.substr(0, is_two ? 2 : 1));
    at_ += is_two ? 2 : 1;
    return {};
  }

  Outcome<void> balance(char c, std::string& open) {
    if (c == '(') open += ')';
    if (c == '[') open += ']';
    if (c == '{') open += '}';
    if (c != ')' && c != ']' && c != '}') return {};
    if (open.empty()) return fail(fmt::format("unexpected '{}'", c), at_);
    if (open.back() != c) return fail(fmt::format("unexpected '{}', expected '{}'", c, open.back()), at_);
    open.pop_back();
    return {};
  }

  std::string_view source_;
  Heap& heap_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace

Outcome<std::vector<Token>> tokenize(std::string_view source, Heap& heap) {
  return Lexer(source, heap).run();
}

namespace {

std::string_view type_name(TokenType type) {
  switch (type) {
    case TokenType::data: return "template data / text";
    case TokenType::block_begin: return "begin of statement block";
    case TokenType::block_end: return "end of statement block";
    case TokenType::variable_begin: return "begin of print statement";
    case TokenType::variable_end: return "end of print statement";
    case TokenType::name: return "name";
    case TokenType::string: return "string";
    case TokenType::integer: return "integer";
    case TokenType::real: return "float";
    case TokenType::sign: return "operator";
    case TokenType::end: return "end of template";
  }
  return "token";
}

}  // namespace

std::string described(const Token& token) {
  constexpr std::size_t most = 60;  // maximum number of characters shown in a message
  const bool is_shown = token.type == TokenType::name || token.type == TokenType::string ||
                        token.type == TokenType::integer || token.type == TokenType::real ||
                        token.type == TokenType::sign;
  return std::string(is_shown ? token.text.substr(0, bytes_of(token.text, most)) : type_name(token.type));
}

Outcome<Token> TokenStream::expect(TokenType type) {
  if (!is(type)) return fail_expected(type_name(type));
  return take();
}

Outcome<Token> TokenStream::expect_sign(std::string_view sign) {
  if (!is_sign(sign)) return fail_expected(sign);
  return take();
}

Outcome<Token> TokenStream::expect_name(std::string_view name) {
  if (!is_name(name)) return fail_expected(name);
  return take();
}

tl::unexpected<Failure*> TokenStream::fail(std::string message, std::size_t at, FailureKind kind) {
  auto* failure = heap_.make<Failure>(kind, std::move(message));
  failure->at = at;
  return tl::make_unexpected(failure);
}

tl::unexpected<Failure*> TokenStream::fail_expected(std::string_view what) {
  if (is(TokenType::end)) return fail(fmt::format("unexpected end of template, expected '{}'.", what), current().at);
  return fail(fmt::format("expected token '{}', got '{}'", what, described(current())), current().at);
}

tl::unexpected<Failure*> TokenStream::fail_unexpected() {
  return fail(fmt::format("unexpected '{}'", described(current())), current().at);
}

}  // namespace modelutils::jinja
