// Any bytes -> tokenizer.model.
#include "hf_tokenizer_check.h"

using namespace modelutils;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tokenizer::TokenizerFiles files;
  files.model_bytes = std::string(reinterpret_cast<const char*>(data), size);
  files.form = tokenizer::TokenizerForm::sentencepiece;
  fuzz::build_and_check(files, nullptr, 20);
  return 0;
}
