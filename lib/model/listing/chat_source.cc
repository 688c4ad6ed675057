#include "model/listing/chat_source.h"

#include <fmt/core.h>

#include <algorithm>

#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "formats/hf/config_members.h"
#include "json/reader.h"
#include "model/listing/safetensors_listing.h"
#include "tokenizer/read/files.h"
#include "tokenizer/read/special_texts.h"
#include "tokenizer/tokenizer.h"

namespace modelutils {

namespace {

void sort_unique(std::vector<u64>& ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

std::vector<NamedToken> named_tokens(const gguf::SplitSet& set) {
  const gguf::SetFile& file = set.files.front();
  const gguf::Index index(file.document);
  const gguf::ArrayRef* texts = index.array_value(gguf::tokens_key);
  std::vector<NamedToken> named;
  if (texts == nullptr || texts->element_type != gguf::ValueType::string) return named;
  std::vector<u64> ids;
  for (const tokenizer::TokenRole& role : tokenizer::token_roles()) {
    const std::optional<u64> id = index.unsigned_value(role.key);
    if (!id || *id >= texts->count) continue;
    named.push_back({role.name, role.key, *id, {}});
    ids.push_back(*id);
  }
  sort_unique(ids);
  const auto take = [&](u64 id, std::string_view text, u64) {
    for (NamedToken& token : named) {
      if (token.id == id) token.text = text;
    }
    return true;
  };
  const Status read = gguf::visit_strings_at(*file.source, file.document, *texts, ids, take);
  if (!read) named.clear();
  return named;
}

namespace {

// Removes tokens that llama.cpp's vocabulary excludes again: "<|end|>" ends a message, not a turn, in vocabularies that
// have tokens for the end of a turn and for a call; "</s>" is a normal word in those with "<|tool_response>".
void take_back(std::vector<NamedToken>& stops) {
  const auto has = [&](std::string_view text) {
    return std::ranges::find(stops, text, &NamedToken::text) != stops.end();
  };
  const bool calls = has("<|call|>") || has("<|calls|>");
  const bool message_ends = calls && (has("<|return|>") || has("<|flush|>"));
  const bool responds = has("<|tool_response>");
  std::erase_if(stops, [&](const NamedToken& token) {
    return (message_ends && token.text == "<|end|>") || (responds && token.text == "</s>");
  });
}

}  // namespace

std::vector<NamedToken> stop_tokens(const gguf::SplitSet& set) {
  const gguf::SetFile& file = set.files.front();
  const gguf::Index index(file.document);
  const gguf::ArrayRef* texts = index.array_value(gguf::tokens_key);
  std::vector<NamedToken> stops;
  if (texts == nullptr || texts->element_type != gguf::ValueType::string) return stops;
  std::vector<u64> ids = file.document.end_tokens;
  for (const std::string_view role : {"eos", "eot", "eom"}) {
    const auto id = index.unsigned_value(tokenizer::find_token_role(role)->key);
    if (id && *id < texts->count) ids.push_back(*id);
  }
  sort_unique(ids);
  const auto take = [&](u64 id, std::string_view text, u64) {
    stops.push_back({{}, {}, id, std::string(text)});
    return true;
  };
  const Status read = gguf::visit_strings_at(*file.source, file.document, *texts, ids, take);
  if (!read) stops.clear();
  take_back(stops);
  return stops;
}

namespace {

// Returns the text of an added token in tokenizer_config.json or tokenizer.json; empty if neither lists it.
std::string added_text(const ModelFolder& folder, u64 id) {
  if (const auto config = json::load_if_present(folder, "tokenizer_config.json"); config && *config) {
    const auto decoder = json::object_member((*config)->root, "added_tokens_decoder");
    const auto token = decoder ? decoder->find(std::to_string(id)) : std::nullopt;
    if (token) return std::string(json::string_member(*token, "content").value_or(""));
  }
  const auto tokenizer = json::load_if_present(folder, "tokenizer.json");
  const auto added = tokenizer && *tokenizer ? json::array_member((*tokenizer)->root, "added_tokens") : std::nullopt;
  if (!added) return {};
  for (const json::Element token : *added) {
    if (json::u64_member(token, "id") == id) return std::string(json::string_member(token, "content").value_or(""));
  }
  return {};
}

void add_ids(std::optional<json::Element> value, std::vector<u64>& ids) {
  if (!value) return;
  const auto add = [&](json::Element element) {
    u64 id = 0;
    if (element.get(id) && std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  };
  json::Array list;
  if (!value->get(list)) return add(*value);
  for (const json::Element element : list) add(element);
}

}  // namespace

std::vector<NamedToken> stop_tokens(const SafetensorsModel& model) {
  std::vector<NamedToken> stops;
  if (!model.is_model_directory()) return stops;
  std::vector<u64> ids;
  const auto generation = hf::load_generation_config(model.folder);
  if (generation && generation->root()) add_ids(json::member(*generation->root(), "eos_token_id"), ids);
  if (ids.empty() && model.config) add_ids(model.config->field("eos_token_id"), ids);
  std::ranges::sort(ids);
  for (const u64 id : ids) stops.push_back({{}, {}, id, added_text(model.folder, id)});
  return stops;
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
