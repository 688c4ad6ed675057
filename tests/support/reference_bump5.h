// BUMPWGT5 written a second time, straight from docs/formats/bump5.md: in memory, slow, and with nothing of lib/bump,
// lib/to_bump or lib/json. What the converter is compared with.
#pragma once

#include <string>
#include <vector>

#include "support/llama_model.h"

namespace modelutils::test {

/// A tokenizer as GGUF has it; no tokens: none.
struct TinyTokens {
  std::string model = "llama";  ///< tokenizer.ggml.model
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<i32> types;
  std::vector<std::string> merges;
};

/// What LlamaModel does not know of a model.
struct Bump5Traits {
  TinyTokens vocabulary;
  std::string name = "tiny";
  float linear_scaling = 1;  ///< rope.scaling.factor; 1: no such key
  u32 sliding_window = 0;    ///< 0: no such key
  bool as_is = false;        ///< matrices in the source's own type, as upstream's converter writes them
};

/// A model of that shape, of architecture llama, qwen2, qwen3 or gemma3, with the norms that it has and these keys.
LlamaModel bump5_model(const LlamaShape& shape, const Bump5Traits& traits);
/// 12 tokens and more ("ab" from "a" and "b" among them), two merges of which one is of no tokens.
TinyTokens tiny_tokens(std::string model);

struct ReferenceEntry5 {
  std::string name;
  std::string dtype;
  u64 offset = 0;
  std::string bytes;
};

/// The four files.
struct ReferenceBump5 {
  std::vector<ReferenceEntry5> entries;
  u64 payload_end = 0;
  std::string weights;
  std::string manifest;
  std::string map;
  std::string config;
};

/// `creator`: the metadata's created_by. `context`: 0 is the model's own.
ReferenceBump5 reference_bump5(LlamaModel model, const Bump5Traits& traits, const std::string& creator,
                               u64 context = 0);

}  // namespace modelutils::test
