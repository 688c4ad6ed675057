// The tokenizer keys of a GGUF that are needed for encoding.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "gguf/split_set.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

/// The keys' values as in the file; empty if absent.
struct EncodeKeys {
  std::string model;         ///< tokenizer.ggml.model
  std::string pre;           ///< tokenizer.ggml.pre
  std::string architecture;  ///< general.architecture
  std::string name;          ///< general.name
  std::vector<std::string> tokens;
  std::vector<float> scores;  ///< empty, or one per token
  std::vector<i32> types;     ///< empty, or one TokenType number per token
  std::vector<std::string> merges;
  bool has_merges = false;
  std::string charsmap;  ///< checked by check_charsmap()
  SpecialIds special;    ///< may be out of range
  std::optional<bool> add_bos, add_eos;
  std::optional<bool> add_space_prefix, remove_extra_whitespaces, lowercase, strip_accents;
};

/// Reads the keys. Errors: "tok-missing" (no tokenizer.ggml.model, or no tokens); "tok-keys" (arrays of wrong types or
/// lengths); "tok-charsmap"; read errors.
Result<EncodeKeys> read_encode_keys(const gguf::SplitSet& set);

/// Returns the keys of a tokenizer that has not been written yet.
EncodeKeys encode_keys(Tokenizer tokenizer, std::string architecture, std::string name);

}  // namespace modelutils::tokenizer
