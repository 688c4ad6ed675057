// Facts about a family's tokenizer that its files do not state. Each value is beside the family's rows (arch/families).
// Pre-tokenizers have the names used in tokenizer.ggml.pre.
#pragma once

#include <string_view>

#include "base/types.h"

namespace modelutils::arch {

struct TokenizerFacts {
  /// The family's pre-tokenizer among several that split text alike.
  std::string_view pre = {};
  /// The pre-tokenizers of model types for which no tokenizer.json states it, as "qwen2=qwen2|qwen3=qwen2". One list is
  /// for models with vocab.json and merges.txt; the other for models with tiktoken ranks, whose regexes are in Python
  /// code.
  std::string_view pre_of_merges = {};
  std::string_view pre_of_ranks = {};
  /// True if no space is added before a text, whatever the files state.
  bool never_prefixes_space = false;
  /// True if tokens for infilling and for the end of a turn are recognised by their texts ("<|fim_prefix|>", …).
  bool infills_by_text = false;
  /// A vocabulary of this size has tokens for infilling from id 32007 on, without any sign in the files. 0: no size
  /// has.
  u64 infill_vocabulary = 0;
  /// A vocabulary of this size adds no token before a text, whatever the files state. 0: no size has this exception.
  u64 vocabulary_without_bos = 0;
  /// True if the vocabulary expects composed characters (NFC), which no GGUF key states; used when converting from
  /// GGUF. Does not apply with the pre-tokenizer `composes_not`. Families that share a GGUF architecture have the same
  /// values.
  bool composes = false;
  std::string_view composes_not = {};
};

/// Returns the facts of the family of a config.json's class or model type, or default facts if there is none.
const TokenizerFacts& tokenizer_facts(std::string_view hf_class, std::string_view model_type);
/// Returns the facts of a GGUF architecture's first family.
const TokenizerFacts& tokenizer_facts(std::string_view gguf_architecture);

/// Returns the pre-tokenizer for a model type from any family's `pre_of_merges` or `pre_of_ranks`; empty if there is
/// none.
std::string_view pre_of_model_type(std::string_view TokenizerFacts::*list, std::string_view model_type);

}  // namespace modelutils::arch
