// The JSON files beside the weights: tokenizer, generation settings, special tokens.
#include <algorithm>
#include <filesystem>

#include "hf/generation_config.h"
#include "hf/tokenizer.h"
#include "json/reader.h"
#include "verify/mlx_rule_parts.h"
#include "verify/mlx_rules.h"

namespace modelutils {

namespace {

using mlx_rules::remark;

bool has(const SafetensorsModel& model, std::string_view name) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(model.set.folder + std::string(name), ignored));
}

// If the file is there, it is a JSON object.
void check_object(const SafetensorsModel& model, std::string_view name, FindingLog& log) {
  if (!has(model, name)) return;
  const auto document = json::load(model.set.folder + std::string(name));
  if (!document) {
    Finding finding = to_finding(document.error(), Scope::model);
    finding.file = name;
    log.add(std::move(finding));
  } else if (!(*document)->root.is_object()) {
    remark(log, Severity::error, "hf-side-file", std::string(name), "is not a JSON object");
  }
}

// Rows of the embedding, which every token id must be below.
std::optional<u64> embedding_rows(const SafetensorsModel& model) {
  for (const mlx::Module& module : model.modules.list) {
    if (module.path.ends_with("embed_tokens") && !module.shape.empty()) return module.shape.front();
  }
  return std::nullopt;
}

}  // namespace

FindingLog side_file_rules(const SafetensorsModel& model) {
  FindingLog log;
  if (!model.set.is_directory) return log;
  const bool readable = has(model, "tokenizer.json") || has(model, "tokenizer.model") || has(model, "vocab.json");
  Findings tokenizer;
  if (readable) {
    tokenizer = hf::check_tokenizer(model.set.folder, embedding_rows(model));
  } else if (!has(model, "tekken.json") && !has(model, "tiktoken.model") && !has(model, "vocab.txt")) {
    remark(log, mlx_rules::is_whole_model(model) ? Severity::error : Severity::note, "hf-tokenizer-missing", {},
           "there is no tokenizer (tokenizer.json, tokenizer.model, vocab.json, …) beside the weights");
  }
  if (const auto generation = hf::load_generation_config(model.set.folder)) {
    for (const Finding& finding : generation->findings) log.add(finding);
  } else {
    Finding finding = to_finding(generation.error(), Scope::model);
    finding.file = "generation_config.json";
    log.add(std::move(finding));
  }
  // The tokenizer's files end with the first that is broken; the others are looked at here.
  for (const std::string_view name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}) {
    const auto is_said = [&](const Finding& finding) { return finding.file == name; };
    if (std::none_of(tokenizer.begin(), tokenizer.end(), is_said)) check_object(model, name, log);
  }
  for (Finding& finding : tokenizer) log.add(std::move(finding));
  return log;
}

}  // namespace modelutils
