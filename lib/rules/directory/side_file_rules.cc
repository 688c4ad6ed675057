// Checks the text files beside the weights: tokenizer, generation settings, special tokens, model card.
#include <algorithm>

#include "hf/generation_config.h"
#include "json/reader.h"
#include "rules/chat_template.h"
#include "rules/directory/mlx_rule_parts.h"
#include "rules/directory/mlx_rules.h"
#include "template/prompt_text.h"
#include "tokenizer/read/added_tokens.h"
#include "tokenizer/read/chat_template.h"
#include "tokenizer/read/read_tokenizer.h"

namespace modelutils {

namespace {

// Reports the file if it exists but is not a JSON object.
void check_object(const ModelFolder& folder, std::string_view name, FindingLog& log) {
  const auto document = json::load_if_present(folder, name);
  if (!document) {
    log.add(without_path(document.error(), Scope::model, name));
  } else if (*document && !(*document)->root.is_object()) {
    log.error(Scope::model, "hf-side-file", "is not a JSON object", {}, {}, name);
  }
}

// Returns the number of embedding rows; every token id must be lower.
std::optional<u64> embedding_rows(const SafetensorsModel& model) {
  const Module* embedding = mlx_rules::embedding_of(model);
  return embedding == nullptr || embedding->shape.empty() ? std::nullopt : std::optional(embedding->shape.front());
}

// Returns the template's markers that are in the vocabulary but not among the added tokens, which have types of their
// own. Rarely any.
std::vector<std::string> markers_without_type(const ModelFolder& folder, const jinja::Template& parsed, u64 rows) {
  std::vector<std::string> markers = jinja::written_markers(parsed);
  const auto files = tokenizer::load_tokenizer_files(folder);
  FindingLog said;
  const auto added = files ? tokenizer::collect_added_tokens(*files, rows, said)
                           : Result<tokenizer::AddedTokens>(tl::make_unexpected(files.error()));
  if (!added) return {};
  std::erase_if(markers, [&](const std::string& marker) {
    return std::any_of(added->tokens.begin(), added->tokens.end(),
                       [&](const tokenizer::AddedToken& token) { return token.content == marker; });
  });
  if (!files->tokenizer_json) return markers;
  const auto model = json::member(files->tokenizer_json->root, "model");
  const auto vocabulary = model ? json::member(*model, "vocab") : std::nullopt;
  json::Object tokens;
  if (!vocabulary || !vocabulary->get(tokens)) return markers;
  std::erase_if(markers, [&](const std::string& marker) { return !tokens.find(marker); });
  return markers;
}

void check_template(const ModelFolder& folder, std::string_view text, const std::string& where, std::optional<u64> rows,
                    FindingLog& log) {
  const auto parsed = check_chat_template(text, where, {}, {}, log);
  if (!parsed || !rows || *rows == 0) return;
  const std::vector<std::string> markers = markers_without_type(folder, *parsed, *rows);
  if (markers.empty()) return;
  tokenizer::TokenizerOptions options;
  options.embedding_rows = *rows;
  const auto tokenizer = tokenizer::read_tokenizer(folder, options);  // as a converter would read it
  if (tokenizer) check_written_tokens(markers, texts_of(*tokenizer), where, log);
}

void check_templates(const ModelFolder& folder, std::optional<u64> rows, FindingLog& log) {
  const auto config = json::load_if_present(folder, "tokenizer_config.json");
  FindingLog said;  // discarded: the tokenizer's rules report these
  const auto root = config && *config ? std::optional((*config)->root) : std::nullopt;
  const auto templates = tokenizer::read_chat_templates(folder, root, said);
  if (!templates) return;
  if (templates->main) check_template(folder, *templates->main, "chat template", rows, log);
  for (const tokenizer::NamedTemplate& one : templates->named) {
    check_template(folder, one.text, "chat template '" + one.name + "'", rows, log);
  }
}

}  // namespace

FindingLog side_file_rules(const SafetensorsModel& model) {
  FindingLog log;
  if (!model.set.is_directory) return log;
  const ModelFolder& folder = model.folder;
  const auto has = [&](std::string_view name) { return is_present(folder.file(name)); };
  const bool readable =
      has("tokenizer.json") || has("tokenizer.model") || has("spiece.model") || has("tekken.json") || has("vocab.json");
  FindingLog tokenizer;
  if (readable) {
    tokenizer = tokenizer::check_tokenizer(folder, embedding_rows(model));
  } else if (!has("tiktoken.model") && !has("vocab.txt")) {
    log.add(mlx_rules::embedding_of(model) != nullptr ? Severity::error : Severity::note, Scope::model,
            "hf-tokenizer-missing",
            "there is no tokenizer (tokenizer.json, tokenizer.model, vocab.json, …) next to the weights");
  }
  if (const auto generation = hf::load_generation_config(folder)) {
    log.add_all(generation->findings);
  } else {
    log.add(without_path(generation.error(), Scope::model, "generation_config.json"));
  }
  // The tokenizer's checks stop at the first broken file, so check the remaining ones here.
  for (const std::string_view name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}) {
    const auto is_said = [&](const Finding& finding) { return finding.file == name; };
    if (std::none_of(tokenizer.begin(), tokenizer.end(), is_said)) check_object(folder, name, log);
  }
  if (const auto card = open_side_file(folder, "README.md"); !card) {
    log.add(without_path(card.error(), Scope::model, "README.md"));
  }
  log.add_all(std::move(tokenizer));
  check_templates(folder, embedding_rows(model), log);
  return log;
}

}  // namespace modelutils
