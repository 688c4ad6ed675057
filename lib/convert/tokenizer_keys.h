// hf::Tokenizer and hf::ModelCard -> GGUF keys with the exact types that llama.cpp's loader demands.
#pragma once

#include <vector>

#include "gguf/write.h"
#include "hf/model_card.h"
#include "hf/tokenizer.h"

namespace modelutils::convert {

/// tokenizer.ggml.*, tokenizer.chat_template*: tokens and merges as string arrays, token_type as INT32 array, scores as
/// FLOAT32 array, ids as UINT32, flags as BOOL.
std::vector<gguf::OutKey> tokenizer_keys(const hf::Tokenizer& tokenizer);

/// tokenizer.ggml.model = "no_vocab", for --no-vocab.
std::vector<gguf::OutKey> no_vocab_keys();

/// general.license*, general.base_model.*, general.tags, general.languages, general.datasets; never an empty array.
/// general.name is the caller's business.
std::vector<gguf::OutKey> model_card_keys(const hf::ModelCard& card);

}  // namespace modelutils::convert
