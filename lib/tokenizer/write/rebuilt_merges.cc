// Rebuilds the merges of a SentencePiece vocabulary, which has only scores.
#include <algorithm>

#include "base/name_index.h"
#include "tokenizer/write/files_from_keys.h"

namespace modelutils::tokenizer {

namespace {

constexpr std::size_t longest_token = 256;  // in bytes; keeps the time linear. Published tokens have some 100.

struct Candidate {
  float score;
  u32 left_length, right_length;  // in characters
  u32 token;
  RebuiltMerge merge;
};

bool merges(i32 type) {
  constexpr auto number = [](TokenType one) { return static_cast<i32>(one); };
  return type != number(TokenType::unknown) && type != number(TokenType::control) &&
         type != number(TokenType::unused) && type != number(TokenType::byte);
}

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

u32 characters(std::string_view text) {
  return static_cast<u32>(std::count_if(text.begin(), text.end(), begins_character));
}

bool comes_first(const Candidate& a, const Candidate& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.left_length != b.left_length) return a.left_length > b.left_length;
  if (a.right_length != b.right_length) return a.right_length > b.right_length;
  if (a.token != b.token) return a.token < b.token;
  return a.merge.left < b.merge.left;  // equal lengths imply the same split
}

}  // namespace

std::vector<RebuiltMerge> rebuild_merges(const std::vector<std::string>& tokens, const std::vector<i32>& types,
                                         const std::vector<float>& scores, std::size_t& longest) {
  NameIndex ids;
  ids.reserve(tokens.size());
  for (const std::string& token : tokens) ids.insert(token);
  std::vector<Candidate> candidates;
  longest = 0;
  for (u32 id = 0; id < tokens.size(); ++id) {
    const std::string_view token = tokens[id];
    if (!merges(types[id])) continue;
    if (token.size() > longest_token) {
      longest = std::max(longest, token.size());
      continue;
    }
    const u32 length = characters(token);
    u32 left_length = 0;
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      if (!begins_character(token[cut])) continue;
      ++left_length;
      const auto left = ids.find(token.substr(0, cut));
      const auto right = left ? ids.find(token.substr(cut)) : std::nullopt;
      if (right) candidates.push_back({scores[id], left_length, length - left_length, id, {*left, *right}});
    }
  }
  std::sort(candidates.begin(), candidates.end(), comes_first);
  std::vector<RebuiltMerge> found;
  found.reserve(candidates.size());
  for (const Candidate& candidate : candidates) found.push_back(candidate.merge);
  return found;
}

}  // namespace modelutils::tokenizer
