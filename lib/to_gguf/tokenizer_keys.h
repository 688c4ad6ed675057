// tokenizer::Tokenizer -> GGUF keys with the exact types that llama.cpp's loader demands.
#pragma once

#include <vector>

#include "gguf/write.h"
#include "tokenizer/tokenizer.h"

namespace modelutils {

/// tokenizer.ggml.*, tokenizer.chat_template*: tokens and merges as string arrays, token_type as INT32 array, scores as
/// FLOAT32 array, ids as UINT32, flags as BOOL.
std::vector<gguf::OutKey> tokenizer_keys(const tokenizer::Tokenizer& tokenizer);

/// tokenizer.ggml.model = "no_vocab", for --no-vocab.
std::vector<gguf::OutKey> no_vocab_keys();

}  // namespace modelutils
