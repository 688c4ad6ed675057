#include "tokenizer/byte_tokens.h"

#include <fmt/core.h>

#include "base/utf8.h"

namespace modelutils::tokenizer {

namespace {

int hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

constexpr bool stands_for_itself(u32 byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

}  // namespace

std::optional<u8> byte_token_value(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const int high = hex_digit(text[3]);
  const int low = hex_digit(text[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<u8>(high * 16 + low);
}

std::string byte_token(u8 byte) {
  return fmt::format("<0x{:02X}>", byte);
}

std::string byte_symbol(u8 byte) {
  char32_t symbol = byte;
  if (!stands_for_itself(byte)) {
    symbol = 0x100;
    for (u32 other = 0; other < byte; ++other) symbol += stands_for_itself(other) ? 0 : 1;
  }
  std::string text;
  append_utf8(text, symbol);
  return text;
}

}  // namespace modelutils::tokenizer
