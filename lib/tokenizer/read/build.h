// The builders of a Tokenizer, one per form of its files, and their common parts. Internal to this folder.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/family_facts.h"
#include "base/error.h"
#include "base/log.h"
#include "base/name_index.h"
#include "tokenizer/read/files.h"
#include "tokenizer/read/read_tokenizer.h"
#include "tokenizer/read/vocabulary.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

/// Returns the bytes of a str literal ('a\u00e9', in UTF-8) or a bytes literal (b'\xff'), in single or double quotes,
/// with the escapes \\ \' \" \t \n \r \xHH, and in str \uXXXX and \UXXXXXXXX. Returns nullopt if the text is not such a
/// literal, or if a str has a surrogate.
std::optional<std::string> python_literal(std::string_view text);

/// One piece; its id is its position.
struct SentencePiece {
  std::string_view text;  ///< UTF-8; points into the parsed bytes
  float score = 0;
  i32 type = 1;  ///< numbered as TokenType: 1 NORMAL, 2 UNKNOWN, 3 CONTROL, 4 USER_DEFINED, 5 UNUSED, 6 BYTE
};

/// The relevant fields of ModelProto. Absent fields have the format's defaults.
struct SentencePieceModel {
  std::vector<SentencePiece> pieces;
  i32 model_type = 1;  ///< 1 UNIGRAM, 2 BPE, 3 WORD, 4 CHAR
  bool byte_fallback = false;
  bool treat_whitespace_as_suffix = false;
  std::string_view charsmap;                            ///< the precompiled character map; points into the parsed bytes
  i32 unk_id = 0, bos_id = 1, eos_id = 2, pad_id = -1;  ///< negative: undefined
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;

  /// True if it chooses the most likely split (UNIGRAM) instead of merging (BPE).
  bool is_unigram() const { return model_type == 1; }
};

/// Parses a SentencePiece model. Unknown fields are skipped by wire type, fields may be in any order, and repeated
/// submessages are merged as protobuf requires. Error: "hf-tok-sentencepiece" with the byte offset (not a SentencePiece
/// file, truncated, groups, a piece that is not UTF-8, a score that is not finite, an unknown type, no pieces or more
/// than 2^22, a model type WORD or CHAR, which GGUF cannot represent).
Result<SentencePieceModel> parse_sentencepiece(std::string_view bytes);

struct VocabEntry {
  std::string_view text;
  u32 id;
};

/// model.vocab as in the file. Texts and ids are distinct; ids are below the number of rows.
struct Vocabulary {
  std::vector<VocabEntry> entries;
  NameIndex index;  ///< text -> position in `entries`

  std::optional<u32> find(std::string_view text) const {
    const auto position = index.find(text);
    return position ? std::optional(entries[*position].id) : std::nullopt;
  }
};

/// Reads an object {text: id}. Ids in `dropped` (increasing) are skipped. Errors: "hf-tok-vocab" (not an object, a
/// value that is not an id, a duplicate text or id); "hf-tok-id-range" (an id that is not below `rows`).
Result<Vocabulary> read_vocabulary(json::Element vocab, u64 rows, const std::vector<u32>& dropped);

/// The two parts of a merge, not empty.
struct Merge {
  std::string_view left, right;
};

/// Parses one entry of model.merges: "left right" (exactly one space, inside) or [left, right]. Returns nullopt
/// otherwise.
std::optional<Merge> parse_merge(json::Element entry);

/// Parses merges.txt of GPT-2-like tokenizers: one merge per line, "left right" between blanks. Skips empty lines, and
/// a first line that begins with '#'. The views point into `text`. Error: "hf-tok-merge" with the line number.
Result<std::vector<Merge>> parse_merges_text(std::string_view text);

/// A merge as ids of the vocabulary.
struct MergeIds {
  u32 left, right, result;
};

/// Looks up `merge` (at position `rank`). `joined` is scratch space. Error: "hf-tok-merge" if left, right or left +
/// right is not in the vocabulary.
Result<MergeIds> find_merge(const Merge& merge, u64 rank, const Vocabulary& vocabulary, std::string& joined);

/// Calls `visit(merge, ids)` for each entry of model.merges in order. Error: "hf-tok-merge" as for find_merge(), for an
/// entry that parse_merge() rejects, or if `merges` is not an array.
Status visit_merges(json::Element merges, const Vocabulary& vocabulary,
                    const std::function<void(const Merge&, const MergeIds&)>& visit);

/// The score of a token that must never be chosen.
inline constexpr float padding_score = -10000.0F;

/// Fills in a Tokenizer's tokens, types and scores.
class TokenList {
 public:
  /// All `rows` ids are initially without text.
  TokenList(Tokenizer& tokenizer, u64 rows);

  u64 size() const { return tokenizer_.tokens.size(); }
  void set(u32 id, std::string_view text, TokenType type, float score);
  /// Overlays the added tokens on the list, with the score −1000. Pieces of a Unigram vocabulary keep their scores.
  void overlay(const std::vector<AddedToken>& added);
  /// Gives ids without text the text "[PAD{id}]" and empty texts "[EMPTY_{id}]". Of several equal texts keeps one and
  /// renames the others to "[DUP{id}]" (UNUSED); it keeps the control token, else the user-defined one, else the first.
  /// The last two cases are warnings.
  void finish(FindingLog& findings);

 private:
  Tokenizer& tokenizer_;
};

/// Sixty times the largest known vocabulary; the tokens of that many rows still fit into memory.
constexpr u64 max_embedding_rows = u64{1} << 24;

/// The loaded inputs.
struct TokenizerInput {
  const TokenizerFiles& files;
  const TokenizerOptions& options;
  const hf::Config* config = nullptr;  ///< nullptr if absent
  AddedTokens added;

  u64 rows() const { return options.embedding_rows; }
  std::string_view model_type() const { return config ? std::string_view(config->model_type) : ""; }
  /// Settings determined by the model's family.
  const arch::TokenizerFacts& family() const {
    return arch::tokenizer_facts(config ? std::string_view(config->architecture) : "", model_type());
  }
};

/// Fills in kind, tokens, types, merges, pre from tokenizer.json or from vocab.json and merges.txt.
Status build_byte_bpe(const TokenizerInput& input, Tokenizer& tokenizer);

/// Fills in kind, tokens, types, scores, pre, add_space_prefix. `model` is the parsed tokenizer.model if the pieces
/// come from it. It is reset if it contradicts tokenizer.json.
Status build_spm(const TokenizerInput& input, std::optional<SentencePieceModel>& model, Tokenizer& tokenizer);

/// Fills tokens, types and scores from the pieces of a SentencePiece model: the piece `first_piece` gets the id
/// `first_id`, and so on. Pieces beyond the list are dropped with a warning. A user-defined piece becomes NORMAL,
/// because added tokens set its final type. Returns the id after the last piece.
u64 fill_from_pieces(const SentencePieceModel& model, TokenList& list, FindingLog& findings, u32 first_piece = 0,
                     u32 first_id = 0);
/// Returns the added tokens to overlay on the list. Tokens for runs of spaces, such as Yi-1.5's "▁▁", stay ordinary
/// tokens of the vocabulary: if they were USER_DEFINED, llama.cpp would split texts at every run of spaces, which the
/// original does not.
std::vector<AddedToken> tokens_to_overlay(const TokenizerInput& input, const Vocabulary& vocabulary,
                                          FindingLog& findings);

/// Fills in kind, tokens, types, scores, pre, add_space_prefix, remove_extra_whitespaces, charsmap and the unknown
/// token from `model` if given, else from a tokenizer.json of type Unigram. Errors: "hf-tok-unigram" (a normalizer or
/// pre-tokenizer that llama.cpp cannot reproduce, or no unknown token), "hf-tok-charsmap", "hf-tok-vocab",
/// "hf-tok-id-range".
Status build_unigram(const TokenizerInput& input, const SentencePieceModel* model, Tokenizer& tokenizer);

/// Fills in kind, tokens, types, lowercase and strip_accents from a tokenizer.json of type WordPiece or from vocab.txt.
/// Errors: "hf-tok-wordpiece" (llama.cpp cannot split texts like the original), "hf-tok-vocab", "hf-tok-id-range".
Status build_wordpiece(const TokenizerInput& input, Tokenizer& tokenizer);

/// Fills in kind, tokens and types from RWKV's world vocabulary: lines "ID LITERAL LENGTH" with ids from 1; id 0 is the
/// end of text. Texts are escaped for llama.cpp. Errors: "hf-tok-rwkv", "hf-tok-id-range".
Status build_rwkv(const TokenizerInput& input, Tokenizer& tokenizer);

/// Fills in kind, tokens, types, scores, pre, add_space_prefix from PLaMo's tokenizer.jsonl, which has [text, score,
/// type, …] per line. Errors: "json-syntax", "hf-tok-plamo", "hf-tok-id-range".
Status build_plamo(const TokenizerInput& input, Tokenizer& tokenizer);

/// Warns if `score`, the common score of all NORMAL tokens, is set.
void warn_of_common_score(std::optional<float> score, std::string_view file, FindingLog& findings);

/// Warns if any of the tokens "<0x00>" to "<0xFF>" are missing.
void check_byte_tokens(const Tokenizer& tokenizer, FindingLog& findings);

/// Resolves special ids and the add_* flags of a tokenizer whose token list is complete.
Status resolve_special_tokens(const TokenizerInput& input, const SentencePieceModel* model, Tokenizer& tokenizer);

/// Builds everything except the chat templates.
Result<Tokenizer> build_tokenizer(const TokenizerFiles& files, const TokenizerOptions& options);

}  // namespace modelutils::tokenizer
