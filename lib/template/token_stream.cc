#include "template/token_stream.h"

#include <fmt/core.h>

#include "template/python_text.h"

namespace modelutils::jinja {

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
