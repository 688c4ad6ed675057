// Token properties that llama.cpp derives from the texts of tokens, regardless of their types.
#pragma once

#include "tokenizer/encode/vocabulary.h"

namespace modelutils::tokenizer {

/// Makes ends of turns and similar tokens control tokens, and a few others user-defined or normal, regardless of the
/// file. `stated` has the ids from the file's keys.
void set_traits_by_text(EncodeVocabulary& vocabulary, const SpecialIds& stated);

/// Marks the tokens that strip adjacent spaces, based on the names of the model, its architecture and its
/// pre-tokenizer.
void set_strips(EncodeVocabulary& vocabulary, const EncodeKeys& keys);

}  // namespace modelutils::tokenizer
