// What the files of a tokenizer leave open and the family decides: next to its rows (arch/families). The names of
// pre-tokenizers are those of tokenizer.ggml.pre.
#pragma once

#include <string_view>

#include "base/types.h"

namespace modelutils::arch {

struct TokenizerFacts {
  /// Of several pre-tokenizers that split text alike, the one that is the family's.
  std::string_view pre = {};
  /// How model types split text where no tokenizer.json says it, "qwen2=qwen2|qwen3=qwen2": those that come with
  /// vocab.json and merges.txt, and those that come with tiktoken's ranks, whose regexes are in Python code.
  std::string_view pre_of_merges = {};
  std::string_view pre_of_ranks = {};
  /// No space is put before a text, whatever the files say.
  bool never_prefixes_space = false;
  /// The tokens for infilling, and the end of a turn, are known by their texts ("<|fim_prefix|>", …).
  bool infills_by_text = false;
  /// With so many tokens the vocabulary has some for infilling, from id 32007 on, which nothing else tells. 0: never.
  u64 infill_vocabulary = 0;
  /// With so many tokens it is one that puts no token before a text, whatever the files say. 0: never.
  u64 vocabulary_without_bos = 0;
  /// On the way back: was the vocabulary made for composed characters (NFC)? No key says it. Not with `composes_not`, a
  /// pre-tokenizer. Families that share a GGUF architecture share the two.
  bool composes = false;
  std::string_view composes_not = {};
};

/// Of the family that a class of config.json, or a model type, belongs to; those of no family where there is none.
const TokenizerFacts& tokenizer_facts(std::string_view hf_class, std::string_view model_type);
/// Of the families of a GGUF architecture.
const TokenizerFacts& tokenizer_facts(std::string_view gguf_architecture);

/// The pre-tokenizer that a family has for a model type in `pre_of_merges` or `pre_of_ranks`; empty if none has one.
std::string_view pre_of_model_type(std::string_view TokenizerFacts::*list, std::string_view model_type);

}  // namespace modelutils::arch
