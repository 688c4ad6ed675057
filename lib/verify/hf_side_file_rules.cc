// The JSON files beside the weights: tokenizer, generation settings, special tokens.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "hf/sentencepiece.h"
#include "io/random_access_file.h"
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

// The file as a JSON object. If it is there but is none, that is a finding.
std::unique_ptr<json::Document> load_object(const SafetensorsModel& model, std::string_view name, FindingLog& log) {
  if (!has(model, name)) return nullptr;
  auto document = json::load(model.set.folder + std::string(name));
  if (!document) {
    Finding finding = to_finding(document.error(), Scope::model);
    finding.file = name;
    log.add(std::move(finding));
    return nullptr;
  }
  if (!(*document)->root.is_object()) {
    remark(log, Severity::error, "hf-side-file", std::string(name), "is not a JSON object");
    return nullptr;
  }
  return std::move(*document);
}

// Rows of the embedding, which every token id must be below.
std::optional<u64> embedding_rows(const SafetensorsModel& model) {
  for (const mlx::Module& module : model.modules.list) {
    if (module.path.ends_with("embed_tokens") && !module.shape.empty()) return module.shape.front();
  }
  return std::nullopt;
}

// tokenizer.json: a model with a vocabulary, ids that have a row in the embedding.
void check_tokenizer(const SafetensorsModel& model, const json::Document& document, FindingLog& log) {
  const auto inner = json::member(document.root, "model");
  if (!inner || !inner->is_object()) {
    remark(log, Severity::error, "hf-tokenizer", "tokenizer.json field 'model'", "is missing or not an object");
    return;
  }
  u64 highest = 0;
  u64 tokens = 0;
  if (const auto vocabulary = json::object_member(*inner, "vocab")) {
    for (const auto [text, id] : *vocabulary) {
      uint64_t number = 0;
      if (id.get(number) != simdjson::SUCCESS) {
        remark(log, Severity::error, "hf-tokenizer", fmt::format("tokenizer.json token '{}'", text),
               "has an id that is no whole number");
        return;
      }
      highest = std::max<u64>(highest, number);
      ++tokens;
    }
  } else if (const auto list = json::array_member(*inner, "vocab")) {  // Unigram: [[text, score], …]
    tokens = list->size();
    highest = tokens == 0 ? 0 : tokens - 1;
  } else {
    remark(log, Severity::error, "hf-tokenizer", "tokenizer.json field 'model.vocab'",
           "is missing or neither an object nor a list");
    return;
  }
  if (const auto added = json::array_member(document.root, "added_tokens")) {
    for (const json::Element entry : *added) highest = std::max(highest, json::u64_member(entry, "id").value_or(0));
  }
  const std::optional<u64> rows = embedding_rows(model);
  if (tokens != 0 && rows && highest >= *rows) {
    remark(log, Severity::warning, "hf-tokenizer-rows", "tokenizer.json",
           fmt::format("has token id {}, the embedding has {} rows", highest, *rows));
  }
}

// tokenizer.model, where it is all there is: a SentencePiece model.
void check_sentencepiece(const SafetensorsModel& model, FindingLog& log) {
  constexpr u64 most_bytes = u64{256} << 20;
  constexpr std::string_view name = "tokenizer.model";
  const auto refuse = [&](const Error& error) {
    Finding finding = to_finding(error, Scope::model);
    finding.file = name;
    log.add(std::move(finding));
  };
  const auto file = RandomAccessFile::open(model.set.folder + std::string(name));
  if (!file) return refuse(file.error());
  if ((*file)->file_size() > most_bytes) {
    return remark(log, Severity::error, "hf-side-file", std::string(name), "is larger than any tokenizer (256 MiB)");
  }
  std::string bytes((*file)->file_size(), '\0');
  if (const Status read = (*file)->read_exact(0, std::as_writable_bytes(std::span(bytes))); !read) {
    return refuse(read.error());
  }
  if (const auto parsed = hf::parse_sentencepiece(bytes); !parsed) refuse(parsed.error());
}

}  // namespace

FindingLog side_file_rules(const SafetensorsModel& model) {
  FindingLog log;
  if (!model.set.is_directory) return log;
  const std::unique_ptr<json::Document> tokenizer = load_object(model, "tokenizer.json", log);
  if (tokenizer) check_tokenizer(model, *tokenizer, log);
  const bool any = has(model, "tokenizer.json") || has(model, "tokenizer.model") || has(model, "tekken.json") ||
                   has(model, "tiktoken.model") || has(model, "vocab.json") || has(model, "vocab.txt");
  if (!any) {
    remark(log, mlx_rules::is_whole_model(model) ? Severity::error : Severity::note, "hf-tokenizer-missing", {},
           "there is no tokenizer (tokenizer.json, tokenizer.model, vocab.json, …) beside the weights");
  }
  if (!has(model, "tokenizer.json") && has(model, "tokenizer.model")) check_sentencepiece(model, log);
  for (const std::string_view name : {"tokenizer_config.json", "special_tokens_map.json", "generation_config.json",
                                      "added_tokens.json", "vocab.json"}) {
    load_object(model, name, log);
  }
  return log;
}

}  // namespace modelutils
