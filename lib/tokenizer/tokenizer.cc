#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <iterator>

namespace modelutils::tokenizer {

std::string_view tokenizer_kind_name(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::gpt2: return "gpt2";
    case TokenizerKind::llama: return "llama";
    case TokenizerKind::rwkv: return "rwkv";
    case TokenizerKind::plamo2: return "plamo2";
    case TokenizerKind::t5: break;
  }
  return "t5";
}

bool has_scores(TokenizerKind kind) {
  return kind == TokenizerKind::llama || kind == TokenizerKind::plamo2 || kind == TokenizerKind::t5;
}

bool Tokenizer::allows_phi3_name() const {
  const std::string_view needed[] = {"</s>", "<unk>", "<s>", "<|endoftext|>"};
  return std::all_of(std::begin(needed), std::end(needed), [&](std::string_view text) {
    return std::find(tokens.begin(), tokens.end(), text) != tokens.end();
  });
}

bool promises_phi3_tokens(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return lower.find("phi-3") != std::string::npos || lower.find("phi3") != std::string::npos;
}

}  // namespace modelutils::tokenizer
