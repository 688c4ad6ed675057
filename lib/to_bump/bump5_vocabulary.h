// The tokenizer in a BUMPWGT5 file: GGUF's arrays as five entries. Source: docs/formats/bump5.md, "Entries".
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gguf/keys.h"
#include "gguf/split_set.h"
#include "to_bump/refusals.h"

namespace modelutils {

/// The contents of the entries.
struct Bump5Vocabulary {
  std::string offsets;        ///< i32 per token: its offset in `strings`
  std::string strings;        ///< NUL-terminated, ordered by id
  std::string scores;         ///< f32 per token
  std::string types;          ///< u8 per token
  std::string merges;         ///< three i32 per merge: left, right, left + right
  u64 left_out = 0;           ///< merges omitted because a part is not a token
  u64 with_nul = 0;           ///< tokens that contain a NUL, where the engine would truncate them
  bool is_unigram = false;    ///< the engine searches for the most likely split
  bool has_charsmap = false;  ///< there is a character map, which the engine does not support
};

/// Returns the engine's name for a GGUF tokenizer (tokenizer.ggml.model); nullopt if the engine does not support it.
std::optional<std::string_view> bump5_tokenizer_type(std::string_view model);

/// Reads tokens, scores, types and merges of a model whose embedding has `rows` rows. Ids without a token become
/// "<|pad_ID|>". Returns null if the model has no tokens, or after adding refusals ("gguf2bump-vocabulary": a tokenizer
/// that the engine does not support, strings of more than 2 GiB, a token type above 255, arrays of a wrong type).
/// Errors: read errors.
Result<std::shared_ptr<Bump5Vocabulary>> read_bump5_vocabulary(const gguf::SplitSet& set, const gguf::Index& index,
                                                               u64 rows, Refusals& refusals);

}  // namespace modelutils
