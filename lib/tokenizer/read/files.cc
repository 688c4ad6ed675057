#include "tokenizer/read/files.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "formats/hf/config_members.h"
#include "io/file_kind.h"
#include "tokenizer/read/pipeline.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

constexpr u64 max_json_bytes = u64{256} << 20;
constexpr u64 max_text_bytes = u64{64} << 20;

Status load_json(const ModelFolder& folder, std::string_view name, std::shared_ptr<json::Document>& into) {
  MU_ASSIGN(into, json::load_if_present(folder, name, max_json_bytes));
  if (into && !into->root.is_object()) {
    return input_error("hf-tok-json", "must contain a JSON object", {}, {}, folder.file(name));
  }
  return {};
}

// Returns the form that a file name with one token per line indicates.
TokenizerForm listed_form(std::string_view name) {
  if (name.ends_with(".tiktoken") || name == "tiktoken.model") return TokenizerForm::tiktoken;
  if (name.starts_with("rwkv_vocab") && name.ends_with(".txt")) return TokenizerForm::rwkv;
  if (name == "tokenizer.jsonl") return TokenizerForm::plamo;
  return name == "vocab.txt" ? TokenizerForm::wordpiece : TokenizerForm::none;
}

// Loads the first such file of the folder.
Status load_listed(const ModelFolder& folder, TokenizerFiles& files) {
  MU_ASSIGN(std::vector<std::string> names, list_if_present(folder.path));
  std::sort(names.begin(), names.end());
  const auto found = std::find_if(names.begin(), names.end(),
                                  [](std::string_view name) { return listed_form(name) != TokenizerForm::none; });
  if (found == names.end()) return {};
  MU_ASSIGN(files.listed_text, read_if_present(folder, *found, max_text_bytes));
  files.listed_name = *found;
  if (files.listed_text) files.form = listed_form(*found);
  return {};
}

// Loads the files of a directory without tokenizer.json.
Status load_slow_tokenizer(const ModelFolder& folder, TokenizerFiles& files) {
  MU_TRY(load_json(folder, "tekken.json", files.tekken_json));
  if (files.tekken_json) {
    files.form = TokenizerForm::tekken;
    return {};
  }
  for (const std::string_view name :
       {shifted_model_name, std::string_view("spiece.model"), std::string_view("tokenizer.model")}) {
    MU_ASSIGN(auto bytes, read_if_present(folder, name, max_text_bytes));
    if (!bytes) continue;
    files.model_bytes = std::move(bytes);
    files.model_name = name;
  }
  if (files.model_bytes) {
    if (looks_like_tiktoken(*files.model_bytes)) {
      files.listed_text.swap(files.model_bytes);
      files.listed_name = files.model_name;
      files.form = TokenizerForm::tiktoken;
      return {};
    }
    files.form = TokenizerForm::sentencepiece;
    return {};
  }
  MU_TRY(load_json(folder, "vocab.json", files.vocab_json));
  MU_ASSIGN(files.merges_text, read_if_present(folder, "merges.txt", max_text_bytes));
  if (files.vocab_json && files.merges_text) {
    files.form = TokenizerForm::vocab_merges;
    return {};
  }
  if (files.vocab_json || files.merges_text) {
    return input_error(
        "hf-tok-missing",
        fmt::format("the tokenizer is incomplete: there is {} but no {}; --no-vocab converts without a tokenizer",
                    files.vocab_json ? "vocab.json" : "merges.txt", files.vocab_json ? "merges.txt" : "vocab.json"),
        {}, {}, files.directory);
  }
  return load_listed(folder, files);
}

struct Refusal {
  std::string_view type, code, text;
};
constexpr std::array<Refusal, 1> refusals = {{
    {"WordLevel", "hf-tok-wordlevel", "a WordLevel model knows only whole words, and llama.cpp has no such tokenizer"},
}};

bool has_all_byte_tokens(json::Object vocab) {
  std::array<bool, 256> seen{};
  for (const auto field : vocab) {
    if (const auto byte = byte_token_value(field.key)) seen[*byte] = true;
  }
  return std::all_of(seen.begin(), seen.end(), [](bool one) { return one; });
}

}  // namespace

Result<std::optional<std::string>> read_if_present(const ModelFolder& folder, std::string_view name, u64 most) {
  MU_ASSIGN(const auto file, open_side_file(folder, name));
  if (file == nullptr) return std::nullopt;
  if (file->file_size() > most) {
    return input_error("hf-tok-too-large",
                       fmt::format("is {} bytes long, at most {} are supported", file->file_size(), most), {}, {},
                       file->name());
  }
  std::string bytes(static_cast<std::size_t>(file->file_size()), '\0');
  MU_TRY(file->read_exact(0, std::as_writable_bytes(std::span(bytes))));
  if (file_kind(std::string_view(bytes).substr(0, file_kind_bytes)) == FileKind::git_lfs) {
    return input_error("hf-tok-pointer", fmt::format("is {}", file_kind_text(FileKind::git_lfs)), {}, {}, file->name());
  }
  return std::optional(std::move(bytes));
}

std::optional<json::Element> TokenizerFiles::tokenizer_config_root() const {
  return tokenizer_config ? std::optional(tokenizer_config->root) : std::nullopt;
}

std::string_view TokenizerFiles::tokenizer_class() const {
  return tokenizer_config ? json::string_member(tokenizer_config->root, "tokenizer_class").value_or("") : "";
}

bool looks_like_sentencepiece(std::string_view bytes) {
  return !bytes.empty() && bytes.front() == '\x0a';
}

bool looks_like_tiktoken(std::string_view bytes) {
  constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
  bytes = bytes.substr(0, 1024);
  const std::size_t space = bytes.find_first_not_of(base64_digits);
  if (space == std::string_view::npos || space == 0 || bytes[space] != ' ') return false;
  const std::size_t end = bytes.find_first_not_of("0123456789", space + 1);
  return end != space + 1 && (end == std::string_view::npos || bytes[end] == '\n' || bytes[end] == '\r');
}

bool is_unsupported_kind(const Error& error) {
  return error.code == "hf-tok-kind" || error.code == "hf-tok-unigram" || error.code == "hf-tok-wordpiece" ||
         std::any_of(refusals.begin(), refusals.end(), [&](const Refusal& one) { return one.code == error.code; });
}

Result<TokenizerForm> tokenizer_form(json::Element root) {
  const auto model = json::member(root, "model");
  if (!model || !model->is_object()) return input_error("hf-tok-json", "must be an object", "model");
  const std::string type(json::string_member(*model, "type").value_or(""));
  for (const Refusal& refusal : refusals) {
    if (type == refusal.type) {
      return input_error(std::string(refusal.code), fmt::format("{}; it cannot be converted", refusal.text), "model");
    }
  }
  if (type == "Unigram") return TokenizerForm::unigram;
  const auto vocab = json::object_member(*model, "vocab");
  if (!vocab) return input_error("hf-tok-json", "must be an object of strings and ids", "model.vocab");
  if (type == "WordPiece") return TokenizerForm::wordpiece;
  const bool untyped_bpe = type.empty() && json::array_member(*model, "merges");
  if (type != "BPE" && !untyped_bpe) {
    return input_error("hf-tok-kind",
                       fmt::format("the model type is '{}'; only BPE, Unigram and WordPiece are supported", type),
                       "model");
  }
  for (const std::string_view key : {"end_of_word_suffix", "continuing_subword_prefix"}) {
    if (!json::string_member(*model, key).value_or("").empty()) {
      return input_error("hf-tok-kind", fmt::format("a BPE model with {} is not supported", key), "model");
    }
  }
  if (has_type(pre_tokenizers(root), "ByteLevel") || has_type(decoders(root), "ByteLevel")) {
    return TokenizerForm::byte_bpe;
  }
  if (json::bool_member(*model, "byte_fallback").value_or(false) || has_all_byte_tokens(*vocab)) {
    return TokenizerForm::spm_json;
  }
  return input_error("hf-tok-kind", "a BPE model without a ByteLevel component or byte fallback is not supported",
                     "model");
}

Result<TokenizerFiles> load_tokenizer_files(const ModelFolder& folder) {
  TokenizerFiles files;
  files.directory = folder.path;
  MU_TRY(load_json(folder, "tokenizer.json", files.tokenizer_json));
  if (files.tokenizer_json) {
    const auto form = tokenizer_form(files.tokenizer_json->root);
    if (!form) return tl::make_unexpected(in_file(form.error(), files.tokenizer_json->name));
    files.form = *form;
    if (files.form == TokenizerForm::spm_json) {
      MU_ASSIGN(files.model_bytes, read_if_present(folder, "tokenizer.model", max_text_bytes));
    }
  } else {
    MU_TRY(load_slow_tokenizer(folder, files));
  }
  MU_TRY(load_json(folder, "tokenizer_config.json", files.tokenizer_config));
  MU_TRY(load_json(folder, "special_tokens_map.json", files.special_tokens_map));
  MU_TRY(load_json(folder, "added_tokens.json", files.added_tokens));
  return files;
}

namespace {

constexpr u64 max_template_bytes = u64{16} << 20;
constexpr std::size_t max_templates = 1000;
constexpr std::size_t max_name = 256;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string key_name(std::string_view name) {
  std::string key(name.substr(0, max_name));
  std::replace_if(
      key.begin(), key.end(), [](char c) { return !is_letter_or_digit(c); }, '_');
  return key;
}

Result<std::optional<std::string>> read_text(const ModelFolder& folder, const std::string& name) {
  MU_ASSIGN(std::optional<std::string> text, read_if_present(folder, name, max_template_bytes));
  if (text && !is_utf8(*text)) return input_error("hf-tok-template", "is not UTF-8", {}, {}, folder.file(name));
  return text;
}

// Collects templates; the first source of each name wins.
class TemplateCollector {
 public:
  TemplateCollector(ChatTemplates& templates, FindingLog& findings) : templates_(templates), findings_(findings) {}

  void add(std::string_view name, std::string_view text, std::string_view source) {
    if (name == "default") {
      place(templates_.main, text, "chat template", source);
      return;
    }
    const std::string key = key_name(name);
    const auto same = std::find_if(templates_.named.begin(), templates_.named.end(),
                                   [&](const NamedTemplate& one) { return one.name == key; });
    if (same == templates_.named.end()) {
      if (key.empty() || templates_.named.size() == max_templates) return;
      templates_.named.push_back({key, std::string(text)});
    } else if (same->text != text) {
      differs(fmt::format("chat template '{}'", key), source);
    }
  }

  // Adds the value of a chat_template member: a string, or a list of {name, template}.
  Status add_value(json::Element value, std::string_view source) {
    std::string_view text;
    if (value.get(text)) {
      add("default", text, source);
      return {};
    }
    json::Array list;
    if (!value.get(list)) return wrong_type(source);
    for (const json::Element entry : list) {
      const auto name = json::string_member(entry, "name");
      const auto body = json::string_member(entry, "template");
      if (!name || !body) return wrong_type(source);
      add(*name, *body, source);
    }
    return {};
  }

 private:
  static tl::unexpected<Error> wrong_type(std::string_view source) {
    return input_error("hf-tok-template", "must be a string or a list of {name, template}",
                       fmt::format("{}: chat_template", source));
  }
  void differs(std::string what, std::string_view source) {
    findings_.warning(Scope::model, "hf-tok-template-differs",
                      fmt::format("another template is in {}; the order of precedence is chat_template.jinja, "
                                  "tokenizer_config.json, chat_template.json",
                                  source),
                      std::move(what));
  }
  void place(std::optional<std::string>& into, std::string_view text, std::string what, std::string_view source) {
    if (!into) {
      into = std::string(text);
    } else if (*into != text) {
      differs(std::move(what), source);
    }
  }

  ChatTemplates& templates_;
  FindingLog& findings_;
};

Status add_jinja_files(const ModelFolder& folder, TemplateCollector& collector) {
  constexpr std::string_view ending = ".jinja";
  const std::string more = "additional_chat_templates";
  MU_ASSIGN(const std::optional<std::string> main, read_text(folder, "chat_template.jinja"));
  if (main) collector.add("default", *main, "chat_template.jinja");
  MU_ASSIGN(std::vector<std::string> names, list_if_present(folder.file(more)));
  std::erase_if(names,
                [&](const std::string& name) { return name.size() <= ending.size() || !name.ends_with(ending); });
  if (names.size() > max_templates) names.resize(max_templates);
  for (const std::string& name : names) {
    MU_ASSIGN(const std::optional<std::string> text, read_text(folder, more + "/" + name));
    if (text) collector.add(name.substr(0, name.size() - ending.size()), *text, more);
  }
  return {};
}

}  // namespace

Result<ChatTemplates> read_chat_templates(const ModelFolder& folder, std::optional<json::Element> tokenizer_config,
                                          FindingLog& findings) {
  ChatTemplates templates;
  TemplateCollector collector(templates, findings);
  MU_TRY(add_jinja_files(folder, collector));
  if (tokenizer_config) {
    const auto value = json::member(*tokenizer_config, "chat_template");
    if (value) MU_TRY(collector.add_value(*value, "tokenizer_config.json"));
  }
  MU_ASSIGN(const auto document, json::load_if_present(folder, "chat_template.json", max_template_bytes));
  if (document) {
    const auto value = json::member(document->root, "chat_template");
    if (value) MU_TRY(collector.add_value(*value, "chat_template.json"));
  }
  return templates;
}

std::optional<std::string> folder_template(const ModelFolder& folder) {
  const auto config = json::load_if_present(folder, "tokenizer_config.json");
  FindingLog findings;
  const auto root = config && *config ? std::optional((*config)->root) : std::nullopt;
  const auto templates = read_chat_templates(folder, root, findings);
  return templates ? templates->main : std::nullopt;
}

}  // namespace modelutils::tokenizer
