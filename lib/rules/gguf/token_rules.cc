// Checks the vocabulary: array lengths, special ids, duplicate tokens, merges.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "arch/names.h"
#include "base/byte_reader.h"
#include "formats/gguf/parse.h"
#include "rules/chat_template.h"
#include "rules/formats.h"
#include "rules/gguf/rule_parts.h"
#include "rules/gguf/vocabulary.h"
#include "template/prompt_text.h"
#include "template/tokens.h"
#include "tokenizer/pre_table.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::gguf_rules {

namespace {

constexpr std::string_view tokens_key = "tokenizer.ggml.tokens";
constexpr std::string_view merges_key = "tokenizer.ggml.merges";

// Tokens beyond this are not indexed, so that a hostile file cannot use unlimited memory. No vocabulary has more.
constexpr u64 most_tokens = u64{1} << 22;

class TokenRules {
 public:
  TokenRules(const ByteSource& source, const gguf::Document& document, const gguf::Index& index, FindingLog& log)
      : source_(source), document_(document), index_(index), log_(log) {}

  const std::optional<RoleTexts>& roles() const { return roles_; }

  void check(const TensorFacts& facts, TokenTexts texts, unsigned threads) {
    const gguf::ArrayRef* tokens = string_array(tokens_key);
    if (tokens == nullptr) return;
    count_ = tokens->count;
    check_model();
    check_lengths();
    check_token_types();
    check_scores();
    check_special_ids();
    check_word_ends();
    check_embedding(facts);
    check_byte_level();
    check_charsmap();
    if (texts == TokenTexts::known) return;
    if (count_ > most_tokens) {
      return log_.warning(
          Scope::model, "gguf-tokens-too-many",
          fmt::format("{} tokens are more than any real vocabulary has, so duplicates and merges were not checked",
                      count_),
          at_key(tokens_key), offset_of(tokens_key));
    }
    const gguf::ArrayRef* merges = string_array(merges_key);
    const bool byte_level = index_.string_value("tokenizer.ggml.model") == "gpt2";
    RoleTextsOnTheWay roles(index_, count_);
    const auto scan = scan_vocabulary(source_, document_, *tokens, merges,
                                      byte_level ? ordinary_tokens() : std::vector<u8>(), &roles, threads);
    if (!scan) return log_.add(without_path(scan.error()));
    if (!roles.next()) roles_ = roles.texts();
    report_tokens(*scan, *tokens);
    if (merges != nullptr) report_merges(*scan, *merges);
    if (byte_level) report_unreachable(*scan, merges);
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

  // Known names of vocabulary kinds. Source: llama_vocab::impl::load().
  void check_model() {
    constexpr std::string_view known = "llama|gpt2|bert|t5|rwkv|plamo2|gemma4|hybriddna|whitespace|no_vocab|none|test";
    constexpr std::string_view key = "tokenizer.ggml.model";
    const auto model = index_.string_value(key);
    if (!model || (!model->empty() && arch::has_name(known, *model))) return;
    log_.warning(Scope::model, "gguf-tokenizer-model",
                 fmt::format("is '{}', which no known version of llama.cpp supports as a kind of vocabulary", *model),
                 at_key(key), offset_of(key));
  }

  // Loaders read one score and one type per token without checking the lengths.
  void check_lengths() {
    for (const std::string_view key : {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"}) {
      const gguf::ArrayRef* array = index_.array_value(key);
      if (array == nullptr || array->count == count_) continue;
      log_.add(array->count < count_ ? Severity::error : Severity::warning, Scope::model, "gguf-token-array-length",
               fmt::format("has {}, but there are {}", counted(array->count, "element"), counted(count_, "token")),
               at_key(key), offset_of(key));
    }
  }

  void check_special_ids() {
    for (const gguf::KeyValue& entry : document_.keys) {
      if (!entry.key.starts_with("tokenizer.ggml.") || !entry.key.ends_with("_token_id")) continue;
      const std::optional<u64> id = index_.unsigned_value(entry.key);
      if (!id) continue;
      if (*id < count_) {
        check_special_type(entry, *id);
        continue;
      }
      log_.warning(
          Scope::model, "gguf-token-id",
          fmt::format("is {}, but the highest token is {}: llama.cpp ignores it", *id, static_cast<i64>(count_) - 1),
          at_key(entry.key), entry.offset);
    }
  }

  // llama.cpp's WordPiece puts two tokens around every text and has one for unknown words; without keys it takes those
  // of bert-base.
  void check_word_ends() {
    if (index_.string_value("tokenizer.ggml.model") != "bert") return;
    constexpr std::array<std::pair<std::string_view, u64>, 3> usual = {{{"tokenizer.ggml.bos_token_id", 101},
                                                                        {"tokenizer.ggml.seperator_token_id", 102},
                                                                        {"tokenizer.ggml.unknown_token_id", 100}}};
    for (const auto& [key, id] : usual) {
      const std::optional<u64> stated = index_.unsigned_value(key);
      if (id < count_ || (stated && *stated < count_)) continue;
      log_.error(Scope::model, "gguf-token-id",
                 fmt::format("{}; llama.cpp then takes {}, but there are {}", stated ? "is not a token" : "is missing",
                             id, counted(count_, "token")),
                 at_key(key), offset_of(key));
    }
  }

  // A special token of another type than CONTROL is matched in user text and shown in the model's output.
  void check_special_type(const gguf::KeyValue& entry, u64 id) {
    const std::optional<i64> type =
        id < types_.size() ? std::optional(types_[static_cast<std::size_t>(id)]) : std::nullopt;
    if (type != number(tokenizer::TokenType::normal) && type != number(tokenizer::TokenType::byte)) return;
    // RWKV's world vocabulary has no end-of-turn token; it uses an empty line.
    if (entry.key == "tokenizer.ggml.eot_token_id" && index_.string_value("tokenizer.ggml.model") == "rwkv") return;
    // Users cannot type padding, and models do not write it.
    const bool is_padding = entry.key == "tokenizer.ggml.padding_token_id";
    log_.add(is_padding ? Severity::note : Severity::warning, Scope::model, "gguf-token-special-type",
             fmt::format("is {}, whose type is {}, not CONTROL: it can be typed by a user and is shown as text", id,
                         type == number(tokenizer::TokenType::byte) ? "BYTE" : "NORMAL"),
             at_key(entry.key), entry.offset);
  }
  static i64 number(tokenizer::TokenType type) { return static_cast<i64>(type); }

  std::vector<u8> ordinary_tokens() const {
    constexpr auto normal = static_cast<u8>(tokenizer::TokenType::normal);
    std::vector<u8> ordinary(types_.size());
    for (std::size_t i = 0; i < types_.size(); ++i) ordinary[i] = types_[i] == normal ? 1 : 0;
    return ordinary;
  }

  void check_embedding(const TensorFacts& facts) {
    if (!facts.embedding_rows || *facts.embedding_rows == count_) return;
    log_.add(*facts.embedding_rows < count_ ? Severity::error : Severity::warning, Scope::model, "gguf-token-count",
             fmt::format("there are {}, but token_embd.weight has {}", counted(count_, "token"),
                         counted(*facts.embedding_rows, "row")),
             at_key(tokens_key), offset_of(tokens_key));
  }

  // Checks requirements of byte-level vocabularies that make loaders refuse the whole model.
  void check_byte_level() {
    const auto model = index_.string_value("tokenizer.ggml.model");
    if (model == "gemma4") return check_merges("vocabulary of this kind");
    if (model != "gpt2") return;
    constexpr std::string_view pre_key = "tokenizer.ggml.pre";
    const auto pre = index_.string_value(pre_key);
    if (pre && !tokenizer::is_known_pre(*pre)) {
      log_.warning(Scope::model, "gguf-tokenizer-pre",
                   fmt::format("is '{}', which no known version of llama.cpp supports as a pre-tokenizer", *pre),
                   at_key(pre_key), offset_of(pre_key));
    }
    check_merges("byte-level vocabulary");
  }

  void check_merges(std::string_view vocabulary) {
    if (index_.key(merges_key) != nullptr) return;
    log_.warning(Scope::model, "gguf-merges-missing",
                 fmt::format("the key is missing: llama.cpp refuses to load a {} without it", vocabulary),
                 at_key(merges_key), offset_of(merges_key));
  }

  // llama.cpp normalises every text with this table.
  void check_charsmap() {
    constexpr std::string_view key = "tokenizer.ggml.precompiled_charsmap";
    const gguf::ArrayRef* array = index_.array_value(key);
    if (array == nullptr || array->count == 0 || index_.string_value("tokenizer.ggml.model") != "t5") return;
    const auto bytes = tokenizer::read_charsmap(source_, *array);
    if (bytes) return;
    if (bytes.error().code != "tok-charsmap") return log_.add(without_path(bytes.error()));
    log_.error(Scope::model, "gguf-charsmap", bytes.error().message, at_key(key), offset_of(key));
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
    types_.reserve(static_cast<std::size_t>(std::min({count_, most_tokens, array->count})));
    u64 bad = 0;
    u64 first_index = 0;
    for (u64 first = 0; first < array->count; first += step) {
      const auto types = gguf::read_numbers<i64>(source_, document_, *array, first, step);
      if (!types) return log_.add(without_path(types.error()));
      const u64 kept = std::min(count_, most_tokens);
      for (std::size_t i = 0; i < types->size(); ++i) {
        const i64 type = (*types)[i];
        const bool is_known = type >= 0 && type <= last_type;
        if (!is_known && bad++ == 0) first_index = first + i;
        if (first + i < kept) types_.push_back(is_known ? static_cast<u8>(type) : u8{0});
      }
    }
    if (bad == 0) return;
    log_.warning(Scope::model, "gguf-token-type",
                 fmt::format("{} of {} {} a type other than 0 to 6, the first is token {}", bad,
                             counted(count_, "token"), verb(bad, "has", "have"), first_index),
                 at_key(key), array->offset + first_index * 4);
  }

  // llama.cpp chooses merges or splits by the tokens' scores.
  void check_scores() {
    constexpr std::string_view key = "tokenizer.ggml.scores";
    constexpr std::string_view with_scores = "llama|t5|plamo2";
    const std::string_view model = index_.string_value("tokenizer.ggml.model").value_or("");
    if (!arch::has_name(with_scores, model)) return;
    const gguf::ArrayRef* array = index_.array_value(key);
    if (model == "t5" && array == nullptr) {
      log_.error(Scope::model, "gguf-token-scores",
                 "is missing: llama.cpp splits texts into different tokens than the model expects", at_key(key));
    }
    if (array == nullptr || gguf::value_size(array->element_type) == 0) return;
    constexpr u64 step = 64 * 1024;
    const u64 end = std::min({count_, most_tokens, array->count});
    tokenizer::ScoreSpread spread;
    for (u64 first = 0; first < end; first += step) {
      const auto scores = gguf::read_numbers<double>(source_, document_, *array, first, std::min(step, end - first));
      if (!scores) return log_.add(without_path(scores.error()));
      for (std::size_t i = 0; i < scores->size(); ++i) {
        const std::size_t id = static_cast<std::size_t>(first) + i;
        const bool is_normal = id >= types_.size() || types_[id] == number(tokenizer::TokenType::normal);
        if (is_normal) spread.add(static_cast<float>((*scores)[i]));
      }
    }
    const auto score = spread.common();
    if (!score) return;
    log_.warning(
        Scope::model, "gguf-token-scores",
        fmt::format(
            "all normal tokens have the score {}: llama.cpp splits texts into different tokens than the model expects",
            *score),
        at_key(key), offset_of(key));
  }

  void report_tokens(const VocabularyScan& scan, const gguf::ArrayRef& tokens) {
    for (const DuplicateToken& duplicate : scan.duplicates) {
      log_.error(Scope::model, "gguf-token-duplicate",
                 fmt::format("token {} has the same text as token {}: '{}'{}", duplicate.index, duplicate.first_index,
                             string_at(source_, document_, duplicate.offset),
                             scan.is_cut_at_nul ? " (llama.cpp reads texts up to their first NUL)" : ""),
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

  // Reports tokens that no text can produce: no merge makes them, or the pre-tokenizer always splits them.
  void report_unreachable(const VocabularyScan& scan, const gguf::ArrayRef* merges) {
    constexpr u64 a_few = 8;  // real vocabularies that fit have none, mismatched ones have hundreds
    constexpr std::string_view pre_key = "tokenizer.ggml.pre";
    const std::string pre(index_.string_value(pre_key).value_or("default"));
    const auto known = tokenizer::known_pre(pre);
    const bool whole_words = known && known->ignore_merges;
    if (const StringTally& lost = scan.not_merged;
        lost.number != 0 && merges != nullptr && merges->count != 0 && !whole_words) {
      log_.add(lost.number < a_few ? Severity::note : Severity::warning, Scope::model, "gguf-token-unreachable",
               fmt::format("{} cannot be produced: no merge makes {}, the first is token {} ('{}')",
                           counted(lost.number, "token"), verb(lost.number, "it", "them"), lost.first_index,
                           string_at(source_, document_, lost.first_offset)),
               at_key(tokens_key), lost.first_offset);
    }
    const u32 digits = tokenizer::digits_together(pre);
    const StringTally& cut = digits == 1 ? scan.two_digits : scan.four_digits;
    if (digits == 0 || cut.number < a_few) return;
    log_.warning(
        Scope::model, "gguf-tokenizer-pre-unfit",
        fmt::format("'{}' keeps at most {} together, but {} {} more, the first is token {} ('{}'): the vocabulary was "
                    "made for another pre-tokenizer",
                    pre, counted(digits, "digit"), counted(cut.number, "token"), verb(cut.number, "has", "have"),
                    cut.first_index, string_at(source_, document_, cut.first_offset)),
        at_key(pre_key), offset_of(pre_key));
  }

  // Loaders accept faulty merges, so each kind of fault is a single warning with a count.
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
  std::optional<RoleTexts> roles_;
  std::vector<u8> types_;  // from tokenizer.ggml.token_type; 0 for invalid ones
};

}  // namespace

std::optional<RoleTexts> check_tokens(const ByteSource& source, const gguf::Document& document,
                                      const gguf::Index& index, const TensorFacts& facts, TokenTexts texts,
                                      unsigned threads, FindingLog& log) {
  TokenRules rules(source, document, index, log);
  rules.check(facts, texts, threads);
  return rules.roles();
}

// Checks chat templates, which are programs by strangers: finds suspicious constructs, and compares them with the
// vocabulary's special tokens.

namespace {

constexpr std::string_view template_key = "tokenizer.chat_template";

// Reports prompts with two BOS tokens. Transformers adds no BOS to a prompt; llama.cpp removes a BOS at the start of a
// prompt before it adds its own, but not a later one.
void check_bos(const jinja::Template& parsed, const std::string& bos, bool is_added, std::string_view where,
               FindingLog& log) {
  if (bos.empty()) return;
  const auto late = jinja::late_bos(parsed, bos);
  if (!late || !(late->is_repeated || is_added)) return;
  log.note(Scope::model, "template-bos",
           fmt::format(
               "{}: {}", jinja::position(parsed.source(), late->at).text(),
               late->is_repeated
                   ? "prompts begin with two BOS tokens"
                   : "the template writes BOS after some text, and the tokenizer puts another one before the prompt"),
           where);
}

// Notes a template that never writes a token that ends a text or a turn.
void check_ending(const jinja::Template& parsed, const RoleTexts& texts, std::string_view where, FindingLog& log) {
  if (texts[1].empty() || jinja::mentions(parsed, "eos_token", {})) return;
  const auto is_written = [&](const std::string& ending) { return jinja::mentions(parsed, "eos_token", ending); };
  if (std::any_of(texts.begin() + 1, texts.end(), is_written)) return;
  log.note(Scope::model, "template-eos", "the chat template never writes a token that ends a text or a turn", where);
}

VocabularyTexts texts_of(const ByteSource& source, const gguf::Document& document, const gguf::Index& index) {
  const auto each = [&](std::string_view key) {
    const gguf::ArrayRef* array = index.array_value(key);
    return [&, array](const VocabularyTexts::Take& take) {
      if (array == nullptr || array->element_type != gguf::ValueType::string) return;
      ByteReader reader(source, array->offset);
      reader.set_big_endian(document.big_endian);
      for (u64 i = 0; i < array->count; ++i) {
        const std::string_view text = reader.read_view(reader.read<u64>());
        if (!reader.ok()) return;
        take(i, text);
      }
    };
  };
  return {.kind = index.string_value("tokenizer.ggml.model").value_or(""),
          .tokens = each("tokenizer.ggml.tokens"),
          .merges = each("tokenizer.ggml.merges"),
          .is_of_type_normal = [&](u64 token) {
            const gguf::ArrayRef* types = index.array_value("tokenizer.ggml.token_type");
            if (types == nullptr) return true;  // as llama.cpp assumes
            if (token >= types->count) return false;
            const auto type = gguf::read_numbers<i64>(source, document, *types, token, 1);
            return type && !type->empty() && type->front() == static_cast<i64>(tokenizer::TokenType::normal);
          }};
}

}  // namespace

void check_chat_templates(const ByteSource& source, const gguf::Document& document, const gguf::Index& index,
                          TokenTexts texts, std::optional<RoleTexts> roles, FindingLog& log) {
  for (const gguf::KeyValue& entry : document.keys) {
    if (entry.key != template_key && !entry.key.starts_with("tokenizer.chat_template.")) continue;
    const u64 text_offset = entry.value_offset + sizeof(u64);  // the text follows its length
    const auto* text = std::get_if<std::string>(&entry.value);
    if (text == nullptr) continue;
    const std::string where(at_key(entry.key));
    const auto parsed = check_chat_template(*text, where, text_offset, {}, log);
    if (!parsed || texts != TokenTexts::read) continue;
    if (!roles) roles = read_role_texts(source, document, index);
    const bool is_llama = index.string_value("tokenizer.ggml.model") == "llama";
    const bool adds_bos = index.bool_value("tokenizer.ggml.add_bos_token").value_or(is_llama);
    check_bos(*parsed, roles->front(), adds_bos, where, log);
    check_written_tokens(jinja::written_markers(*parsed), texts_of(source, document, index), where, log);
    if (entry.key == template_key) check_ending(*parsed, *roles, where, log);
  }
}

}  // namespace modelutils::gguf_rules
