// The files of a tokenizer, loaded but not yet understood.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/model_folder.h"
#include "json/reader.h"

namespace modelutils::tokenizer {

/// Which tokenizer the files hold.
enum class TokenizerForm : u8 {
  none,           ///< no tokenizer files
  byte_bpe,       ///< tokenizer.json, byte-level BPE
  spm_json,       ///< tokenizer.json, BPE with byte fallback (perhaps with a tokenizer.model beside it)
  sentencepiece,  ///< tokenizer.model alone
  vocab_merges,   ///< vocab.json and merges.txt
  tiktoken,       ///< base64 texts with ranks: *.tiktoken, tiktoken.model or tokenizer.model
  rwkv,           ///< RWKV's world vocabulary: rwkv_vocab*.txt
  plamo,          ///< PLaMo's list of texts, scores and types: tokenizer.jsonl
  unigram,        ///< tokenizer.json, Unigram
  tekken,         ///< tekken.json: tiktoken's ranks and special tokens in JSON
};

/// What a directory has. Members are empty where there is no such file; tests and fuzzers fill them from memory.
struct TokenizerFiles {
  std::shared_ptr<json::Document> tokenizer_json, tokenizer_config, special_tokens_map, added_tokens;
  std::shared_ptr<json::Document> vocab_json, tekken_json;
  std::optional<std::string> merges_text;      ///< merges.txt
  std::optional<std::string> model_bytes;      ///< of the SentencePiece model
  std::string model_name = "tokenizer.model";  ///< its file: that, else spiece.model
  std::optional<std::string> listed_text;      ///< of the forms with one token a line
  std::string listed_name;                     ///< the file that it is from
  std::string directory;
  TokenizerForm form = TokenizerForm::none;

  std::string path(std::string_view name) const { return directory + "/" + std::string(name); }
  /// tokenizer_config.json's root, if there is one.
  std::optional<json::Element> tokenizer_config_root() const;
};

/// A whole file of the folder; nothing if there is none. Errors: those of open_side_file(), "hf-tok-too-large" if it
/// has more than `most` bytes.
Result<std::optional<std::string>> read_if_present(const ModelFolder& folder, std::string_view name, u64 most);

/// Loads the files of a folder that matter for the form found, and no others. Limits: JSON 256 MiB, tokenizer.model
/// and merges.txt 64 MiB. A missing tokenizer is form `none`, no error. Errors: reading, "json-syntax",
/// "json-too-large", "hf-tok-too-large", "hf-tok-json" and those of tokenizer_form().
Result<TokenizerFiles> load_tokenizer_files(const ModelFolder& folder);

/// The form of a tokenizer.json. Errors: "hf-tok-json" (no model object), "hf-tok-wordpiece", "hf-tok-wordlevel",
/// "hf-tok-kind".
Result<TokenizerForm> tokenizer_form(json::Element root);

/// Do the bytes begin like a SentencePiece model (protobuf field 1, length-delimited)?
bool looks_like_sentencepiece(std::string_view bytes);
/// Do they begin like tiktoken's text form: base64, a space, a number?
bool looks_like_tiktoken(std::string_view bytes);

/// Is `error` one of the refusals of a sound tokenizer that no model of a GGUF can carry?
bool is_unsupported_kind(const Error& error);

}  // namespace modelutils::tokenizer
