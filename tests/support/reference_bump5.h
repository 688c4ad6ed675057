// Reference implementation of BUMPWGT5, written from docs/formats/bump5.md: in memory, slow, and independent of
// lib/formats/bump, lib/convert/to_bump and lib/json. Tests compare the converter with it.
#pragma once

#include <string>
#include <vector>

#include "support/llama_model.h"

namespace modelutils::test {

/// A tokenizer as in GGUF. Without tokens, there is none.
struct TinyTokens {
  std::string model = "llama";  ///< tokenizer.ggml.model
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<i32> types;
  std::vector<std::string> merges;
};

/// Properties of a model that LlamaModel lacks.
struct Bump5Traits {
  TinyTokens vocabulary;
  std::string name = "tiny";
  float linear_scaling = 1;  ///< rope.scaling.factor; 1: no such key
  u32 sliding_window = 0;    ///< 0: no such key
  bool as_is = false;        ///< keep the matrices' types, like upstream's converter
};

/// Returns a model of the shape, of architecture llama, qwen2, qwen3 or gemma3, with that architecture's norms and keys
/// for `traits`.
LlamaModel bump5_model(const LlamaShape& shape, const Bump5Traits& traits);
/// At least 12 tokens (including "ab" from "a" and "b"), and two merges, one of which refers to missing tokens.
TinyTokens tiny_tokens(std::string model);

struct ReferenceEntry5 {
  std::string name;
  std::string dtype;
  u64 offset = 0;
  std::string bytes;
};

/// The four output files.
struct ReferenceBump5 {
  std::vector<ReferenceEntry5> entries;
  u64 payload_end = 0;
  std::string weights;
  std::string manifest;
  std::string map;
  std::string config;
};

/// `creator` is created_by in the metadata. `context` 0 means the model's own.
ReferenceBump5 reference_bump5(LlamaModel model, const Bump5Traits& traits, const std::string& creator,
                               u64 context = 0);

}  // namespace modelutils::test
