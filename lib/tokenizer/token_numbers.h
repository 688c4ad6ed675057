// Reads GGUF arrays that have one number per token.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <vector>

#include "base/counted.h"
#include "base/error.h"
#include "base/place.h"
#include "gguf/keys.h"
#include "gguf/parse.h"
#include "gguf/split_set.h"

namespace modelutils::tokenizer {

/// Returns the first `tokens` numbers of a key's array; empty if the key is absent. Errors: "tok-keys" (shorter, or not
/// numbers); read errors.
template <typename T>
Result<std::vector<T>> token_numbers(const gguf::SetFile& file, const gguf::Index& index, std::string_view key,
                                     u64 tokens) {
  const gguf::ArrayRef* array = index.array_value(key);
  if (array == nullptr) return std::vector<T>();
  if (gguf::value_size(array->element_type) == 0 || array->count < tokens) {
    return input_error("tok-keys", fmt::format("does not have a number for each of the {}", counted(tokens, "token")),
                       at_key(key), {}, file.path);
  }
  return gguf::read_numbers<T>(*file.source, file.document, *array, 0, tokens);
}

}  // namespace modelutils::tokenizer
