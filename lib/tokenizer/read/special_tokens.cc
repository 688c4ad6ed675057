// Resolves the ids of special tokens, add_bos / add_eos / add_sep, and the end-of-turn token.
#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "base/name_index.h"
#include "formats/hf/config_members.h"
#include "tokenizer/read/build.h"
#include "tokenizer/read/class_facts.h"
#include "tokenizer/read/special_texts.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

// Texts that llama.cpp recognises as the end of a turn; those of chat models are first.
constexpr std::array<std::string_view, 11> end_of_turn_texts = {"<|eot_id|>",
                                                                "<|im_end|>",
                                                                "<|end|>",
                                                                "<end_of_turn>",
                                                                "<end_of_utterance>",
                                                                "<EOT>",
                                                                "_<EOT>",
                                                                "[EOT]",
                                                                "<\uff5cend\u2581of\u2581sentence\uff5c>",
                                                                "<|endoftext|>",
                                                                "<|end_of_text|>"};

std::size_t end_of_turn_rank(std::string_view text) {
  return static_cast<std::size_t>(std::find(end_of_turn_texts.begin(), end_of_turn_texts.end(), text) -
                                  end_of_turn_texts.begin());
}

// Finds ids by token text in the finished list, added tokens first.
class IdFinder {
 public:
  IdFinder(const TokenizerInput& input, const Tokenizer& tokenizer) : input_(input) {
    index_.reserve(tokenizer.tokens.size());
    for (const std::string& token : tokenizer.tokens) index_.insert(token);  // all distinct: number = id
  }
  std::optional<u32> find(const std::optional<std::string>& text) const {
    if (!text) return std::nullopt;
    for (const AddedToken& token : input_.added.tokens) {
      if (token.content == *text) return token.id;
    }
    return index_.find(*text);
  }

 private:
  const TokenizerInput& input_;
  NameIndex index_;
};

// Reads and checks ids from JSON files. An id that is too large is a warning; -1 means that there is no such token;
// lower ones are errors, but only warnings in generation_config.json, which is optional.
class IdReader {
 public:
  IdReader(u64 rows, FindingLog& findings) : rows_(rows), findings_(findings) {}

  Result<std::optional<u32>> check(i64 id, std::string_view where) {
    if (id == -1) return std::nullopt;
    if (id < 0 && where.starts_with("generation_config.json")) {
      findings_.warning(Scope::model, "hf-tok-special-id",
                        fmt::format("is {}, but an id cannot be negative: left out", id), std::string(where));
      return std::nullopt;
    }
    if (id < 0) {
      return input_error("hf-tok-special-id", fmt::format("is {}, but an id cannot be negative", id),
                         std::string(where));
    }
    if (static_cast<u64>(id) >= rows_) {
      findings_.warning(Scope::model, "hf-tok-special-range",
                        fmt::format("is {}, but there are only {} tokens: left out", id, rows_), std::string(where));
      return std::nullopt;
    }
    return static_cast<u32>(id);
  }

  /// Reads `key` of `object` if it is an integer; if `list`, also the first integer of a list.
  Result<std::optional<u32>> read(std::optional<json::Element> object, std::string_view file, std::string_view key,
                                  bool list) {
    if (!object) return std::nullopt;
    const auto value = json::member(*object, key);
    if (!value) return std::nullopt;
    int64_t id = 0;
    json::Array ids;
    if (!value->get(id)) {
      const auto first = list && value->get(ids) ? ids.at(0) : std::nullopt;
      if (!first || !first->get(id)) return std::nullopt;
    }
    return check(id, fmt::format("{}: {}", file, key));
  }

 private:
  u64 rows_;
  FindingLog& findings_;
};

// The properties of a kind of special token.
struct SpecialKind {
  std::string_view id_key;  // in config.json and generation_config.json
  std::optional<std::string> SpecialTexts::*text;
  std::optional<u32> SpecialIds::*id;
};
constexpr std::array<SpecialKind, 7> special_kinds = {{
    {"bos_token_id", &SpecialTexts::bos, &SpecialIds::bos},
    {"eos_token_id", &SpecialTexts::eos, &SpecialIds::eos},
    {"unk_token_id", &SpecialTexts::unk, &SpecialIds::unk},
    {"sep_token_id", &SpecialTexts::sep, &SpecialIds::sep},
    {"pad_token_id", &SpecialTexts::pad, &SpecialIds::pad},
    {"cls_token_id", &SpecialTexts::cls, &SpecialIds::cls},
    {"mask_token_id", &SpecialTexts::mask, &SpecialIds::mask},
}};

std::optional<i32> spm_id(const SentencePieceModel& model, std::string_view key) {
  if (key == "bos_token_id") return model.bos_id;
  if (key == "eos_token_id") return model.eos_id;
  if (key == "unk_token_id") return model.unk_id;
  if (key == "pad_token_id") return model.pad_id;
  return std::nullopt;
}

class Resolver {
 public:
  Resolver(const TokenizerInput& input, const SentencePieceModel* model, Tokenizer& tokenizer)
      : input_(input),
        family_(input.family()),
        model_(model),
        tokenizer_(tokenizer),
        finder_(input, tokenizer),
        reader_(input.rows(), tokenizer.findings),
        class_(find_class_facts(input, model)),
        generation_(input.options.generation != nullptr ? input.options.generation->root() : std::nullopt) {
    if (class_ != nullptr && !class_->leading.empty()) model_ = nullptr;  // its ids are not the vocabulary's
    if (input.config && input.config->document) config_ = input.config->document->root;
    if (input.config) overlay_ = input.config->overlay;
  }

  Status run() {
    const SpecialTexts stated = read_special_texts(input_.files);
    SpecialTexts texts = special_texts_of(input_, class_);
    for (const SpecialVariable& variable : special_variables()) {
      auto& text = texts.*variable.text;  // a default that the vocabulary lacks is no token
      if (!(stated.*variable.text) && !finder_.find(text)) text.reset();
    }
    if (class_ != nullptr && !class_->eot.empty() && finder_.find(std::string(class_->eot))) texts.eot = class_->eot;
    if (tokenizer_.kind == TokenizerKind::bert) name_ends(texts);
    if (input_.files.tekken_json) tekken(texts);
    if (!texts.unk && input_.files.tokenizer_json) {
      const auto model = json::member(input_.files.tokenizer_json->root, "model");
      if (const auto unk = json::string_member(*model, "unk_token")) texts.unk = std::string(*unk);
    }
    AddSpecial add;
    if (input_.files.tokenizer_json) {
      MU_ASSIGN(const auto bos_by_id, text_by_id("bos_token_id"));
      MU_ASSIGN(const auto eos_by_id, text_by_id("eos_token_id"));
      add = read_post_processor(input_.files.tokenizer_json->root, texts, bos_by_id, eos_by_id, tokenizer_.findings);
    }
    for (const SpecialKind& kind : special_kinds) MU_TRY(resolve(kind, texts));
    tokenizer_.special.eot = finder_.find(texts.eot);
    tokenizer_.special.eom = finder_.find(texts.eom);
    if (!tokenizer_.special.eot) find_end_of_turn();
    infill_by_size();
    infill_by_text();
    turns_by_text();
    rwkv();
    keep_other_ends();
    if (!input_.files.tokenizer_json && tokenizer_.kind == TokenizerKind::gpt2) mark_control();
    flags(add);
    if (input_.files.tokenizer_json) {
      warn_of_boundary_tokens(
          input_.files.tokenizer_json->root, input_.files.tokenizer_config_root(),
          [&](const std::optional<std::string>& text) { return finder_.find(text); }, tokenizer_);
    }
    return {};
  }

 private:
  // tekken.json does not state the purpose of its special tokens. Mistral's code uses these texts.
  void tekken(SpecialTexts& texts) const {
    const auto known = [&](std::optional<std::string>& text, const std::string& usual) {
      if (!text && finder_.find(usual)) text = usual;
    };
    known(texts.bos, "<s>");
    known(texts.eos, "</s>");
    known(texts.unk, "<unk>");
    known(texts.pad, "<pad>");
  }

  // Returns config.json's id for a kind: from the top level, else from text_config. For eos it may be a list.
  Result<std::optional<u32>> config_id(std::string_view key) {
    const bool list = key == "eos_token_id";
    MU_ASSIGN(auto id, reader_.read(config_, "config.json", key, list));
    if (id) return id;
    return reader_.read(overlay_, "config.json: text_config", key, list);
  }

  Result<std::optional<std::string>> text_by_id(std::string_view key) {
    // Discard the findings: the same ids are read and reported again below.
    FindingLog before = std::exchange(tokenizer_.findings, {});
    auto id = config_id(key);
    tokenizer_.findings = std::move(before);
    if (!id) return tl::make_unexpected(std::move(id.error()));
    return *id ? std::optional(tokenizer_.tokens[**id]) : std::nullopt;
  }

  Status resolve(const SpecialKind& kind, const SpecialTexts& texts) {
    auto& id = tokenizer_.special.*kind.id;
    if (id) return {};  // set by the vocabulary itself
    const auto& text = texts.*kind.text;
    id = finder_.find(text);
    if (id) return {};
    if (text) {
      tokenizer_.findings.warning(Scope::model, "hf-tok-special-text",
                                  fmt::format("'{}' is not in the vocabulary", *text),
                                  std::string(kind.id_key.substr(0, kind.id_key.size() - 3)));
    }
    MU_ASSIGN(id, config_id(kind.id_key));
    if (id) return {};
    if (model_ != nullptr) {
      const auto stated = spm_id(*model_, kind.id_key);
      if (stated && *stated >= 0 && static_cast<u64>(*stated) < model_->pieces.size()) {
        MU_ASSIGN(id, reader_.check(*stated, "tokenizer.model"));
        if (id) return {};
      }
    }
    MU_ASSIGN(id, reader_.read(generation_, "generation_config.json", kind.id_key, kind.id_key == "eos_token_id"));
    return {};
  }

  // Finds the token other than eos at which chat models stop: it is in the list of eos ids and has a text that
  // llama.cpp recognises. It is set only if its text ranks before the eos token's as an end of turn.
  void find_end_of_turn() {
    const auto& eos = tokenizer_.special.eos;
    std::size_t best = eos ? end_of_turn_rank(tokenizer_.tokens[*eos]) : end_of_turn_texts.size();
    for (const auto& object : {generation_, config_, overlay_}) {
      const auto list = object ? json::array_member(*object, "eos_token_id") : std::nullopt;
      if (!list) continue;
      for (const json::Element element : *list) {
        uint64_t id = 0;
        if (!element.get(id) || id >= input_.rows()) continue;
        const std::size_t rank = end_of_turn_rank(tokenizer_.tokens[static_cast<std::size_t>(id)]);
        if (rank >= best) continue;
        best = rank;
        tokenizer_.special.eot = static_cast<u32>(id);
      }
    }
  }

  // Keeps the other ids of an eos list, at which generation also ends. GGUF has only three keys for them: eos, eot and
  // eom. Ids that llama.cpp recognises by their text need none.
  void keep_other_ends() {
    std::vector<u32> ends = other_ends();
    const auto take = [&](std::optional<u32>& place, auto fits) {
      const auto found = place ? ends.end() : std::ranges::find_if(ends, fits);
      if (found == ends.end()) return;
      place = *found;
      ends.erase(found);
    };
    const auto is_tool = [this](u32 id) { return calls_tool(tokenizer_.tokens[id]); };
    const auto any = [](u32) { return true; };
    // A tool call ends a message, not a turn.
    take(tokenizer_.special.eot, std::not_fn(is_tool));
    take(tokenizer_.special.eom, is_tool);
    take(tokenizer_.special.eom, any);
    take(tokenizer_.special.eot, any);
    if (ends.empty()) return;
    tokenizer_.findings.warning(
        Scope::model, "hf-tok-end-ids",
        fmt::format("{} of the ids that end generation {} no key in a GGUF, the first is {} ('{}'): llama.cpp does not "
                    "stop there",
                    ends.size(), ends.size() == 1 ? "has" : "have", ends.front(), tokenizer_.tokens[ends.front()]),
        "eos_token_id");
  }

  static bool calls_tool(std::string_view text) {
    constexpr std::array<std::string_view, 4> marks = {"tool", "observation", "call", "function"};
    return std::ranges::any_of(marks, [&](std::string_view mark) { return text.find(mark) != text.npos; });
  }

  // Returns the distinct ids of eos_token_id that have no key yet. A single id counts only if it is a control token and
  // comes from generation_config.json: in config.json it may be an unintended default.
  std::vector<u32> other_ends() const {
    std::vector<u32> ends;
    std::vector<bool> seen(tokenizer_.tokens.size());
    for (const auto& id : {tokenizer_.special.eos, tokenizer_.special.eot, tokenizer_.special.eom}) {
      if (id) seen[*id] = true;
    }
    const auto add = [&](json::Element element, bool is_listed) {
      u64 id = 0;
      if (!element.get(id) || id >= seen.size() || seen[id]) return;
      const bool is_control = tokenizer_.types[id] == static_cast<i32>(TokenType::control);
      if (!is_listed && !is_control) return;
      seen[id] = true;
      if (std::ranges::find(gguf::end_texts(), tokenizer_.tokens[id]) == gguf::end_texts().end()) {
        ends.push_back(static_cast<u32>(id));
      }
    };
    bool is_generation = true;
    for (const auto& object : {generation_, config_, overlay_}) {
      const auto value = object ? json::member(*object, "eos_token_id") : std::nullopt;
      json::Array list;
      if (value && value->get(list)) {
        for (const json::Element element : list) add(element, true);
      } else if (value && is_generation) {
        add(*value, false);
      }
      is_generation = false;
    }
    return ends;
  }

  // CodeLlama's infill tokens can be recognised only by the vocabulary size.
  void infill_by_size() {
    const u64 size = family_.infill_vocabulary;
    if (tokenizer_.kind != TokenizerKind::llama || size == 0 || input_.rows() < size) return;
    if (!input_.config || input_.config->vocab_size != size) return;
    tokenizer_.special.fim_pre = 32007;
    tokenizer_.special.fim_suf = 32008;
    tokenizer_.special.fim_mid = 32009;
    tokenizer_.special.eot = 32010;
  }

  // CodeGemma's infill tokens have ids 67 to 70, which other Gemmas leave unused: their texts distinguish them.
  void infill_by_text() {
    if (!family_.infills_by_text) return;
    SpecialIds& ids = tokenizer_.special;
    const auto find = [&](std::optional<u32>& id, std::string text) {
      if (!id) id = finder_.find(std::move(text));
    };
    find(ids.fim_pre, "<|fim_prefix|>");
    find(ids.fim_mid, "<|fim_middle|>");
    find(ids.fim_suf, "<|fim_suffix|>");
    find(ids.fim_sep, "<|file_separator|>");
    if (ids.eos && tokenizer_.tokens[*ids.eos] != "<end_of_turn>") find(ids.eot, "<end_of_turn>");
  }

  // ChatGLM's files do not state these.
  void turns_by_text() {
    if (!family_.user_ends_turn) return;
    SpecialIds& ids = tokenizer_.special;
    if (const auto user = finder_.find("<|user|>")) ids.eot = user;
    if (!ids.unk) ids.unk = finder_.find("<|endoftext|>");
  }

  // One token begins and ends texts. In a conversation an empty line ends a turn. llama.cpp's converter does the same.
  void rwkv() {
    if (tokenizer_.kind != TokenizerKind::rwkv) return;
    tokenizer_.special = {};
    tokenizer_.special.bos = tokenizer_.special.eos = 0;
    tokenizer_.special.eot = finder_.find("\\n\\n");
  }

  // vocab.json does not state which tokens are special: treat those with a special id as control tokens.
  void mark_control() {
    for (const SpecialKind& kind : special_kinds) {
      const auto& id = tokenizer_.special.*kind.id;
      if (id) tokenizer_.types[*id] = static_cast<i32>(TokenType::control);
    }
  }

  std::optional<bool> stated(std::string_view key) const {
    const auto config = input_.files.tokenizer_config_root();
    return config ? json::bool_member(*config, key) : std::nullopt;
  }

  // If the flag were true without a token, newer loaders would refuse the file and older ones add a wrong token.
  void needs(std::optional<bool>& flag, const std::optional<u32>& id, std::string_view name) {
    if (flag != true || id) return;
    flag = false;
    tokenizer_.findings.warning(
        Scope::model, "hf-tok-add-without-id",
        fmt::format("add_{0}_token is true, but no {0} token is defined: written as false", name));
  }

  // llama.cpp adds an eos to every text by default, so the flags must be explicit.
  void unigram_flags() {
    const bool has_json = input_.files.tokenizer_json != nullptr;
    if (!tokenizer_.add_bos) tokenizer_.add_bos = !has_json && tokenizer_.special.bos;
    if (!tokenizer_.add_eos) tokenizer_.add_eos = false;
  }

  void flags(AddSpecial add) {
    const auto first = [](std::optional<bool> a, std::optional<bool> b) { return a ? a : b; };
    // tokenizer.json states the added tokens; without it the class decides.
    if (class_ != nullptr && !input_.files.tokenizer_json) add = {class_->adds_bos, class_->adds_eos, class_->adds_sep};
    tokenizer_.add_bos = first(stated("add_bos_token"), add.bos);
    tokenizer_.add_eos = first(stated("add_eos_token"), add.eos);
    tokenizer_.add_sep = first(stated("add_sep_token"), add.sep);
    // Every Mistral prompt begins with a bos.
    if (input_.files.tekken_json && !tokenizer_.add_bos) tokenizer_.add_bos = tokenizer_.special.bos.has_value();
    // Granite and SmolLM; llama.cpp's converter has the same rule.
    const u64 without_bos = family_.vocabulary_without_bos;
    if (without_bos != 0 && input_.config->vocab_size == without_bos) tokenizer_.add_bos = false;
    // Some pre-tokenizers imply true, so write false unless the files request a bos.
    if (tokenizer_.kind == TokenizerKind::gpt2 && !tokenizer_.add_bos) tokenizer_.add_bos = false;
    if (tokenizer_.kind == TokenizerKind::t5) unigram_flags();
    // llama.cpp adds a bos to texts of this kind by default.
    if (tokenizer_.kind == TokenizerKind::llama && input_.files.tokenizer_json && !tokenizer_.add_bos &&
        leaves_it_to_post_processor(input_.files.tokenizer_class())) {
      tokenizer_.add_bos = false;
    }
    needs(tokenizer_.add_bos, tokenizer_.special.bos, "bos");
    needs(tokenizer_.add_eos, tokenizer_.special.eos, "eos");
    needs(tokenizer_.add_sep, tokenizer_.special.sep, "sep");
    const bool is_t5 = tokenizer_.kind == TokenizerKind::t5;
    if ((tokenizer_.kind == TokenizerKind::gpt2 || is_t5) && !tokenizer_.special.eos) {
      tokenizer_.findings.warning(Scope::model, "hf-tok-no-eos",
                                  fmt::format("no eos token is defined; llama.cpp will use token {}", is_t5 ? 1 : 11));
    }
  }

  const TokenizerInput& input_;
  const arch::TokenizerFacts& family_;
  const SentencePieceModel* model_;
  Tokenizer& tokenizer_;
  IdFinder finder_;
  IdReader reader_;
  const ClassFacts* class_;
  std::optional<json::Element> config_, overlay_, generation_;
};

}  // namespace

Status resolve_special_tokens(const TokenizerInput& input, const SentencePieceModel* model, Tokenizer& tokenizer) {
  return Resolver(input, model, tokenizer).run();
}

}  // namespace modelutils::tokenizer
