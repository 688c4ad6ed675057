#include "tokenizer/read/vocabulary.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>

#include "base/utf8.h"
#include "formats/hf/config_members.h"
#include "tokenizer/read/build.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

struct Layered {
  AddedToken token;
  std::string_view file;
  bool says_special = false;  // the file states whether the token is special
};
using Layers = std::map<u32, Layered>;

tl::unexpected<Error> bad_entry(std::string_view file, std::string_view where, std::string message) {
  return input_error("hf-tok-added", std::move(message), fmt::format("{}: {}", file, where));
}

class TokenCollector {
 public:
  TokenCollector(u64 rows, FindingLog& findings) : rows_(rows), findings_(findings) {}

  // Later layers win; a contradiction is a warning. `says_special`: the file states whether the token is special.
  Status add(std::string_view file, std::string_view where, i64 id, AddedToken token, bool says_special) {
    const std::string& content = token.content;
    if (id < 0 || id > std::numeric_limits<i32>::max()) {
      return bad_entry(file, where, fmt::format("the id {} of '{}' is out of range", id, content));
    }
    if (static_cast<u64>(id) >= rows_) {
      if (beyond_.met()) {
        beyond_.set(fmt::format("{}: '{}' has the id {}, but the embedding has only {} rows: dropped", file, content,
                                id, rows_));
      }
      dropped_.insert(static_cast<u32>(id));
      return {};
    }
    const u32 key = static_cast<u32>(id);
    token.id = key;
    const Layered layered{std::move(token), file, says_special};
    const auto [at, fresh] = layers_.try_emplace(key, layered);
    if (fresh) return {};
    const Layered& old = at->second;
    if (old.token.content != layered.token.content) {
      if (conflict_.met()) {
        conflict_.set(fmt::format("id {} is '{}' in {} and '{}' in {}, which wins", id, old.token.content, old.file,
                                  layered.token.content, file));
      }
    } else if (old.says_special && says_special && old.token.special != layered.token.special) {
      if (conflict_.met()) {
        conflict_.set(fmt::format("'{}' is {} in {} and {} in {}, which wins", old.token.content,
                                  old.token.special ? "special" : "not special", old.file,
                                  layered.token.special ? "special" : "not special", file));
      }
    }
    at->second = layered;
    return {};
  }

  AddedTokens finish() {
    beyond_.emit(findings_, "hf-tok-id-range");
    conflict_.emit(findings_, "hf-tok-added-conflict");
    AddedTokens added;
    added.tokens.reserve(layers_.size());
    for (auto& [id, layered] : layers_) added.tokens.push_back(std::move(layered.token));
    added.dropped.assign(dropped_.begin(), dropped_.end());
    return added;
  }

 private:
  u64 rows_;
  FindingLog& findings_;
  Layers layers_;
  std::set<u32> dropped_;
  hf::Repeated beyond_, conflict_;
};

// Reads the flags of a token: {content, special, normalized, …}.
AddedToken described(json::Element entry, std::string_view content) {
  const auto flag = [&](std::string_view name, bool absent) { return json::bool_member(entry, name).value_or(absent); };
  AddedToken token;
  token.content = content;
  token.special = flag("special", false);
  token.normalized = flag("normalized", true);
  token.lstrip = flag("lstrip", false);
  token.rstrip = flag("rstrip", false);
  token.single_word = flag("single_word", false);
  return token;
}

// added_tokens.json: {text: id}
Status add_text_map(TokenCollector& collector, json::Element root) {
  json::Object object;
  if (!root.get(object)) return bad_entry("added_tokens.json", "top level", "must be an object");
  for (const auto field : object) {
    int64_t id = 0;
    if (!field.value.get(id)) {
      return bad_entry("added_tokens.json", fmt::format("'{}'", field.key), "must be an integer");
    }
    AddedToken token;
    token.content = field.key;
    MU_TRY(collector.add("added_tokens.json", "id", id, std::move(token), false));
  }
  return {};
}

// tokenizer_config.json: added_tokens_decoder {"id": {content, special, …}}
Status add_decoder(TokenCollector& collector, json::Element config) {
  constexpr std::string_view file = "tokenizer_config.json";
  const auto decoder = json::object_member(config, "added_tokens_decoder");
  if (!decoder) return {};
  for (const auto field : *decoder) {
    i64 id = 0;
    const auto [end, error] = std::from_chars(field.key.data(), field.key.data() + field.key.size(), id);
    const std::string where = fmt::format("added_tokens_decoder['{}']", field.key);
    if (error != std::errc() || end != field.key.data() + field.key.size()) {
      return bad_entry(file, where, "is not a token id");
    }
    const auto content = json::string_member(field.value, "content");
    if (!content) return bad_entry(file, where, "has no content");
    MU_TRY(collector.add(file, where, id, described(field.value, *content), true));
  }
  return {};
}

// tokenizer.json: added_tokens [{id, content, special, …}]
Status add_list(TokenCollector& collector, json::Element root) {
  constexpr std::string_view file = "tokenizer.json";
  const auto member = json::member(root, "added_tokens");
  if (!member) return {};
  json::Array list;
  if (!member->get(list)) return bad_entry(file, "added_tokens", "must be an array");
  u64 index = 0;
  for (const json::Element entry : list) {
    const std::string where = fmt::format("added_tokens[{}]", index++);
    const auto id = json::i64_member(entry, "id");
    const auto content = json::string_member(entry, "content");
    if (!id || !content) return bad_entry(file, where, "must have an integer id and a content");
    MU_TRY(collector.add(file, where, *id, described(entry, *content), true));
  }
  return {};
}

}  // namespace

bool looks_special(std::string_view text) {
  if (text == "<pad>" || text == "<mask>" || text == "<2mass>" || text == "[@BOS@]") return true;
  const auto enclosed = [&](std::string_view left, std::string_view right) {
    return text.size() >= left.size() + right.size() && text.starts_with(left) && text.ends_with(right);
  };
  return enclosed("<|", "|>") || enclosed("<\uff5c", "\uff5c>") || enclosed("<unused", ">");
}

TokenType added_token_type(const AddedToken& token) {
  return token.special || looks_special(token.content) ? TokenType::control : TokenType::user_defined;
}

bool stands_for_unnormalised_spaces(const AddedToken& token) {
  return added_token_type(token) == TokenType::user_defined && !token.normalized &&
         token.content.find(space_mark) != std::string::npos;
}

std::string added_token_text(const AddedToken& token) {
  if (added_token_type(token) == TokenType::control) return token.content;
  std::string text;
  std::size_t from = 0;
  for (std::size_t at; (at = token.content.find(space_mark, from)) != std::string::npos;
       from = at + space_mark.size()) {
    text.append(token.content, from, at - from);
    text += ' ';
  }
  text.append(token.content, from);
  return text;
}

Result<AddedTokens> collect_added_tokens(const TokenizerFiles& files, u64 rows, FindingLog& findings) {
  TokenCollector collector(rows, findings);
  if (files.added_tokens) MU_TRY(add_text_map(collector, files.added_tokens->root));
  if (files.tokenizer_config) MU_TRY(add_decoder(collector, files.tokenizer_config->root));
  if (files.tokenizer_json) MU_TRY(add_list(collector, files.tokenizer_json->root));
  return collector.finish();
}

// The base vocabulary (text -> id) and the token list built from it.

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
  for (const AddedToken& token : added) {
    const std::string text = added_token_text(token);
    const bool is_piece = tokenizer_.kind == TokenizerKind::t5 && tokenizer_.tokens[token.id] == text;
    set(token.id, text, added_token_type(token), is_piece ? tokenizer_.scores[token.id] : -1000.0F);
  }
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
