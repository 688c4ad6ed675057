// The base vocabulary (text -> id) and the token list built from it.
#include "tokenizer/read/build.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/utf8.h"
#include "hf/remarks.h"

namespace modelutils::tokenizer {

namespace {

// Returns the priority of a token type if several tokens have the same text: the order in which llama.cpp searches a
// prompt.
int claim(i32 type) {
  switch (static_cast<TokenType>(type)) {
    case TokenType::control:
    case TokenType::unknown:
    case TokenType::byte: return 3;
    case TokenType::user_defined: return 2;
    case TokenType::normal: return 1;
    default: return 0;
  }
}

}  // namespace

Result<Vocabulary> read_vocabulary(json::Element vocab, u64 rows, const std::vector<u32>& dropped) {
  json::Object object;
  if (!vocab.get(object)) return input_error("hf-tok-vocab", "must be an object of ids");
  Vocabulary vocabulary;
  // Safe to reserve: every member has been read.
  vocabulary.entries.reserve(object.size());
  vocabulary.index.reserve(object.size());
  std::vector<bool> taken(static_cast<std::size_t>(rows), false);
  for (const auto field : object) {
    int64_t id = 0;
    if (!field.value.get(id) || id < 0) {
      return input_error("hf-tok-vocab", fmt::format("the id of '{}' is not a non-negative whole number", field.key));
    }
    if (static_cast<u64>(id) >= rows) {
      if (std::binary_search(dropped.begin(), dropped.end(), static_cast<u64>(id))) continue;
      return input_error("hf-tok-id-range",
                         fmt::format("'{}' has the id {}, but the embedding has only {} rows", field.key, id, rows));
    }
    if (taken[static_cast<std::size_t>(id)]) {
      return input_error("hf-tok-vocab",
                         fmt::format("the id {} of '{}' is also used for another token", id, field.key));
    }
    taken[static_cast<std::size_t>(id)] = true;
    if (!vocabulary.index.insert(field.key).is_new) {
      return input_error("hf-tok-vocab", fmt::format("'{}' appears twice", field.key));
    }
    vocabulary.entries.push_back({field.key, static_cast<u32>(id)});
  }
  return vocabulary;
}

std::optional<Merge> parse_merge(json::Element entry) {
  std::string_view text;
  if (entry.get(text)) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == text.size()) return std::nullopt;
    if (text.find(' ', space + 1) != std::string_view::npos) return std::nullopt;
    return Merge{text.substr(0, space), text.substr(space + 1)};
  }
  json::Array pair;
  if (!entry.get(pair) || pair.size() != 2) return std::nullopt;
  Merge merge;
  if (!pair.at(0)->get(merge.left) || !pair.at(1)->get(merge.right)) return std::nullopt;
  if (merge.left.empty() || merge.right.empty()) return std::nullopt;
  return merge;
}

Result<std::vector<Merge>> parse_merges_text(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  if (!is_utf8(text)) return input_error("hf-tok-merge", "merges.txt is not UTF-8");
  std::vector<Merge> merges;
  u64 line_number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++line_number;
    if (line_number == 1 && line.starts_with('#')) continue;
    const std::size_t left = line.find_first_not_of(blanks);
    if (left == std::string_view::npos) continue;
    const std::size_t left_end = line.find_first_of(blanks, left);
    const std::size_t right = left_end == std::string_view::npos ? left_end : line.find_first_not_of(blanks, left_end);
    const std::size_t right_end =
        right == std::string_view::npos ? right : std::min(line.find_first_of(blanks, right), line.size());
    if (right == std::string_view::npos || line.find_first_not_of(blanks, right_end) != std::string_view::npos) {
      return input_error("hf-tok-merge", "must have exactly two parts", fmt::format("merges.txt line {}", line_number));
    }
    merges.push_back({line.substr(left, left_end - left), line.substr(right, right_end - right)});
  }
  return merges;
}

Result<MergeIds> find_merge(const Merge& merge, u64 rank, const Vocabulary& vocabulary, std::string& joined) {
  joined.assign(merge.left).append(merge.right);
  const auto left = vocabulary.find(merge.left);
  const auto right = vocabulary.find(merge.right);
  const auto result = vocabulary.find(joined);
  if (left && right && result) return MergeIds{*left, *right, *result};
  return input_error("hf-tok-merge",
                     fmt::format("'{}' is not in the vocabulary", !left    ? merge.left
                                                                  : !right ? merge.right
                                                                           : std::string_view(joined)),
                     fmt::format("merge {}", rank));
}

Status visit_merges(json::Element merges, const Vocabulary& vocabulary,
                    const std::function<void(const Merge&, const MergeIds&)>& visit) {
  json::Array list;
  if (!merges.get(list)) return input_error("hf-tok-merge", "must be an array", "model.merges");
  u64 rank = 0;
  std::string joined;
  for (const json::Element entry : list) {
    const auto merge = parse_merge(entry);
    if (!merge) {
      return input_error("hf-tok-merge", "must be [left, right] or \"left right\", neither of them empty",
                         fmt::format("merge {}", rank));
    }
    MU_ASSIGN(const MergeIds ids, find_merge(*merge, rank, vocabulary, joined));
    visit(*merge, ids);
    ++rank;
  }
  return {};
}

TokenList::TokenList(Tokenizer& tokenizer, u64 rows) : tokenizer_(tokenizer) {
  tokenizer.tokens.assign(static_cast<std::size_t>(rows), {});
  tokenizer.types.assign(static_cast<std::size_t>(rows), static_cast<i32>(TokenType::undefined));
  if (has_scores(tokenizer.kind)) tokenizer.scores.assign(static_cast<std::size_t>(rows), padding_score);
}

void TokenList::set(u32 id, std::string_view text, TokenType type, float score) {
  tokenizer_.tokens[id] = text;
  tokenizer_.types[id] = static_cast<i32>(type);
  if (has_scores(tokenizer_.kind)) tokenizer_.scores[id] = score;
}

void TokenList::overlay(const std::vector<AddedToken>& added) {
  for (const AddedToken& token : added) set(token.id, added_token_text(token), added_token_type(token), -1000.0F);
}

void TokenList::finish(FindingLog& findings) {
  hf::Repeated empty, twice;
  auto& tokens = tokenizer_.tokens;
  auto& types = tokenizer_.types;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (types[id] == static_cast<i32>(TokenType::undefined)) {
      tokens[id] = fmt::format("[PAD{}]", id);
      types[id] = static_cast<i32>(TokenType::unused);
    } else if (tokens[id].empty()) {
      tokens[id] = fmt::format("[EMPTY_{}]", id);
      if (empty.met()) empty.set(fmt::format("token {} has no text; it becomes '{}'", id, tokens[id]));
    }
  }
  NameIndex index;
  index.reserve(tokens.size());
  std::vector<u32> holders;  // by text number: the token that keeps the text
  std::vector<u32> renamed;
  for (u32 id = 0; id < tokens.size(); ++id) {
    const NameIndex::Inserted text = index.insert(tokens[id]);
    if (text.is_new) {
      holders.push_back(id);
      continue;
    }
    u32& holder = holders[text.number];
    u32 loser = id;
    if (claim(types[loser]) > claim(types[holder])) std::swap(loser, holder);
    renamed.push_back(loser);
    if (twice.met()) {
      twice.set(fmt::format("tokens {} and {} both have the text '{}'; {} becomes unused", std::min(loser, holder),
                            std::max(loser, holder), tokens[id], loser));
    }
  }
  // Create all names before storing any, because the index points into the texts that they replace. Names are distinct
  // because ids are.
  std::vector<std::string> names;
  for (const u32 loser : renamed) {
    names.push_back(fmt::format("[DUP{}]", loser));
    while (index.find(names.back())) names.back() += '_';
  }
  for (std::size_t i = 0; i < renamed.size(); ++i) {
    const u32 loser = renamed[i];
    tokens[loser] = std::move(names[i]);
    types[loser] = static_cast<i32>(TokenType::unused);
    if (!tokenizer_.scores.empty()) tokenizer_.scores[loser] = padding_score;
  }
  empty.emit(findings, "hf-tok-empty");
  twice.emit(findings, "hf-tok-duplicate");
}

}  // namespace modelutils::tokenizer
