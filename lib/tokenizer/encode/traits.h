// What llama.cpp makes of tokens by their texts, whatever their types say.
#pragma once

#include "tokenizer/encode/vocabulary.h"

namespace modelutils::tokenizer {

/// Ends of turns and the like are control tokens, whatever the file says; a few are user-defined or normal. `stated`:
/// the ids that the file's keys name.
void set_traits_by_text(EncodeVocabulary& vocabulary, const SpecialIds& stated);

/// Tokens that take spaces next to them, by the name of the model, of its architecture and of its pre-tokenizer.
void set_strips(EncodeVocabulary& vocabulary, const EncodeKeys& keys);

}  // namespace modelutils::tokenizer
