#include "listing/directory_tokenizer.h"

#include <algorithm>
#include <array>

#include "tokenizer/read/chat_template.h"
#include "tokenizer/read/files.h"
#include "tokenizer/read/read_tokenizer.h"
#include "tokenizer/read/special_texts.h"

namespace modelutils {

namespace {

u64 embedding_rows_of(const SafetensorsModel& model) {
  constexpr std::array<std::string_view, 5> names = {"embed_tokens.weight", "tok_embeddings.weight", "wte.weight",
                                                     "word_embeddings.weight", "embeddings.weight"};
  for (const auto& ref : model.set.tensors) {
    const safetensors::Tensor& tensor = model.set.tensor(ref);
    const bool is_embedding =
        std::any_of(names.begin(), names.end(), [&](std::string_view name) { return tensor.name.ends_with(name); });
    if (is_embedding && tensor.shape.size() == 2) return tensor.shape.front();
  }
  return model.config ? model.config->vocab_size.value_or(0) : 0;
}

std::optional<std::string> template_text(const SafetensorsModel& model, const tokenizer::TokenizerFiles& files,
                                         std::string_view key) {
  constexpr std::string_view prefix = "chat_template.";
  FindingLog findings;
  const auto templates = tokenizer::read_chat_templates(model.folder, files.tokenizer_config_root(), findings);
  if (!templates) return std::nullopt;
  if (key == "chat_template") return templates->main;
  for (const tokenizer::NamedTemplate& one : templates->named) {
    if (one.name == key.substr(prefix.size())) return one.text;
  }
  return std::nullopt;
}

}  // namespace

tl::unexpected<Error> no_tokenizer_files() {
  return input_error("hf-tok-missing", "is not a directory: a model's tokenizer is in files next to its weights");
}

Result<tokenizer::EncodeKeys> directory_tokenizer(const SafetensorsModel& model) {
  if (!model.set.is_directory) return no_tokenizer_files();
  tokenizer::TokenizerOptions options;
  options.embedding_rows = embedding_rows_of(model);
  if (model.config) options.config = &*model.config;
  MU_ASSIGN(tokenizer::Tokenizer tokenizer, tokenizer::read_tokenizer(model.folder, options));
  return tokenizer::encode_keys(std::move(tokenizer), {}, {});
}

std::optional<std::string> directory_text(const SafetensorsModel& model, std::string_view key) {
  const bool is_template = key == "chat_template" || key.starts_with("chat_template.");
  const tokenizer::SpecialVariable* token = tokenizer::find_special_variable(key);
  if (!model.set.is_directory || (!is_template && token == nullptr)) return std::nullopt;
  const auto files = tokenizer::load_tokenizer_files(model.folder);
  if (!files) return std::nullopt;
  if (is_template) return template_text(model, *files, key);
  return tokenizer::read_special_texts(*files).*(token->text);
}

}  // namespace modelutils
