#include "tokenizer/read/tiktoken.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "base/escape.h"
#include "tokenizer/byte_tokens.h"
#include "tokenizer/read/text_lines.h"

namespace modelutils::tokenizer {

namespace {

// Joining is quadratic in a token's length; real tokens have at most some hundred bytes.
constexpr std::size_t max_token_bytes = 4096;
constexpr u64 max_total_square = u64{1} << 32;

using Ranks = std::unordered_map<std::string_view, u32>;

std::string symbols(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += byte_symbol(static_cast<u8>(c));
  return text;
}

// Returns the position at which `token` consists of two parts before the last join; nullopt if joining by the ranks
// below its own leaves more than two parts.
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

Status RankedTokens::add(u64 rank, std::string bytes) {
  if (rank >= rows_) {
    return input_error("hf-tok-id-range",
                       fmt::format("the rank {} is not below {}, the rows of the embedding", rank, rows_));
  }
  const auto bad = [](std::string message) { return input_error("hf-tok-tiktoken", std::move(message)); };
  if (bytes.empty() || bytes.size() > max_token_bytes) {
    return bad(fmt::format("has {} bytes, 1 to {} are supported", bytes.size(), max_token_bytes));
  }
  total_square_ += u64{bytes.size()} * bytes.size();
  if (total_square_ > max_total_square) return bad("the tokens are longer than those of any real vocabulary");
  if (rank >= bytes_.size()) bytes_.resize(static_cast<std::size_t>(rank) + 1);
  std::string& place = bytes_[static_cast<std::size_t>(rank)];
  if (!place.empty()) return bad(fmt::format("the rank {} appears twice", rank));
  place = std::move(bytes);
  return {};
}

Result<TiktokenVocabulary> RankedTokens::finish() const {
  Ranks ranks;
  ranks.reserve(bytes_.size());
  for (std::size_t rank = 0; rank < bytes_.size(); ++rank) {
    if (!bytes_[rank].empty()) ranks.emplace(bytes_[rank], static_cast<u32>(rank));
  }
  TiktokenVocabulary vocabulary;
  vocabulary.tokens.resize(bytes_.size());
  for (std::size_t rank = 0; rank < bytes_.size(); ++rank) {
    const std::string_view token = bytes_[rank];
    vocabulary.tokens[rank] = symbols(token);
    if (token.size() < 2) continue;
    const auto seam = last_seam(token, static_cast<u32>(rank), ranks);
    if (!seam || ranks.count(token.substr(0, *seam)) == 0 || ranks.count(token.substr(*seam)) == 0) {
      return input_error("hf-tok-tiktoken", "the token cannot be built from two tokens of lower rank",
                         fmt::format("rank {}", rank));
    }
    vocabulary.merges.push_back(symbols(token.substr(0, *seam)) + ' ' + symbols(token.substr(*seam)));
  }
  return vocabulary;
}

Result<TiktokenVocabulary> parse_tiktoken(std::string_view text, u64 rows) {
  RankedTokens tokens(rows);
  MU_TRY(each_line(text, [&](std::string_view line) -> Status {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view digits = line.substr(std::min(space + 1, line.size()));
    u64 rank = 0;
    const char* last = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), last, rank);
    auto token = decode_base64(line.substr(0, space));
    if (!token || error != std::errc() || at != last) {
      return input_error("hf-tok-tiktoken", "must be base64, a space and a rank");
    }
    return tokens.add(rank, std::move(*token));
  }));
  return tokens.finish();
}

}  // namespace modelutils::tokenizer
