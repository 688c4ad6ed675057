// Any bytes -> tokenizer.json (or, if they are no JSON object, vocab.txt) and, after NUL bytes, tokenizer_config.json,
// config.json, added_tokens.json and a README.md.
#include <algorithm>

#include "formats/hf/model_card.h"
#include "hf_tokenizer_check.h"

using namespace modelutils;

namespace {

std::string_view take_part(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find('\0'));
  rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  return part;
}

std::unique_ptr<json::Document> object_or_nothing(std::string_view text) {
  if (text.empty()) return nullptr;
  auto document = json::parse(text, "fuzz");
  return document && (*document)->root.is_object() ? std::move(*document) : nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  tokenizer::TokenizerFiles files;
  const std::string_view first = take_part(rest);
  files.tokenizer_json = object_or_nothing(first);
  if (files.tokenizer_json) {
    const auto form = tokenizer::tokenizer_form(files.tokenizer_json->root);
    if (!form) return 0;
    files.form = *form;
  } else {
    files.listed_text = std::string(first);
    files.listed_name = "vocab.txt";
    files.form = tokenizer::TokenizerForm::wordpiece;
  }
  files.tokenizer_config = object_or_nothing(take_part(rest));
  const auto config = hf::parse_config(take_part(rest), "config.json");
  files.added_tokens = object_or_nothing(take_part(rest));
  FindingLog findings;
  hf::parse_model_card(take_part(rest), findings);
  fuzz::build_and_check(files, config ? &*config : nullptr, 300);
  return 0;
}
