// generation_config.json: how the publisher wants a model to be sampled, and ids of special tokens.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/finding_log.h"
#include "io/model_folder.h"
#include "json/reader.h"

namespace modelutils::hf {

/// The file as it is. A model works without it, so a broken one counts as absent.
struct GenerationConfig {
  std::shared_ptr<json::Document> document;  ///< an object; empty if there is none that can be used
  FindingLog findings;                       ///< warnings: what is broken

  std::optional<json::Element> root() const { return document ? std::optional(document->root) : std::nullopt; }
};

/// Reads generation_config.json of a folder. What is not a JSON object is a warning ("hf-generation-config"); a file
/// that exists and cannot be read, or lies outside the folder, is an error.
Result<GenerationConfig> load_generation_config(const ModelFolder& folder);

/// Recommended sampling, in the types that llama.cpp's converter writes (gguf-py, general.sampling.*).
struct Sampling {
  std::optional<float> temperature, top_p, min_p, repetition_penalty;
  std::optional<i32> top_k;
};

/// `temperature`, `top_k`, `top_p`, `min_p`, `repetition_penalty`; null is absent. What is not a number that the type
/// can hold is left out, with a warning ("hf-generation-config").
Sampling read_sampling(const GenerationConfig& config, FindingLog& findings);

}  // namespace modelutils::hf
