// Loads the files of a tokenizer without interpreting them, and the chat templates of a directory:
// chat_template.jinja, tokenizer_config.json, chat_template.json.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "io/model_folder.h"
#include "json/reader.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

/// The form of tokenizer in the files.
enum class TokenizerForm : u8 {
  none,           ///< no tokenizer files
  byte_bpe,       ///< tokenizer.json, byte-level BPE
  spm_json,       ///< tokenizer.json, BPE with byte fallback (possibly with a tokenizer.model)
  sentencepiece,  ///< tokenizer.model alone
  vocab_merges,   ///< vocab.json and merges.txt
  tiktoken,       ///< base64 texts with ranks: *.tiktoken, tiktoken.model or tokenizer.model
  rwkv,           ///< RWKV's world vocabulary: rwkv_vocab*.txt
  plamo,          ///< PLaMo's list of texts, scores and types: tokenizer.jsonl
  unigram,        ///< tokenizer.json, Unigram
  wordpiece,      ///< tokenizer.json, WordPiece, or vocab.txt alone
  tekken,         ///< tekken.json: tiktoken's ranks and special tokens in JSON
};

/// The tokenizer files of a directory. Members are empty if the file does not exist; tests and fuzzers fill them from
/// memory.
struct TokenizerFiles {
  std::shared_ptr<json::Document> tokenizer_json, tokenizer_config, special_tokens_map, added_tokens;
  std::shared_ptr<json::Document> vocab_json, tekken_json;
  std::optional<std::string> merges_text;      ///< merges.txt
  std::optional<std::string> model_bytes;      ///< contents of the SentencePiece model
  std::string model_name = "tokenizer.model";  ///< its file name: tokenizer.model, spiece.model …
  std::optional<std::string> listed_text;      ///< contents for the forms with one token per line (vocab.txt is one)
  std::string listed_name;                     ///< file name of `listed_text`
  std::string directory;
  TokenizerForm form = TokenizerForm::none;

  std::string path(std::string_view name) const { return directory + "/" + std::string(name); }
  /// Returns tokenizer_config.json's root; nullopt if the file is absent.
  std::optional<json::Element> tokenizer_config_root() const;
  /// Returns its tokenizer_class, or an empty text.
  std::string_view tokenizer_class() const;
};

/// Reads a whole file of the folder; nullopt if it does not exist. Errors: those of open_side_file();
/// "hf-tok-too-large" if it has more than `most` bytes.
Result<std::optional<std::string>> read_if_present(const ModelFolder& folder, std::string_view name, u64 most);

/// Finds the tokenizer's form and loads only the files that it needs. Limits: JSON 256 MiB, tokenizer.model and
/// merges.txt 64 MiB. A missing tokenizer is form `none`, not an error. Errors: read errors, "json-syntax",
/// "json-too-large", "hf-tok-too-large", "hf-tok-json" and those of tokenizer_form().
Result<TokenizerFiles> load_tokenizer_files(const ModelFolder& folder);

/// The SentencePiece model of XLM-RoBERTa, whose ids differ from the positions of its pieces.
inline constexpr std::string_view shifted_model_name = "sentencepiece.bpe.model";

/// Returns the form of a tokenizer.json. Errors: "hf-tok-json" (no model object), "hf-tok-wordlevel", "hf-tok-kind".
Result<TokenizerForm> tokenizer_form(json::Element root);

/// True if the bytes begin like a SentencePiece model (protobuf field 1, length-delimited).
bool looks_like_sentencepiece(std::string_view bytes);
/// True if the bytes begin like tiktoken's text form: base64, a space, a number.
bool looks_like_tiktoken(std::string_view bytes);

/// True if `error` refuses a valid tokenizer because no tokenizer model of GGUF can represent it.
bool is_unsupported_kind(const Error& error);

// Chat templates of a Hugging Face directory: chat_template.jinja, tokenizer_config.json, chat_template.json.

/// Reads the templates of a folder. chat_template.jinja and additional_chat_templates/*.jinja take precedence over
/// tokenizer_config.json (`tokenizer_config`, if present), and that over chat_template.json. Differing texts are a
/// warning in `findings`. Errors: read errors, "json-syntax", "hf-tok-template" (wrong type, not UTF-8),
/// "hf-tok-too-large" (above 16 MiB).
Result<ChatTemplates> read_chat_templates(const ModelFolder& folder, std::optional<json::Element> tokenizer_config,
                                          FindingLog& findings);

/// Returns the default template of a folder whose model is elsewhere or in another format; nullopt if there is none or
/// it cannot be read.
std::optional<std::string> folder_template(const ModelFolder& folder);

}  // namespace modelutils::tokenizer
