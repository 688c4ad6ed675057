// The vocabulary: lengths of its arrays, special ids, duplicate tokens, merges.
#include <fmt/format.h>

#include <algorithm>

#include "base/byte_reader.h"
#include "base/utf8.h"
#include "gguf/parse.h"
#include "verify/gguf_rule_parts.h"
#include "verify/token_table.h"
#include "verify/wording.h"

namespace modelutils::gguf_rules {

namespace {

constexpr std::string_view tokens_key = "tokenizer.ggml.tokens";
constexpr std::string_view merges_key = "tokenizer.ggml.merges";

// More tokens than any vocabulary has are not put into a table: that would take as much memory as a hostile file likes.
constexpr u64 most_tokens = u64{1} << 22;

// Shown of a token's or merge's text in a message.
std::string_view beginning_of(std::string_view text) {
  constexpr std::size_t most = 80;
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > most - 4 && (static_cast<u8>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return text.substr(0, end);
}

// Calls visit(index, text, offset) for each string of an array: what gguf::visit_strings does, inlined, because verify
// looks at half a million of them.
template <typename Visit>
Status each_string(const ByteSource& source, const gguf::Document& document, const gguf::ArrayRef& array,
                   const Visit& visit) {
  ByteReader reader(source, array.offset);
  reader.set_big_endian(document.big_endian);
  for (u64 i = 0; i < array.count; ++i) {
    const u64 offset = reader.offset();
    const u64 size = reader.read<u64>();
    const std::string_view text = reader.read_view(size);
    if (!reader.ok()) break;
    visit(i, text, offset);
  }
  if (reader.source_error()) return tl::make_unexpected(*reader.source_error());
  return {};
}

class TokenRules {
 public:
  TokenRules(const ByteSource& source, const gguf::Document& document, const gguf::Index& index, FindingLog& log)
      : source_(source), document_(document), index_(index), log_(log) {}

  void check(const TensorFacts& facts) {
    const gguf::ArrayRef* tokens = string_array(tokens_key);
    if (tokens == nullptr) return;
    count_ = tokens->count;
    check_lengths();
    check_special_ids();
    check_embedding(facts);
    check_token_types();
    if (count_ > most_tokens) {
      return warn(
          "gguf-tokens-too-many", tokens_key, {},
          fmt::format("{} tokens are more than any vocabulary has: duplicates and merges were not looked for", count_));
    }
    TokenTable table(count_);
    check_tokens(*tokens, table);
    check_merges(table);
  }

 private:
  const gguf::ArrayRef* string_array(std::string_view key) const {
    const gguf::ArrayRef* array = index_.array_value(key);
    return array != nullptr && array->element_type == gguf::ValueType::string ? array : nullptr;
  }

  // Loaders read as many scores and types as there are tokens.
  void check_lengths() {
    for (const std::string_view key : {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"}) {
      const gguf::ArrayRef* array = index_.array_value(key);
      if (array == nullptr || array->count == count_) continue;
      add(array->count < count_ ? Severity::error : Severity::warning, "gguf-token-array-length", key, {},
          fmt::format("has {}, there are {}", counted(array->count, "element"), counted(count_, "token")));
    }
  }

  void check_special_ids() {
    for (const gguf::KeyValue& entry : document_.keys) {
      if (!entry.key.starts_with("tokenizer.ggml.") || !entry.key.ends_with("_token_id")) continue;
      const std::optional<u64> id = index_.unsigned_value(entry.key);
      if (!id || *id < count_) continue;
      warn("gguf-token-id", entry.key, entry.offset,
           fmt::format("is {}, but the highest token is {}: loaders ignore it", *id, static_cast<i64>(count_) - 1));
    }
  }

  void check_embedding(const TensorFacts& facts) {
    if (!facts.embedding_rows || *facts.embedding_rows == count_) return;
    add(*facts.embedding_rows < count_ ? Severity::error : Severity::warning, "gguf-token-count", tokens_key, {},
        fmt::format("there are {}, but token_embd.weight has {}", counted(count_, "token"),
                    counted(*facts.embedding_rows, "row")));
  }

  void check_token_types() {
    constexpr i64 last_type = 6;
    constexpr u64 step = 64 * 1024;
    constexpr std::string_view key = "tokenizer.ggml.token_type";
    const gguf::ArrayRef* array = index_.array_value(key);
    if (array == nullptr ||
        (array->element_type != gguf::ValueType::i32 && array->element_type != gguf::ValueType::u32)) {
      return;
    }
    u64 bad = 0;
    u64 first_index = 0;
    for (u64 first = 0; first < array->count; first += step) {
      const auto types = gguf::read_numbers<i64>(source_, document_, *array, first, step);
      if (!types) return log_.add(to_finding(types.error()));
      for (std::size_t i = 0; i < types->size(); ++i) {
        const i64 type = (*types)[i];
        if ((type < 0 || type > last_type) && bad++ == 0) first_index = first + i;
      }
    }
    if (bad == 0) return;
    warn("gguf-token-type", key, array->offset + first_index * 4,
         fmt::format("{} of {} have a type other than 0 to 6, token {} is the first", bad, counted(count_, "token"),
                     first_index));
  }

  void check_tokens(const gguf::ArrayRef& tokens, TokenTable& table) {
    u64 empty = 0;
    u64 first_empty = 0;
    Tally not_utf8;
    const Status read = each_string(source_, document_, tokens, [&](u64 i, std::string_view text, u64 offset) {
      if (!is_utf8(text)) not_utf8.count(offset, [&] { return fmt::format("element {}", i); });
      if (text.empty()) {  // loaders give each its own text
        if (empty++ == 0) first_empty = i;
        return;
      }
      const std::optional<u32> first = table.insert(text, static_cast<u32>(i));
      if (!first) return;
      add_lazily(Severity::error, "gguf-token-duplicate", tokens_key, offset, [&] {
        return fmt::format("token {} is the same text as token {}: '{}'", i, *first, beginning_of(text));
      });
    });
    if (!read) log_.add(to_finding(read.error()));
    if (empty != 0) {
      warn("gguf-token-empty", tokens_key, {},
           fmt::format("{} without text, token {} is the first", counted(empty, "token"), first_empty));
    }
    report_not_utf8(not_utf8, tokens_key, tokens.count);
  }

  // Loaders take merges as they are, so each kind of trouble is one warning, however many merges have it.
  void check_merges(const TokenTable& table) {
    const gguf::ArrayRef* merges = string_array(merges_key);
    if (merges == nullptr) return;
    Tally not_utf8;
    Tally not_split;
    Tally without_token;
    std::string joined;
    const Status read = each_string(source_, document_, *merges, [&](u64 i, std::string_view text, u64 offset) {
      if (!is_utf8(text)) not_utf8.count(offset, [&] { return fmt::format("element {}", i); });
      // As the loader does it: the first space that is not the first byte.
      const std::size_t space = text.find(' ', 1);
      if (space == std::string_view::npos || space + 1 == text.size()) {
        return not_split.count(offset, [&] { return fmt::format("merge {} ('{}')", i, beginning_of(text)); });
      }
      const std::string_view left = text.substr(0, space);
      const std::string_view right = text.substr(space + 1);
      joined.assign(left);
      joined.append(right);
      const bool has_left = table.contains(left);
      const bool has_right = table.contains(right);
      if (has_left && has_right && table.contains(joined)) return;
      without_token.count(offset, [&] {
        const std::string_view missing = !has_left ? left : !has_right ? right : std::string_view(joined);
        return fmt::format("merge {} ('{}'), which needs '{}'", i, beginning_of(text), beginning_of(missing));
      });
    });
    if (!read) log_.add(to_finding(read.error()));
    if (not_split.number != 0) {
      warn("gguf-merge-split", merges_key, not_split.first_offset,
           fmt::format("{} of {} do not split into two tokens, first {}", not_split.number,
                       counted(merges->count, "merge"), not_split.first));
    }
    if (without_token.number != 0) {
      warn("gguf-merge-token", merges_key, without_token.first_offset,
           fmt::format("{} of {} need a token that the vocabulary does not have, first {}", without_token.number,
                       counted(merges->count, "merge"), without_token.first));
    }
    report_not_utf8(not_utf8, merges_key, merges->count);
  }

  // How many, and the first of them.
  struct Tally {
    u64 number = 0;
    u64 first_offset = 0;
    std::string first;
    template <typename Describe>
    void count(u64 offset, const Describe& describe) {
      if (number++ != 0) return;
      first_offset = offset;
      first = describe();
    }
  };

  void report_not_utf8(const Tally& tally, std::string_view key, u64 strings) {
    if (tally.number == 0) return;
    warn("gguf-value-utf8", key, tally.first_offset,
         fmt::format("{} of {} are not UTF-8, first {}", tally.number, counted(strings, "string"), tally.first));
  }

  // The message is written only if the finding will be kept.
  template <typename Message>
  void add_lazily(Severity severity, std::string_view code, std::string_view key, u64 offset, const Message& message) {
    if (log_.keeps(severity, code)) {
      add(severity, code, key, offset, message());
    } else {
      log_.count_only(severity, code);
    }
  }

  void warn(std::string_view code, std::string_view key, std::optional<u64> offset, std::string message) {
    add(Severity::warning, code, key, offset, std::move(message));
  }
  void add(Severity severity, std::string_view code, std::string_view key, std::optional<u64> offset,
           std::string message) {
    if (!offset) {
      if (const gguf::KeyValue* entry = index_.key(key)) offset = entry->offset;
    }
    log_.add({severity, Scope::model, std::string(code), offset, gguf::where_key(key), std::move(message), {}});
  }

  const ByteSource& source_;
  const gguf::Document& document_;
  const gguf::Index& index_;
  FindingLog& log_;
  u64 count_ = 0;
};

}  // namespace

void check_tokens(const ByteSource& source, const gguf::Document& document, const gguf::Index& index,
                  const TensorFacts& facts, FindingLog& log) {
  TokenRules(source, document, index, log).check(facts);
}

}  // namespace modelutils::gguf_rules
