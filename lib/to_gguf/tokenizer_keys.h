// Writes a tokenizer::Tokenizer as GGUF keys, with the exact types that llama.cpp's loader requires.
#pragma once

#include <vector>

#include "gguf/write.h"
#include "tokenizer/tokenizer.h"

namespace modelutils {

/// Returns tokenizer.ggml.* and tokenizer.chat_template*: tokens and merges as string arrays, token_type as an INT32
/// array, scores as a FLOAT32 array, ids as UINT32, flags as BOOL.
std::vector<gguf::OutKey> tokenizer_keys(const tokenizer::Tokenizer& tokenizer);

/// Returns tokenizer.ggml.model = "no_vocab", for --no-vocab.
std::vector<gguf::OutKey> no_vocab_keys();

}  // namespace modelutils
