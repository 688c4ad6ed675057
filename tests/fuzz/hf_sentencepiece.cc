// Any bytes -> tokenizer.model, and sentencepiece.bpe.model, whose pieces have other ids.
#include <string_view>

#include "hf_tokenizer_check.h"

using namespace modelutils;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tokenizer::TokenizerFiles files;
  files.model_bytes = std::string(reinterpret_cast<const char*>(data), size);
  files.form = tokenizer::TokenizerForm::sentencepiece;
  for (const std::string_view name : {std::string_view("tokenizer.model"), tokenizer::shifted_model_name}) {
    files.model_name = name;
    fuzz::build_and_check(files, nullptr, 20);
  }
  return 0;
}
