// Writes the tokenizer files of a Hugging Face or MLX directory from the tokenizer keys of a GGUF. Facts:
// docs/tokenizers.md ("The way back").
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "formats/gguf/split_set.h"
#include "tokenizer/pre_table.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

/// The values of tokenizer.ggml.model that files can represent.
enum class RebuiltKind : u8 {
  byte_bpe,       ///< gpt2
  sentencepiece,  ///< llama: scores, no merges
  spaced_bpe,     ///< gemma4: merges of texts with U+2581 instead of spaces
  unigram,        ///< t5
  wordpiece,      ///< bert
};

struct RebuildOptions {
  std::string pre = {};  ///< --pre: overrides tokenizer.ggml.pre; must be in the table of pre-tokenizers
};

/// A merge as token ids.
struct RebuiltMerge {
  u32 left = 0, right = 0;
};

/// A tokenizer in the form of its keys, and the files that represent it.
struct RebuiltTokenizer {
  RebuiltKind kind = RebuiltKind::byte_bpe;
  std::vector<std::string> tokens;   ///< as spelled in the files; distinct, UTF-8; without unused ones at the end
  std::vector<i32> types;            ///< one TokenType number per token
  std::vector<float> scores;         ///< unigram, sentencepiece
  std::vector<RebuiltMerge> merges;  ///< byte_bpe, sentencepiece (rebuilt), spaced_bpe; best first
  const PreRow* pre = nullptr;       ///< byte_bpe; nullptr means the runtime's default split
  bool ignore_merges = false;
  bool normalizes = false;    ///< NFC
  bool strips_right = false;  ///< special tokens strip the spaces that follow (Phi-3)
  bool add_space_prefix = false, removes_extra_spaces = false;
  bool lowercase = true;              ///< wordpiece
  std::optional<bool> strip_accents;  ///< wordpiece; empty: as `lowercase`
  std::string charsmap;               ///< unigram: the bytes of the precompiled character map
  bool add_bos = false, add_eos = false, add_sep = false;
  SpecialIds special;  ///< only ids of existing tokens
  u64 context_length = 0;
  bool clean_up_spaces = false;
  ChatTemplates templates;
  FindingLog
      findings;  ///< warnings: "tok-pre-default", "tok-merge-absent", "tok-long-token"; note: "tok-charsmap-differs"

  /// tokenizer.json, tokenizer_config.json, special_tokens_map.json; of WordPiece vocab.txt; if there is exactly one
  /// template, chat_template.jinja.
  std::vector<std::string_view> file_names() const;
  /// Writes one of these files, piece by piece.
  void write_file(std::string_view name, const std::function<void(std::string_view)>& sink) const;
};

/// Reads the keys of a file. Errors: "tok-missing" (no tokenizer.ggml.model, or no tokens); "tok-model" (one that
/// cannot be rebuilt: plamo2, rwkv, none; the message names it); "tok-pre" (a pre-tokenizer whose regexes are unknown;
/// the message names --pre); "tok-keys" (arrays of wrong types or lengths); "tok-charsmap" (a damaged character map);
/// "tok-text" (a token that is not UTF-8, or a duplicate text); a usage error for an unknown `pre`; read errors.
Result<RebuiltTokenizer> tokenizer_files_from_keys(const gguf::SplitSet& set, const RebuildOptions& options);

/// Writes tokenizer.json.
void write_tokenizer_json(const RebuiltTokenizer& tokenizer, const std::function<void(std::string_view)>& sink);

/// Returns every way to form a token from two others, like the merges of a converted SentencePiece model: among normal
/// and user-defined tokens, ordered by score, then by the length of the left and of the right part (in characters,
/// longer first), then by ids. Skips tokens of more than 256 bytes and sets `longest` to the length of the longest of
/// these.
std::vector<RebuiltMerge> rebuild_merges(const std::vector<std::string>& tokens, const std::vector<i32>& types,
                                         const std::vector<float>& scores, std::size_t& longest);

}  // namespace modelutils::tokenizer
