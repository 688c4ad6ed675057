// The text next to the weights: tokenizer, generation settings, special tokens, model card.
#include <algorithm>

#include "hf/generation_config.h"
#include "json/reader.h"
#include "tokenizer/tokenizer.h"
#include "verify/mlx_rule_parts.h"
#include "verify/mlx_rules.h"

namespace modelutils {

namespace {

using mlx_rules::remark;

void add_error(FindingLog& log, const Error& error, std::string_view name) {
  Finding finding = to_finding(error, Scope::model);
  finding.file = name;
  log.add(std::move(finding));
}

// If the file is there, it is a JSON object.
void check_object(const ModelFolder& folder, std::string_view name, FindingLog& log) {
  const auto document = json::load_if_present(folder, name);
  if (!document) {
    add_error(log, document.error(), name);
  } else if (*document && !(*document)->root.is_object()) {
    Finding finding{Severity::error, Scope::model, "hf-side-file", std::nullopt, {}, "is not a JSON object", {}};
    finding.file = name;
    log.add(std::move(finding));
  }
}

// Rows of the embedding, which every token id must be below.
std::optional<u64> embedding_rows(const SafetensorsModel& model) {
  const mlx::Module* embedding = mlx_rules::embedding_of(model);
  return embedding == nullptr || embedding->shape.empty() ? std::nullopt : std::optional(embedding->shape.front());
}

}  // namespace

FindingLog side_file_rules(const SafetensorsModel& model) {
  FindingLog log;
  if (!model.set.is_directory) return log;
  const ModelFolder& folder = model.folder;
  const auto has = [&](std::string_view name) { return is_present(folder.file(name)); };
  const bool readable = has("tokenizer.json") || has("tokenizer.model") || has("vocab.json");
  Findings tokenizer;
  if (readable) {
    tokenizer = tokenizer::check_tokenizer(folder, embedding_rows(model));
  } else if (!has("tekken.json") && !has("tiktoken.model") && !has("vocab.txt")) {
    remark(log, mlx_rules::embedding_of(model) != nullptr ? Severity::error : Severity::note, "hf-tokenizer-missing",
           {}, "there is no tokenizer (tokenizer.json, tokenizer.model, vocab.json, …) next to the weights");
  }
  if (const auto generation = hf::load_generation_config(folder)) {
    for (const Finding& finding : generation->findings) log.add(finding);
  } else {
    Finding finding = to_finding(generation.error(), Scope::model);
    finding.file = "generation_config.json";
    log.add(std::move(finding));
  }
  // The tokenizer's files end with the first that is broken; the others are looked at here.
  for (const std::string_view name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}) {
    const auto is_said = [&](const Finding& finding) { return finding.file == name; };
    if (std::none_of(tokenizer.begin(), tokenizer.end(), is_said)) check_object(folder, name, log);
  }
  if (const auto card = open_side_file(folder, "README.md"); !card) add_error(log, card.error(), "README.md");
  for (Finding& finding : tokenizer) log.add(std::move(finding));
  return log;
}

}  // namespace modelutils
