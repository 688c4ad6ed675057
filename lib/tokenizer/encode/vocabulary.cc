#include "tokenizer/encode/vocabulary.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <utility>

#include "base/error.h"
#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "tokenizer/pre_table.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

constexpr std::size_t most_tokens = std::size_t{1} << 24;  // as for embedding rows

class EncodeKeyReader {
 public:
  explicit EncodeKeyReader(const gguf::SplitSet& set) : file_(set.files.front()), index_(file_.document) {}

  Result<EncodeKeys> read() {
    const auto text = [&](std::string_view key) { return std::string(index_.string_value(key).value_or("")); };
    out_.model = text("tokenizer.ggml.model");
    if (out_.model.empty()) return refuse("tok-missing", "tokenizer.ggml.model", "is missing");
    out_.pre = text("tokenizer.ggml.pre");
    out_.architecture = text("general.architecture");
    out_.name = text("general.name");
    MU_ASSIGN(out_.tokens, strings("tokenizer.ggml.tokens", most_tokens));
    if (out_.tokens.empty()) return refuse("tok-missing", "tokenizer.ggml.tokens", "is missing or empty");
    MU_TRY(read_numbers());
    out_.has_merges = index_.array_value("tokenizer.ggml.merges") != nullptr;
    MU_ASSIGN(out_.merges, strings("tokenizer.ggml.merges", most_tokens));
    MU_TRY(read_map_of_characters());
    for (const TokenRole& role : token_roles()) {
      const auto id = index_.unsigned_value(role.key);
      if (id && *id < out_.tokens.size()) out_.special.*role.id = static_cast<u32>(*id);
    }
    out_.add_bos = index_.bool_value("tokenizer.ggml.add_bos_token");
    out_.add_eos = index_.bool_value("tokenizer.ggml.add_eos_token");
    out_.add_space_prefix = index_.bool_value("tokenizer.ggml.add_space_prefix");
    out_.remove_extra_whitespaces = index_.bool_value("tokenizer.ggml.remove_extra_whitespaces");
    out_.lowercase = index_.bool_value("tokenizer.ggml.normalizer.lowercase");
    out_.strip_accents = index_.bool_value("tokenizer.ggml.normalizer.strip_accents");
    return std::move(out_);
  }

 private:
  tl::unexpected<Error> refuse(std::string code, std::string_view key, std::string message) const {
    return input_error(std::move(code), std::move(message), at_key(key), {}, file_.path);
  }

  Result<std::vector<std::string>> strings(std::string_view key, std::size_t most) const {
    const gguf::ArrayRef* array = index_.array_value(key);
    if (array == nullptr) return std::vector<std::string>();
    if (array->element_type != gguf::ValueType::string || array->count > most) {
      return refuse("tok-keys", key, fmt::format("is not an array of at most {} texts", most));
    }
    return gguf::read_strings(*file_.source, file_.document, *array);
  }

  Status read_numbers() {
    MU_ASSIGN(const std::vector<i64> types,
              token_numbers<i64>(file_, index_, "tokenizer.ggml.token_type", out_.tokens.size()));
    for (const i64 type : types) out_.types.push_back(type >= 0 && type <= 6 ? static_cast<i32>(type) : 0);
    MU_ASSIGN(const std::vector<double> scores,
              token_numbers<double>(file_, index_, "tokenizer.ggml.scores", out_.tokens.size()));
    for (const double score : scores) out_.scores.push_back(static_cast<float>(score));
    return {};
  }

  Status read_map_of_characters() {
    constexpr std::string_view key = "tokenizer.ggml.precompiled_charsmap";
    const gguf::ArrayRef* array = index_.array_value(key);
    if (array == nullptr || array->count == 0) return {};
    auto bytes = read_charsmap(*file_.source, *array);
    if (!bytes) return refuse(bytes.error().code, key, bytes.error().message);
    out_.charsmap = std::move(*bytes);
    return {};
  }

  const gguf::SetFile& file_;
  const gguf::Index index_;
  EncodeKeys out_;
};

}  // namespace

Result<EncodeKeys> read_encode_keys(const gguf::SplitSet& set) {
  return EncodeKeyReader(set).read();
}

EncodeKeys encode_keys(Tokenizer tokenizer, std::string architecture, std::string name) {
  EncodeKeys keys;
  keys.model = tokenizer_kind_name(tokenizer.kind);
  keys.pre = std::move(tokenizer.pre);
  keys.architecture = std::move(architecture);
  keys.name = std::move(name);
  keys.tokens = std::move(tokenizer.tokens);
  keys.scores = std::move(tokenizer.scores);
  keys.types = std::move(tokenizer.types);
  keys.merges = std::move(tokenizer.merges);
  keys.has_merges = tokenizer.kind == TokenizerKind::gpt2;
  keys.charsmap = std::move(tokenizer.charsmap);
  keys.special = tokenizer.special;
  keys.add_bos = tokenizer.add_bos;
  keys.add_eos = tokenizer.add_eos;
  keys.add_space_prefix = tokenizer.add_space_prefix;
  keys.remove_extra_whitespaces = tokenizer.remove_extra_whitespaces;
  keys.lowercase = tokenizer.lowercase;
  keys.strip_accents = tokenizer.strip_accents;
  return keys;
}

namespace {

struct ModelRow {
  std::string_view model;
  EncodeKind kind;
  std::optional<u32> bos, eos, unk, sep;
  bool add_bos, add_eos, add_space_prefix, tidies_spaces;
};

constexpr std::array models = {
    ModelRow{"llama", EncodeKind::sentencepiece, 1, 2, 0, {}, true, false, true, false},
    ModelRow{"bert", EncodeKind::wordpiece, 101, {}, 100, 102, true, false, false, true},
    ModelRow{"gpt2", EncodeKind::bpe, 11, 11, {}, {}, false, false, false, true},
    ModelRow{"whitespace", EncodeKind::bpe, 11, 11, {}, {}, false, false, false, true},
    ModelRow{"gemma4", EncodeKind::bpe, {}, {}, {}, {}, false, false, false, true},
    ModelRow{"t5", EncodeKind::unigram, {}, 1, 2, {}, false, true, false, false},
    ModelRow{"rwkv", EncodeKind::rwkv, {}, {}, {}, {}, false, false, false, false},
    ModelRow{"plamo2", EncodeKind::plamo2, 1, 2, 0, {}, false, false, false, false},
};

// llama.cpp reads texts as C strings.
void cut_at_zero(std::string& text) {
  text.resize(std::min(text.size(), text.find('\0')));
}

u8 trait_of(i32 type) {
  switch (static_cast<TokenType>(type)) {
    case TokenType::normal: return trait_normal;
    case TokenType::unknown: return trait_unknown;
    case TokenType::control: return trait_control;
    case TokenType::user_defined: return trait_user_defined;
    case TokenType::unused: return trait_unused;
    case TokenType::byte: return trait_byte;
    default: return 0;
  }
}

class VocabularyLoader {
 public:
  VocabularyLoader(EncodeKeys keys, EncodeVocabulary& out) : keys_(std::move(keys)), out_(out) {}

  Status load() {
    MU_TRY(choose_model());
    MU_TRY(take_tokens());
    settle_special();
    if (out_.kind == EncodeKind::bpe) settle_pre();
    set_traits_by_text(out_, keys_.special);
    set_strips(out_, keys_);
    return {};
  }

 private:
  Status choose_model() {
    constexpr std::string_view key = "tokenizer.ggml.model";
    const auto* found =
        std::find_if(models.begin(), models.end(), [&](const ModelRow& row) { return row.model == keys_.model; });
    if (found == models.end()) {
      return input_error("tok-model", fmt::format("is '{}', a tokenizer that is not supported here", keys_.model),
                         at_key(key));
    }
    row_ = found;
    out_.kind = found->kind;
    out_.model = keys_.model;
    out_.pre = keys_.model == "gemma4" ? "gemma4" : keys_.pre;
    if (out_.kind == EncodeKind::bpe && !keys_.has_merges && out_.pre != "kimi-k2") {
      return input_error("tok-missing", "is missing, but this tokenizer needs it", at_key("tokenizer.ggml.merges"));
    }
    out_.merges = std::move(keys_.merges);
    for (std::string& merge : out_.merges) cut_at_zero(merge);
    return {};
  }

  Status take_tokens() {
    out_.texts = std::move(keys_.tokens);
    const std::size_t count = out_.texts.size();
    for (std::size_t id = 0; id < count; ++id) {
      cut_at_zero(out_.texts[id]);
      if (out_.texts[id].empty()) out_.texts[id] = fmt::format("[EMPTY_{}]", id);
      out_.longest = std::max(out_.longest, out_.texts[id].size());
    }
    out_.ids.reserve(count);
    for (std::size_t id = 0; id < count; ++id) {
      const NameIndex::Inserted inserted = out_.ids.insert(out_.texts[id]);
      if (inserted.is_new) continue;
      return input_error(
          "tok-text",
          fmt::format("tokens {} and {} have the same text, '{}', so llama.cpp does not load the vocabulary",
                      inserted.number, id, out_.texts[id]),
          at_key("tokenizer.ggml.tokens"));
    }
    out_.scores = std::move(keys_.scores);
    out_.scores.resize(count);
    for (std::size_t id = 0; id < count; ++id) {
      out_.stated_traits.push_back(id < keys_.types.size() ? trait_of(keys_.types[id]) : u8{trait_normal});
    }
    out_.traits = out_.stated_traits;
    out_.charsmap = std::move(keys_.charsmap);
    return {};
  }

  // Returns the id from a key, else the default; nullopt if there is no such token.
  std::optional<u32> special(std::optional<u32> stated, std::optional<u32> by_default) const {
    const auto is_there = [&](std::optional<u32> id) { return id && *id < out_.texts.size(); };
    if (is_there(stated)) return stated;
    return is_there(by_default) ? by_default : std::nullopt;
  }

  void settle_special() {
    out_.bos = special(keys_.special.bos, row_->bos);
    out_.eos = special(keys_.special.eos, row_->eos);
    out_.unk = special(keys_.special.unk, row_->unk);
    out_.sep = special(keys_.special.sep, row_->sep);
    out_.add_bos = keys_.add_bos.value_or(row_->add_bos);
    out_.add_eos = keys_.add_eos.value_or(row_->add_eos);
    out_.add_space_prefix = keys_.add_space_prefix.value_or(row_->add_space_prefix);
    out_.remove_extra_whitespaces = keys_.remove_extra_whitespaces.value_or(false);
    out_.tidies_spaces = row_->tidies_spaces;
    out_.lowercase = keys_.lowercase.value_or(out_.pre != "whitespace");
    out_.strip_accents = keys_.strip_accents.value_or(out_.lowercase);
  }

  void settle_pre() {
    const std::optional<KnownPre> known = known_pre(out_.pre);
    const bool spaced = out_.pre == "gemma4" || out_.pre == "granite-embed-multi-311m" || out_.pre == "sarvam-moe";
    out_.ignore_merges = known && known->ignore_merges;
    out_.add_bos = keys_.add_bos.value_or(known && known->add_bos);
    if (spaced && out_.pre != "sarvam-moe") out_.add_bos = true;  // overrides the key
    out_.escapes_spaces = spaced;
    out_.encodes_bytes = !spaced && out_.pre != "whitespace";
    out_.tidies_spaces = tidies_spaces(out_.pre);
    if (out_.pre == "glm4" || out_.pre == "chatglm-bpe") out_.bos = special(keys_.special.bos, std::nullopt);
  }

  EncodeKeys keys_;
  EncodeVocabulary& out_;
  const ModelRow* row_ = nullptr;
};

}  // namespace

Status load_vocabulary(EncodeKeys keys, EncodeVocabulary& out) {
  return VocabularyLoader(std::move(keys), out).load();
}

namespace {

// Tokens for filling in the middle of a text. If no key names a token, the first text in the vocabulary counts.
struct FillRole {
  std::optional<u32> SpecialIds::*stated;
  std::array<std::string_view, 8> texts;
};
constexpr std::array fill_roles = {
    FillRole{&SpecialIds::fim_pre,
             {"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>",
              "<|prefix|>"}},
    FillRole{&SpecialIds::fim_suf,
             {"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>",
              "<|suffix|>"}},
    FillRole{&SpecialIds::fim_mid,
             {"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>",
              "<|middle|>"}},
    FillRole{&SpecialIds::fim_pad, {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}},
    FillRole{&SpecialIds::fim_rep, {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}},
    FillRole{&SpecialIds::fim_sep, {"<|file_sep|>"}},
};

constexpr std::array<std::string_view, 4> always_shown = {"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

void set_traits_by_text(EncodeVocabulary& vocabulary, const SpecialIds& stated) {
  const auto find = [&](std::string_view text) { return text.empty() ? std::nullopt : vocabulary.ids.find(text); };
  const auto set = [&](std::string_view text, u8 traits) {
    if (const auto id = find(text)) vocabulary.traits[*id] = traits;
  };
  for (const std::string_view text : gguf::end_texts()) {
    if (const auto id = find(text)) vocabulary.traits[*id] |= trait_control;
  }
  for (const FillRole& role : fill_roles) {
    if (stated.*role.stated) continue;
    std::optional<u32> first;
    for (const std::string_view text : role.texts) {
      const auto id = find(text);
      if (id && (!first || *id < *first)) first = id;
    }
    if (first) vocabulary.traits[*first] |= trait_control;
  }
  for (const std::string_view text : always_shown) set(text, trait_user_defined);
  const bool calls = find("<|call|>") || find("<|calls|>");
  if (calls && (find("<|return|>") || find("<|flush|>"))) set("<|end|>", trait_user_defined);
  if (find("<|tool_response>")) set("</s>", trait_normal);
}

void set_strips(EncodeVocabulary& vocabulary, const EncodeKeys& keys) {
  const auto set = [&](std::string_view text, u8 trait, bool value) {
    const auto id = vocabulary.ids.find(text);
    if (!id) return;
    u8& traits = vocabulary.traits[*id];
    traits = static_cast<u8>(value ? traits | trait : traits & ~trait);
  };
  std::string name = keys.name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<u8>(c))); });
  const bool takes_before_mask = contains(keys.pre, "jina-v2-de") || contains(keys.pre, "jina-v2-es") ||
                                 contains(keys.pre, "jina-v2-code") || contains(keys.architecture, "nomic-bert-moe") ||
                                 contains(keys.architecture, "jina-bert-v3");
  if (takes_before_mask) {
    set("<mask>", trait_strips_left, true);
  } else if (promises_phi3_tokens(keys.name)) {
    for (u8& traits : vocabulary.traits) {
      if ((traits & (trait_control | trait_user_defined | trait_unknown)) != 0) traits |= trait_strips_right;
    }
    set("</s>", trait_strips_right, true);
    for (const std::string_view text : {"<unk>", "<s>", "<|endoftext|>"}) set(text, trait_strips_right, false);
  } else if (contains(name, "modern-bert")) {
    set("[MASK]", trait_strips_left, true);
  }
}

}  // namespace modelutils::tokenizer
