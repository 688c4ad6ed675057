// The tokenizer keys of a GGUF -> the tokenizer files of a Hugging Face or MLX directory. Facts: docs/tokenizers.md
// ("The way back").
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "gguf/split_set.h"
#include "tokenizer/pre_table.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

/// tokenizer.ggml.model, as far as files can say it.
enum class RebuiltKind : u8 {
  byte_bpe,       ///< gpt2
  sentencepiece,  ///< llama: scores, no merges
  spaced_bpe,     ///< gemma4: merges of texts with U+2581 for spaces
  unigram,        ///< t5
  wordpiece,      ///< bert
};

struct RebuildOptions {
  std::string pre = {};  ///< --pre: overrides tokenizer.ggml.pre; must be a name that the table of pre-tokenizers knows
};

/// A merge as ids of tokens.
struct RebuiltMerge {
  u32 left = 0, right = 0;
};

/// A tokenizer as its keys say it, and the files that say the same.
struct RebuiltTokenizer {
  RebuiltKind kind = RebuiltKind::byte_bpe;
  std::vector<std::string> tokens;   ///< as the files spell them; distinct, UTF-8; unused ones at the end are left out
  std::vector<i32> types;            ///< TokenType numbers, one for each token
  std::vector<float> scores;         ///< unigram, sentencepiece
  std::vector<RebuiltMerge> merges;  ///< byte_bpe, sentencepiece (rebuilt), spaced_bpe; best first
  const PreRow* pre = nullptr;       ///< byte_bpe; nullptr: the runtime's default split
  bool ignore_merges = false;
  bool normalizes = false;    ///< NFC
  bool strips_right = false;  ///< special tokens take the spaces that follow (Phi-3)
  bool add_space_prefix = false, removes_extra_spaces = false;
  bool lowercase = true;  ///< wordpiece
  std::string charsmap;   ///< unigram: the bytes of the precompiled map of characters
  bool add_bos = false, add_eos = false;
  SpecialIds special;  ///< of tokens that are there
  u64 context_length = 0;
  bool clean_up_spaces = false;
  ChatTemplates templates;
  FindingLog
      findings;  ///< warnings: "tok-pre-default", "tok-merge-absent", "tok-long-token"; note: "tok-charsmap-differs"

  /// tokenizer.json, tokenizer_config.json, special_tokens_map.json and, if there is one template,
  /// chat_template.jinja.
  std::vector<std::string_view> file_names() const;
  /// Writes one of them, piece by piece.
  void write_file(std::string_view name, const std::function<void(std::string_view)>& sink) const;
};

/// Reads the keys of a file. Errors: "tok-missing" (no tokenizer.ggml.model, no tokens), "tok-model" (one that cannot
/// be rebuilt: plamo2, rwkv, none; the message says which), "tok-pre" (a pre-tokenizer whose regexes are not known; the
/// message names --pre), "tok-keys" (arrays of wrong types or lengths), "tok-charsmap" (a damaged map of
/// characters), "tok-text" (a token that is not UTF-8, or whose
/// text appears twice), a usage error for an unknown `pre`, those of reading.
Result<RebuiltTokenizer> tokenizer_files_from_keys(const gguf::SplitSet& set, const RebuildOptions& options);

/// tokenizer.json.
void write_tokenizer_json(const RebuiltTokenizer& tokenizer, const std::function<void(std::string_view)>& sink);

/// Every way to make a token of two others, as the merges of a converted SentencePiece model: of tokens that are normal
/// or user-defined, by score, then by length of the left and of the right part (in characters), the longer first, then
/// by ids. Tokens of more than 256 bytes are left out; `longest` is set to the length of the longest of those.
std::vector<RebuiltMerge> rebuild_merges(const std::vector<std::string>& tokens, const std::vector<i32>& types,
                                         const std::vector<float>& scores, std::size_t& longest);

}  // namespace modelutils::tokenizer
