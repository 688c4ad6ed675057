// The vocabulary: lengths of its arrays, special ids, duplicate tokens, merges.
#include <fmt/format.h>

#include "gguf/parse.h"
#include "tokenizer/tokenizer.h"
#include "verify/gguf_rule_parts.h"
#include "verify/vocabulary.h"
#include "verify/wording.h"

namespace modelutils::gguf_rules {

namespace {

constexpr std::string_view tokens_key = "tokenizer.ggml.tokens";
constexpr std::string_view merges_key = "tokenizer.ggml.merges";

// More tokens than any vocabulary has are not put into a table: that would take as much memory as a hostile file likes.
constexpr u64 most_tokens = u64{1} << 22;

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
    check_byte_level();
    if (count_ > most_tokens) {
      return log_.warning(
          Scope::model, "gguf-tokens-too-many",
          fmt::format("{} tokens are more than any real vocabulary has: duplicates and merges were not checked",
                      count_),
          at_key(tokens_key), offset_of(tokens_key));
    }
    const gguf::ArrayRef* merges = string_array(merges_key);
    const auto scan = scan_vocabulary(source_, document_, *tokens, merges);
    if (!scan) return log_.add(without_path(scan.error()));
    report_tokens(*scan, *tokens);
    if (merges != nullptr) report_merges(*scan, *merges);
  }

 private:
  std::optional<u64> offset_of(std::string_view key) const {
    const gguf::KeyValue* entry = index_.key(key);
    return entry == nullptr ? std::nullopt : std::optional(entry->offset);
  }

  const gguf::ArrayRef* string_array(std::string_view key) const {
    const gguf::ArrayRef* array = index_.array_value(key);
    return array != nullptr && array->element_type == gguf::ValueType::string ? array : nullptr;
  }

  // Loaders read as many scores and types as there are tokens.
  void check_lengths() {
    for (const std::string_view key : {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"}) {
      const gguf::ArrayRef* array = index_.array_value(key);
      if (array == nullptr || array->count == count_) continue;
      log_.tell(array->count < count_ ? Severity::error : Severity::warning, Scope::model, "gguf-token-array-length",
                fmt::format("has {}, but there are {}", counted(array->count, "element"), counted(count_, "token")),
                at_key(key), offset_of(key));
    }
  }

  void check_special_ids() {
    for (const gguf::KeyValue& entry : document_.keys) {
      if (!entry.key.starts_with("tokenizer.ggml.") || !entry.key.ends_with("_token_id")) continue;
      const std::optional<u64> id = index_.unsigned_value(entry.key);
      if (!id || *id < count_) continue;
      log_.warning(
          Scope::model, "gguf-token-id",
          fmt::format("is {}, but the highest token is {}: llama.cpp ignores it", *id, static_cast<i64>(count_) - 1),
          at_key(entry.key), entry.offset);
    }
  }

  void check_embedding(const TensorFacts& facts) {
    if (!facts.embedding_rows || *facts.embedding_rows == count_) return;
    log_.tell(*facts.embedding_rows < count_ ? Severity::error : Severity::warning, Scope::model, "gguf-token-count",
              fmt::format("there are {}, but token_embd.weight has {}", counted(count_, "token"),
                          counted(*facts.embedding_rows, "row")),
              at_key(tokens_key), offset_of(tokens_key));
  }

  // What loaders need of a byte-level vocabulary, and refuse a whole model for.
  void check_byte_level() {
    if (index_.string_value("tokenizer.ggml.model") != "gpt2") return;
    constexpr std::string_view pre_key = "tokenizer.ggml.pre";
    const auto pre = index_.string_value(pre_key);
    if (pre && !tokenizer::is_known_pre(*pre)) {
      log_.warning(Scope::model, "gguf-tokenizer-pre",
                   fmt::format("is '{}', which no known version of llama.cpp supports as a pre-tokenizer", *pre),
                   at_key(pre_key), offset_of(pre_key));
    }
    if (index_.key(merges_key) == nullptr) {
      log_.warning(Scope::model, "gguf-merges-missing",
                   "the key is missing: llama.cpp refuses to load a byte-level vocabulary without it",
                   at_key(merges_key), offset_of(merges_key));
    }
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
      if (!types) return log_.add(without_path(types.error()));
      for (std::size_t i = 0; i < types->size(); ++i) {
        const i64 type = (*types)[i];
        if ((type < 0 || type > last_type) && bad++ == 0) first_index = first + i;
      }
    }
    if (bad == 0) return;
    log_.warning(Scope::model, "gguf-token-type",
                 fmt::format("{} of {} {} a type other than 0 to 6, the first is token {}", bad,
                             counted(count_, "token"), verb(bad, "has", "have"), first_index),
                 at_key(key), array->offset + first_index * 4);
  }

  void report_tokens(const VocabularyScan& scan, const gguf::ArrayRef& tokens) {
    for (const DuplicateToken& duplicate : scan.duplicates) {
      log_.error(Scope::model, "gguf-token-duplicate",
                 fmt::format("token {} has the same text as token {}: '{}'", duplicate.index, duplicate.first_index,
                             string_at(source_, document_, duplicate.offset)),
                 at_key(tokens_key), duplicate.offset);
    }
    if (const u64 more = scan.duplicate_count - scan.duplicates.size(); more != 0) {
      log_.count_only(Severity::error, "gguf-token-duplicate", more);
    }
    if (const StringTally& empty = scan.tokens_empty; empty.number != 0) {
      log_.warning(
          Scope::model, "gguf-token-empty",
          fmt::format("{} without text, the first is token {}", counted(empty.number, "token"), empty.first_index),
          at_key(tokens_key), empty.first_offset);
    }
    report_not_utf8(scan.tokens_not_utf8, tokens_key, tokens.count);
  }

  // Loaders take merges as they are, so each kind of trouble is one warning, however many merges have it.
  void report_merges(const VocabularyScan& scan, const gguf::ArrayRef& merges) {
    if (const StringTally& bad = scan.merges_not_split; bad.number != 0) {
      log_.warning(Scope::model, "gguf-merge-split",
                   fmt::format("{} of {} {} not split into two tokens, the first is merge {} ('{}')", bad.number,
                               counted(merges.count, "merge"), verb(bad.number, "does", "do"), bad.first_index,
                               string_at(source_, document_, bad.first_offset)),
                   at_key(merges_key), bad.first_offset);
    }
    if (const StringTally& bad = scan.merges_without_token; bad.number != 0) {
      log_.warning(
          Scope::model, "gguf-merge-token",
          fmt::format(
              "{} of {} {} a token that is not in the vocabulary, the first is merge {} ('{}'), which needs '{}'",
              bad.number, counted(merges.count, "merge"), verb(bad.number, "needs", "need"), bad.first_index,
              string_at(source_, document_, bad.first_offset), scan.first_missing),
          at_key(merges_key), bad.first_offset);
    }
    report_not_utf8(scan.merges_not_utf8, merges_key, merges.count);
  }

  void report_not_utf8(const StringTally& tally, std::string_view key, u64 strings) {
    if (tally.number == 0) return;
    log_.warning(Scope::model, "gguf-value-utf8",
                 fmt::format("{} of {} {} not UTF-8, the first is element {}", tally.number, counted(strings, "string"),
                             verb(tally.number, "is", "are"), tally.first_index),
                 at_key(key), tally.first_offset);
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
