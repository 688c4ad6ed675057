#include "tokenizer/read/added_tokens.h"

#include <charconv>
#include <limits>
#include <map>
#include <set>

#include "hf/remarks.h"
#include "tokenizer/byte_tokens.h"

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

}  // namespace modelutils::tokenizer
