#include "model/listing/chat_source.h"

#include <fmt/core.h>

#include <algorithm>

#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "model/listing/safetensors_listing.h"
#include "tokenizer/read/files.h"
#include "tokenizer/read/special_texts.h"
#include "tokenizer/tokenizer.h"

namespace modelutils {

std::vector<NamedToken> named_tokens(const gguf::SplitSet& set) {
  const gguf::SetFile& file = set.files.front();
  const gguf::Index index(file.document);
  const gguf::ArrayRef* texts = index.array_value("tokenizer.ggml.tokens");
  std::vector<NamedToken> named;
  if (texts == nullptr || texts->element_type != gguf::ValueType::string) return named;
  u64 highest = 0;
  for (const tokenizer::TokenRole& role : tokenizer::token_roles()) {
    const std::optional<u64> id = index.unsigned_value(role.key);
    if (!id || *id >= texts->count) continue;
    named.push_back({role.name, role.key, *id, {}});
    highest = std::max(highest, *id);
  }
  if (named.empty()) return named;
  const Status read = gguf::visit_strings(*file.source, file.document, *texts, [&](u64 id, std::string_view text, u64) {
    for (NamedToken& token : named) {
      if (token.id == id) token.text = text;
    }
    return id < highest;
  });
  if (!read) named.clear();
  return named;
}

namespace {

constexpr std::string_view main_key = "tokenizer.chat_template";
constexpr std::string_view main_name = "default";

bool is_main(std::string_view name) {
  return name.empty() || name == main_name;
}

tl::unexpected<Error> missing(std::string_view name, const std::vector<std::string>& names, const std::string& path) {
  std::string message = is_main(name) ? "the model has no default chat template"
                                      : fmt::format("the model has no chat template '{}'", name);
  if (names.empty()) message = "the model has no chat template";
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) message += (i == 0 ? "; it has " : ", ") + names[i];
  if (names.size() > most) message += ", …";
  Error error = input_error("template-missing", std::move(message), {}, {}, path).value();
  error.kind = ErrorKind::no_match;
  return tl::make_unexpected(std::move(error));
}

}  // namespace

Result<ChatSource> chat_source(const gguf::SplitSet& set, std::string_view name) {
  const gguf::SetFile& file = set.files.front();
  const std::string wanted = std::string(main_key) + (is_main(name) ? "" : "." + std::string(name));
  std::vector<std::string> names;
  for (const gguf::KeyValue& key : file.document.keys) {
    const auto* text = std::get_if<std::string>(&key.value);
    if (text == nullptr || !key.key.starts_with(main_key)) continue;
    if (key.key != wanted) {
      const std::string_view rest = std::string_view(key.key).substr(main_key.size());
      if (rest.empty() || rest.front() == '.') names.emplace_back(rest.empty() ? main_name : rest.substr(1));
      continue;
    }
    ChatSource chat{file.path, std::string(at_key(wanted)), *text, key.value_offset + sizeof(u64), {}};
    for (NamedToken& token : named_tokens(set)) {
      std::string variable = fmt::format("{}_token", token.role);
      if (tokenizer::find_special_variable(variable) != nullptr) {
        chat.special_tokens.emplace_back(std::move(variable), std::move(token.text));
      }
    }
    return chat;
  }
  return missing(name, names, file.path);
}

Result<ChatSource> chat_source(const SafetensorsModel& model, std::string_view name) {
  if (!model.set.is_directory) return no_tokenizer_files();
  MU_ASSIGN(const tokenizer::TokenizerFiles files, tokenizer::load_tokenizer_files(model.folder));
  FindingLog said;  // verify reports these
  MU_ASSIGN(tokenizer::ChatTemplates templates,
            tokenizer::read_chat_templates(model.folder, files.tokenizer_config_root(), said));
  ChatSource chat{model.folder.path, {}, {}, {}, {}};
  std::optional<std::string> found = is_main(name) ? std::move(templates.main) : std::nullopt;
  std::vector<std::string> names;
  if (!is_main(name) && templates.main) names.emplace_back(main_name);
  for (tokenizer::NamedTemplate& one : templates.named) {
    if (one.name == name) found = std::move(one.text);
    names.push_back(std::move(one.name));
  }
  if (!found) return missing(name, names, chat.path);
  chat.text = std::move(*found);
  const tokenizer::SpecialTexts texts = tokenizer::read_special_texts(files);
  for (const tokenizer::SpecialVariable& variable : tokenizer::special_variables()) {
    if (const auto& text = texts.*variable.text) chat.special_tokens.emplace_back(variable.name, *text);
  }
  return chat;
}

}  // namespace modelutils
