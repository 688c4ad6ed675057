// The tokenizer that a BUMPWGT5 file carries: GGUF's arrays as five entries. Source: docs/formats/bump5.md, "Entries".
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gguf/keys.h"
#include "gguf/split_set.h"
#include "to_bump/refusals.h"

namespace modelutils {

/// The bytes of the entries.
struct Bump5Vocabulary {
  std::string offsets;        ///< i32 for each token: where it begins in `strings`
  std::string strings;        ///< NUL-terminated, in the order of the ids
  std::string scores;         ///< f32 for each token
  std::string types;          ///< u8 for each token
  std::string merges;         ///< three i32 for each merge: left, right, left + right
  u64 left_out = 0;           ///< merges with a part that is not a token
  u64 with_nul = 0;           ///< tokens that contain a NUL, at which the engine stops reading
  bool is_unigram = false;    ///< the engine looks for the most likely split
  bool has_charsmap = false;  ///< there is a map of characters, which the engine does not know
};

/// The engine's name of a tokenizer by GGUF's (tokenizer.ggml.model), if it has that one.
std::optional<std::string_view> bump5_tokenizer_type(std::string_view model);

/// Reads tokens, scores, types and merges of a model whose embedding has `rows` rows; ids without a token get
/// "<|pad_ID|>". Nothing if the model has no tokens, or there were refusals ("gguf2bump-vocabulary": a tokenizer that
/// the engine does not have, strings of more than 2 GiB, a token type above 255, arrays of a wrong type). Errors:
/// reading.
Result<std::shared_ptr<Bump5Vocabulary>> read_bump5_vocabulary(const gguf::SplitSet& set, const gguf::Index& index,
                                                               u64 rows, Refusals& refusals);

}  // namespace modelutils
