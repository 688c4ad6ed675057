// generation_config.json: the publisher's recommended sampling parameters, and ids of special tokens.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/finding_log.h"
#include "io/model_folder.h"
#include "json/reader.h"

namespace modelutils::hf {

/// The parsed file. A model works without it, so a broken file counts as absent.
struct GenerationConfig {
  std::shared_ptr<json::Document> document;  ///< an object; empty if the file is absent or broken
  FindingLog findings;                       ///< warnings about a broken file

  std::optional<json::Element> root() const { return document ? std::optional(document->root) : std::nullopt; }
};

/// Reads a folder's generation_config.json. A file that is not a JSON object gives a warning ("hf-generation-config");
/// one that cannot be read or lies outside the folder is an error.
Result<GenerationConfig> load_generation_config(const ModelFolder& folder);

/// Recommended sampling parameters, in the types that llama.cpp's converter writes (gguf-py, general.sampling.*).
struct Sampling {
  std::optional<float> temperature, top_p, min_p, repetition_penalty;
  std::optional<i32> top_k;
};

/// Reads `temperature`, `top_k`, `top_p`, `min_p` and `repetition_penalty`; null counts as absent. A value that is not
/// a number or does not fit the type is skipped with a warning ("hf-generation-config").
Sampling read_sampling(const GenerationConfig& config, FindingLog& findings);

}  // namespace modelutils::hf
