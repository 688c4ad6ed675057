#include "tokenizer/encode/vocabulary.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/place.h"
#include "tokenizer/encode/traits.h"
#include "tokenizer/known_pre.h"

namespace modelutils::tokenizer {

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

}  // namespace modelutils::tokenizer
