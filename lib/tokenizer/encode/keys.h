// What the keys of a GGUF say of its tokenizer, as far as cutting texts into tokens needs it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "gguf/split_set.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

/// Keys as the file has them; what it lacks is empty.
struct EncodeKeys {
  std::string model;         ///< tokenizer.ggml.model
  std::string pre;           ///< tokenizer.ggml.pre
  std::string architecture;  ///< general.architecture
  std::string name;          ///< general.name
  std::vector<std::string> tokens;
  std::vector<float> scores;  ///< none, or one for each token
  std::vector<i32> types;     ///< likewise: TokenType numbers
  std::vector<std::string> merges;
  bool has_merges = false;
  std::string charsmap;  ///< checked by check_charsmap()
  SpecialIds special;    ///< may be out of range
  std::optional<bool> add_bos, add_eos;
  std::optional<bool> add_space_prefix, remove_extra_whitespaces, lowercase, strip_accents;
};

/// Errors: "tok-missing" (no tokenizer.ggml.model, no tokens), "tok-keys" (arrays of wrong types or lengths),
/// "tok-charsmap", those of reading.
Result<EncodeKeys> read_encode_keys(const gguf::SplitSet& set);

/// The same of a tokenizer that would be written to a file.
EncodeKeys encode_keys(Tokenizer tokenizer, std::string architecture, std::string name);

}  // namespace modelutils::tokenizer
