#include "tokenizer/write/files_from_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "arch/family_facts.h"
#include "base/name_index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "json/writer.h"
#include "tokenizer/pre_table.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

constexpr std::size_t max_tokens = std::size_t{1} << 24;  // as for embedding rows

// llama.cpp's default ids if keys are missing.
struct LoaderIds {
  std::optional<u32> bos = {}, eos = {}, unk = {}, sep = {}, pad = {}, cls = {}, mask = {};
};

struct KindRow {
  std::string_view model;
  RebuiltKind kind;
  LoaderIds special;
  bool add_bos, add_eos, add_space_prefix;
};

// Source: llama.cpp's loader.
constexpr std::array kinds = {
    KindRow{"gpt2", RebuiltKind::byte_bpe, {}, false, false, false},
    KindRow{"llama", RebuiltKind::sentencepiece, {.bos = 1, .eos = 2, .unk = 0}, true, false, true},
    KindRow{"gemma4", RebuiltKind::spaced_bpe, {}, true, false, false},
    KindRow{"t5", RebuiltKind::unigram, {.eos = 1, .unk = 2, .pad = 0}, false, true, true},
    KindRow{
        "bert", RebuiltKind::wordpiece, {.unk = 100, .sep = 102, .pad = 0, .cls = 101, .mask = 103}, true, true, false},
};

bool is(i32 type, TokenType wanted) {
  return type == static_cast<i32>(wanted);
}

class Rebuilder {
 public:
  Rebuilder(const gguf::SplitSet& set, const RebuildOptions& options)
      : file_(set.files.front()), index_(file_.document), options_(options) {}

  Result<RebuiltTokenizer> rebuild() {
    MU_TRY(choose_kind());
    MU_TRY(read_tokens());
    MU_TRY(read_types_and_scores());
    leave_out_padding();
    spell_tokens();
    MU_TRY(check_tokens());
    if (out_.kind == RebuiltKind::byte_bpe) MU_TRY(choose_pre());
    MU_TRY(read_merges());
    read_special();
    MU_TRY(read_settings());
    MU_TRY(read_templates());
    return std::move(out_);
  }

 private:
  tl::unexpected<Error> refuse(std::string code, std::string_view key, std::string message) const {
    return input_error(std::move(code), std::move(message), at_key(key), {}, file_.path);
  }

  Status choose_kind() {
    constexpr std::string_view key = "tokenizer.ggml.model";
    const auto model = index_.string_value(key);
    if (!model) return refuse("tok-missing", key, "is missing; --no-tokenizer converts without a tokenizer");
    const auto* found =
        std::find_if(kinds.begin(), kinds.end(), [&](const KindRow& row) { return row.model == *model; });
    if (found == kinds.end()) {
      return refuse(
          "tok-model", key,
          fmt::format("is '{}', which tokenizer.json cannot express; --no-tokenizer converts without a tokenizer",
                      *model));
    }
    row_ = found;
    out_.kind = found->kind;
    return {};
  }

  Status read_tokens() {
    constexpr std::string_view key = "tokenizer.ggml.tokens";
    const gguf::ArrayRef* array = index_.array_value(key);
    if (array == nullptr || array->count == 0) return refuse("tok-missing", key, "is missing or empty");
    if (array->element_type != gguf::ValueType::string || array->count > max_tokens) {
      return refuse("tok-keys", key, fmt::format("is not an array of at most {} texts", max_tokens));
    }
    MU_ASSIGN(out_.tokens, gguf::read_strings(*file_.source, file_.document, *array));
    return {};
  }

  Status read_types_and_scores() {
    MU_ASSIGN(const std::vector<i64> types,
              token_numbers<i64>(file_, index_, "tokenizer.ggml.token_type", out_.tokens.size()));
    out_.types.assign(out_.tokens.size(), static_cast<i32>(TokenType::normal));
    std::transform(types.begin(), types.end(), out_.types.begin(),
                   [](i64 type) { return type >= 0 && type <= 6 ? static_cast<i32>(type) : 0; });
    if (out_.kind != RebuiltKind::sentencepiece && out_.kind != RebuiltKind::unigram) return {};
    MU_ASSIGN(const std::vector<double> scores,
              token_numbers<double>(file_, index_, "tokenizer.ggml.scores", out_.tokens.size()));
    if (scores.empty()) return refuse("tok-keys", "tokenizer.ggml.scores", "is missing, but this tokenizer needs it");
    for (const double score : scores) {
      // Merges are sorted by scores, and JSON has no infinity or NaN.
      const float narrow = static_cast<float>(score);
      out_.scores.push_back(std::isfinite(narrow) ? narrow : std::numeric_limits<float>::lowest());
    }
    if (const auto score = common_score(out_.types, out_.scores)) {
      out_.findings.warning(Scope::model, "tok-scores",
                            fmt::format("all normal tokens have the score {}: the order of merges is unknown", *score),
                            at_key("tokenizer.ggml.scores"));
    }
    return {};
  }

  // Removes the converter's padding from the vocabulary.
  void leave_out_padding() {
    std::size_t used = out_.tokens.size();
    while (used > 1 && is(out_.types[used - 1], TokenType::unused) && out_.tokens[used - 1].starts_with("[PAD")) --used;
    out_.tokens.resize(used);
    out_.types.resize(used);
    if (!out_.scores.empty()) out_.scores.resize(used);
  }

  // WordPiece marks tokens that begin a word in a GGUF, and tokens that do not in its files.
  void spell_tokens() {
    if (out_.kind != RebuiltKind::wordpiece) return;
    for (std::size_t id = 0; id < out_.tokens.size(); ++id) {
      std::string& token = out_.tokens[id];
      if (token.starts_with(space_mark)) {
        token.erase(0, space_mark.size());
      } else if (token.starts_with('[') && token.ends_with(']') && token.size() > 2) {
        // A special token, which GGUF files do not always mark as one.
        if (is(out_.types[id], TokenType::normal) && !token.starts_with("[unused")) {
          out_.types[id] = static_cast<i32>(TokenType::control);
        }
      } else if (is(out_.types[id], TokenType::normal)) {
        token.insert(0, "##");
      }
    }
  }

  Status check_tokens() {
    constexpr std::string_view key = "tokenizer.ggml.tokens";
    ids_.reserve(out_.tokens.size());
    for (std::size_t id = 0; id < out_.tokens.size(); ++id) {
      const std::string& token = out_.tokens[id];
      if (!is_utf8(token)) return refuse("tok-text", key, fmt::format("token {} is not UTF-8", id));
      const NameIndex::Inserted inserted = ids_.insert(token);
      if (!inserted.is_new) {
        return refuse("tok-text", key,
                      fmt::format("tokens {} and {} have the same text, '{}'", inserted.number, id, token));
      }
    }
    return {};
  }

  Status choose_pre() {
    constexpr std::string_view key = "tokenizer.ggml.pre";
    const std::string_view stated = index_.string_value(key).value_or("default");
    const std::string_view name = options_.pre.empty() ? stated : std::string_view(options_.pre);
    out_.pre = find_pre_row(name);
    const std::optional<KnownPre> known = known_pre(name);
    if (out_.pre == nullptr && !options_.pre.empty()) {
      return usage_error(fmt::format("--pre {}: the regexes of this pre-tokenizer are not known", name));
    }
    if (out_.pre == nullptr && name != "default") {
      return refuse("tok-pre", key,
                    fmt::format("is '{}', whose regexes are not known; --pre NAME chooses another, --no-tokenizer "
                                "converts without a tokenizer",
                                name));
    }
    if (out_.pre == nullptr) {
      out_.findings.warning(Scope::model, "tok-pre-default",
                            "is missing or 'default': text is split as llama.cpp does in that case, which is hardly "
                            "how the model was trained; choose a pre-tokenizer with --pre NAME",
                            at_key(key));
    }
    out_.ignore_merges = known && known->ignore_merges;
    add_bos_of_pre_ = known && known->add_bos;
    // No key stores this.
    const arch::TokenizerFacts& family = arch::tokenizer_facts(index_.architecture());
    out_.normalizes = composes(name) || (family.composes && name != family.composes_not);
    // Selects between pre-tokenizers that split alike (pre_table.h) when the files are converted to a GGUF again.
    out_.clean_up_spaces =
        out_.pre != nullptr && (out_.pre->pre == "starcoder" || out_.pre->pre == "bloom" || name == "stablelm2");
    return {};
  }

  Status read_merges() {
    if (out_.kind == RebuiltKind::sentencepiece) {
      std::size_t longest = 0;
      out_.merges = rebuild_merges(out_.tokens, out_.types, out_.scores, longest);
      if (longest > 0) {
        out_.findings.warning(Scope::model, "tok-long-token",
                              fmt::format("has tokens of up to {} bytes, which no merges produce", longest),
                              at_key("tokenizer.ggml.tokens"));
      }
      return {};
    }
    if (out_.kind != RebuiltKind::byte_bpe && out_.kind != RebuiltKind::spaced_bpe) return {};
    constexpr std::string_view key = "tokenizer.ggml.merges";
    const gguf::ArrayRef* array = index_.array_value(key);
    if (array == nullptr) return {};
    if (array->element_type != gguf::ValueType::string) return refuse("tok-keys", key, "is not an array of texts");
    u64 absent = 0;
    std::string first, joined;
    MU_TRY(gguf::visit_strings(*file_.source, file_.document, *array, [&](u64, std::string_view text, u64) {
      const std::size_t space = text.find(' ', 1);
      const auto left = ids_.find(text.substr(0, space));
      const auto right = space == std::string_view::npos ? std::nullopt : ids_.find(text.substr(space + 1));
      bool is_complete = left && right;
      if (is_complete) {
        joined.assign(text.substr(0, space));
        joined.append(text.substr(space + 1));
        is_complete = ids_.find(joined).has_value();
      }
      if (is_complete) {
        out_.merges.push_back({*left, *right});
      } else if (absent++ == 0) {
        first = text;
      }
      return true;
    }));
    if (absent > 0) {
      out_.findings.warning(Scope::model, "tok-merge-absent",
                            fmt::format("{} {} tokens that are not in the vocabulary, such as '{}': left out",
                                        counted(absent, "merge"), verb(absent, "names", "name"), first),
                            at_key(key));
    }
    return {};
  }

  // Returns the id from a key, else the loader's default; nullopt if there is no such token.
  std::optional<u32> special(std::string_view role, std::optional<u32> loaders) const {
    const auto stated = index_.unsigned_value(find_token_role(role)->key);
    const u64 id = stated.value_or(loaders.value_or(out_.tokens.size()));
    return id < out_.tokens.size() ? std::optional(static_cast<u32>(id)) : std::nullopt;
  }

  void read_special() {
    SpecialIds& ids = out_.special;
    ids.bos = special("bos", row_->special.bos);
    ids.eos = special("eos", row_->special.eos);
    ids.unk = special("unk", row_->special.unk);
    ids.sep = special("sep", row_->special.sep);
    ids.pad = special("pad", row_->special.pad);
    ids.cls = special("cls", row_->special.cls);
    ids.mask = special("mask", row_->special.mask);
    if (out_.kind == RebuiltKind::wordpiece) {
      // BERT's bos and eos are called cls and sep.
      if (ids.cls) ids.bos = ids.cls;
      if (ids.sep) ids.eos = ids.sep;
    }
    for (const std::optional<u32>& id : {ids.bos, ids.eos, ids.unk, ids.sep, ids.pad, ids.cls, ids.mask}) {
      if (!id) continue;
      i32& type = out_.types[*id];
      // Only added tokens are recognised in a text by their names.
      if (out_.kind == RebuiltKind::wordpiece && is(type, TokenType::normal)) {
        type = static_cast<i32>(TokenType::control);
      }
    }
  }

  bool flag(std::string_view key, bool fallback) const { return index_.bool_value(key).value_or(fallback); }

  Status read_settings() {
    out_.add_bos = flag("tokenizer.ggml.add_bos_token", row_->add_bos || add_bos_of_pre_) && out_.special.bos;
    out_.add_eos = flag("tokenizer.ggml.add_eos_token", row_->add_eos) && out_.special.eos;
    out_.add_sep = flag("tokenizer.ggml.add_sep_token", false) && out_.special.sep;
    const bool has_spaces = out_.kind != RebuiltKind::byte_bpe && out_.kind != RebuiltKind::wordpiece;
    out_.removes_extra_spaces = flag("tokenizer.ggml.remove_extra_whitespaces", false);
    out_.add_space_prefix = has_spaces && flag("tokenizer.ggml.add_space_prefix", row_->add_space_prefix);
    // llama.cpp adds a space before each word, including the first.
    if (out_.kind == RebuiltKind::unigram && out_.removes_extra_spaces) out_.add_space_prefix = true;
    out_.lowercase = flag("tokenizer.ggml.normalizer.lowercase", true);
    out_.strip_accents = index_.bool_value("tokenizer.ggml.normalizer.strip_accents");
    out_.context_length = index_.unsigned_value(index_.arch_key("context_length")).value_or(0);
    out_.strips_right = promises_phi3_tokens(index_.string_value("general.name").value_or(""));
    return read_map_of_characters();
  }

  Status read_map_of_characters() {
    constexpr std::string_view key = "tokenizer.ggml.precompiled_charsmap";
    const gguf::ArrayRef* array = index_.array_value(key);
    if (out_.kind != RebuiltKind::unigram || array == nullptr || array->count == 0) return {};
    auto bytes = read_charsmap(*file_.source, *array);
    if (!bytes) return refuse(bytes.error().code, key, bytes.error().message);
    out_.charsmap = std::move(*bytes);
    out_.findings.note(Scope::model, "tok-charsmap-differs", std::string(charsmap_differences), at_key(key));
    return {};
  }

  Status read_templates() {
    constexpr std::string_view key = "tokenizer.chat_template";
    const auto add = [&](std::string_view text, std::string_view of) -> Status {
      if (!is_utf8(text)) return refuse("tok-text", of, "is not UTF-8");
      return {};
    };
    if (const auto text = index_.string_value(key)) {
      MU_TRY(add(*text, key));
      out_.templates.main = std::string(*text);
    }
    const gguf::ArrayRef* names = index_.array_value("tokenizer.chat_templates");
    if (names == nullptr || names->element_type != gguf::ValueType::string) return {};
    constexpr u64 most = 1000;
    MU_ASSIGN(const auto list, gguf::read_strings(*file_.source, file_.document, *names, most));
    for (const std::string& name : list) {
      const std::string of = fmt::format("{}.{}", key, name);
      const auto text = index_.string_value(of);
      if (!text || !is_utf8(name)) continue;
      MU_TRY(add(*text, of));
      out_.templates.named.push_back({name, std::string(*text)});
    }
    return {};
  }

  const gguf::SetFile& file_;
  const gguf::Index index_;
  const RebuildOptions& options_;
  const KindRow* row_ = nullptr;
  bool add_bos_of_pre_ = false;
  NameIndex ids_;
  RebuiltTokenizer out_;
};

}  // namespace

Result<RebuiltTokenizer> tokenizer_files_from_keys(const gguf::SplitSet& set, const RebuildOptions& options) {
  return Rebuilder(set, options).rebuild();
}

// tokenizer_config.json and the other small files next to tokenizer.json.

namespace {

constexpr std::string_view template_file = "chat_template.jinja";
constexpr std::string_view piece_file = "vocab.txt";

// Readers take one line for each token.
bool has_line_ends(const RebuiltTokenizer& t) {
  return std::any_of(t.tokens.begin(), t.tokens.end(),
                     [](const std::string& token) { return token.find_first_of("\r\n") != std::string::npos; });
}

// Writes "bos_token": "<s>" and similar members.
void write_special_texts(const RebuiltTokenizer& t, json::Writer& out) {
  const auto text = [&](std::string_view name, const std::optional<u32>& id) {
    if (id) out.member(name, t.tokens[*id]);
  };
  text("bos_token", t.special.bos);
  text("eos_token", t.special.eos);
  text("unk_token", t.special.unk);
  text("sep_token", t.special.sep);
  text("pad_token", t.special.pad);
  text("cls_token", t.special.cls);
  text("mask_token", t.special.mask);
}

void write_templates(const ChatTemplates& templates, json::Writer& out) {
  if (templates.named.empty()) {
    out.member("chat_template", templates.main);
    return;
  }
  const auto write = [&](std::string_view name, std::string_view text) {
    const auto in_object = out.object();
    out.member("name", name);
    out.member("template", text);
  };
  const auto in_chat_template = out.array("chat_template");
  if (templates.main) write("default", *templates.main);
  for (const NamedTemplate& one : templates.named) write(one.name, one.text);
}

std::string tokenizer_config_text(const RebuiltTokenizer& t) {
  json::Writer out(json::Writer::Style::pretty);
  {
    const auto in_object = out.object();
    out.member("tokenizer_class", "PreTrainedTokenizerFast");
    write_special_texts(t, out);
    out.member("add_bos_token", t.add_bos);
    out.member("add_eos_token", t.add_eos);
    if (t.kind == RebuiltKind::sentencepiece || t.kind == RebuiltKind::unigram) {
      out.member("add_prefix_space", t.add_space_prefix);
    }
    out.member("clean_up_tokenization_spaces", t.clean_up_spaces);
    if (t.kind == RebuiltKind::wordpiece) {
      out.member("do_lower_case", t.lowercase);
      out.member_or_null("strip_accents", t.strip_accents);
    }
    if (t.context_length > 0) out.member("model_max_length", t.context_length);
    write_templates(t.templates, out);
  }
  return out.text() + "\n";
}

}  // namespace

std::vector<std::string_view> RebuiltTokenizer::file_names() const {
  std::vector<std::string_view> names = {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"};
  if (kind == RebuiltKind::wordpiece && !has_line_ends(*this)) names.push_back(piece_file);
  // Readers that find this file ignore all other templates.
  if (templates.main && templates.named.empty()) names.push_back(template_file);
  return names;
}

void RebuiltTokenizer::write_file(std::string_view name, const std::function<void(std::string_view)>& sink) const {
  if (name == "tokenizer.json") return write_tokenizer_json(*this, sink);
  if (name == "tokenizer_config.json") return sink(tokenizer_config_text(*this));
  if (name == template_file) return sink(templates.main.value_or(""));
  if (name == piece_file) {
    for (const std::string& token : tokens) sink(token + "\n");
    return;
  }
  json::Writer out(json::Writer::Style::pretty);
  {
    const auto in_object = out.object();
    write_special_texts(*this, out);
  }
  sink(out.text() + "\n");
}

}  // namespace modelutils::tokenizer
