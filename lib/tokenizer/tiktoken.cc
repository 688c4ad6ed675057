#include "tokenizer/tiktoken.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "tokenizer/byte_tokens.h"

namespace modelutils::tokenizer {

namespace {

// Joining is quadratic in the length of a token; real ones have at most some hundred bytes.
constexpr std::size_t max_token_bytes = 4096;
constexpr u64 max_total_square = u64{1} << 32;

using Ranks = std::unordered_map<std::string_view, u32>;

std::optional<std::string> decode_base64(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  u32 bits = 0, number = 0;
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  for (const char c : text) {
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6) | static_cast<u32>(digit);
    number += 6;
    if (number < 8) continue;
    number -= 8;
    bytes += static_cast<char>((bits >> number) & 0xFF);
  }
  return bytes.empty() ? std::nullopt : std::optional(bytes);
}

std::string symbols(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += byte_symbol(static_cast<u8>(c));
  return text;
}

// Where the last of the joins that make `token` has its seam; nothing if the ranks below its own leave more than two
// parts.
std::optional<std::size_t> last_seam(std::string_view token, u32 rank, const Ranks& ranks) {
  std::vector<std::size_t> starts;  // of the parts
  for (std::size_t i = 0; i <= token.size(); ++i) starts.push_back(i);
  while (starts.size() > 3) {
    std::size_t best = 0;
    u32 lowest = rank;
    for (std::size_t i = 0; i + 2 < starts.size(); ++i) {
      const auto joined = ranks.find(token.substr(starts[i], starts[i + 2] - starts[i]));
      if (joined == ranks.end() || joined->second >= lowest) continue;
      lowest = joined->second;
      best = i + 1;
    }
    if (best == 0) return std::nullopt;
    starts.erase(starts.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return starts[1];
}

}  // namespace

Result<TiktokenVocabulary> parse_tiktoken(std::string_view text, u64 rows) {
  std::vector<std::string> bytes;
  u64 line_number = 0, total_square = 0;
  const auto bad = [&](std::string message) {
    return input_error("hf-tok-tiktoken", std::move(message), fmt::format("line {}", line_number));
  };
  while (!text.empty()) {
    ++line_number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return bad("must be base64, a space and a rank");
    u64 rank = 0;
    const char* last = line.data() + line.size();
    const auto [at, error] = std::from_chars(line.data() + space + 1, last, rank);
    auto token = decode_base64(line.substr(0, space));
    if (!token || error != std::errc() || at != last) return bad("must be base64, a space and a rank");
    if (rank >= rows) {
      return input_error("hf-tok-id-range",
                         fmt::format("the rank {} is not below {}, the rows of the embedding", rank, rows),
                         fmt::format("line {}", line_number));
    }
    if (token->size() > max_token_bytes)
      return bad(fmt::format("has {} bytes, at most {} are supported", token->size(), max_token_bytes));
    total_square += u64{token->size()} * token->size();
    if (total_square > max_total_square) return bad("the tokens are longer than those of any real vocabulary");
    if (rank >= bytes.size()) bytes.resize(static_cast<std::size_t>(rank) + 1);
    if (!bytes[static_cast<std::size_t>(rank)].empty()) return bad(fmt::format("the rank {} is there twice", rank));
    bytes[static_cast<std::size_t>(rank)] = std::move(*token);
  }
  Ranks ranks;
  ranks.reserve(bytes.size());
  for (std::size_t rank = 0; rank < bytes.size(); ++rank) {
    if (!bytes[rank].empty()) ranks.emplace(bytes[rank], static_cast<u32>(rank));
  }
  TiktokenVocabulary vocabulary;
  vocabulary.tokens.resize(bytes.size());
  for (std::size_t rank = 0; rank < bytes.size(); ++rank) {
    const std::string_view token = bytes[rank];
    vocabulary.tokens[rank] = symbols(token);
    if (token.size() < 2) continue;
    const auto seam = last_seam(token, static_cast<u32>(rank), ranks);
    if (!seam || ranks.count(token.substr(0, *seam)) == 0 || ranks.count(token.substr(*seam)) == 0) {
      return input_error("hf-tok-tiktoken", "the token cannot be made of two of lower rank",
                         fmt::format("rank {}", rank));
    }
    vocabulary.merges.push_back(symbols(token.substr(0, *seam)) + ' ' + symbols(token.substr(*seam)));
  }
  return vocabulary;
}

}  // namespace modelutils::tokenizer
