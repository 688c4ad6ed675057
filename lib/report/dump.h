// All output of the dumpers, through one call; and the files of a repository, as text and as JSON.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "model/format.h"
#include "model/memory/fit.h"
#include "report/listing_forms.h"
#include "report/prompt.h"
#include "store/folder_model.h"

namespace modelutils {

/// Reads the keys of a model's tokenizer.
using TokenizerKeys = std::function<Result<tokenizer::EncodeKeys>()>;

/// The output requested from a dumper. At most one of `value`, `values`, `statistics`, `names` is set; without them the
/// listing is written in its form. `json` combines with all but `value` and `names`.
struct DumpRequest {
  enum class Names : u8 { none, keys, known_keys, tensors };

  ListingRequest select;
  ListingOptions options;
  const ListingForm* form = nullptr;  ///< one of listing_forms(); nullptr: text, or JSON
  bool json = false;
  bool csv = false;                   ///< write statistics as CSV
  std::optional<std::string> value;   ///< print the value of this key
  std::optional<std::string> values;  ///< print the values of this tensor
  std::optional<u64> count;           ///< print at most this many values
  bool raw = false;                   ///< print the values as stored
  bool statistics = false;
  Progress* progress = nullptr;           ///< shown while statistics are made
  std::optional<memory::FitRequest> fit;  ///< report whether the model fits instead of listing it: dump_fit()
  bool fit_layers = false;
  std::optional<TokenRequest> tokens;   ///< print tokens instead of a listing: dump_tokens()
  std::optional<PromptRequest> prompt;  ///< print a prompt instead of a listing: dump_prompt(); with `tokens`, its
                                        ///< tokens
  std::string template_name;            ///< name of the chat template for the prompt
  Names names = Names::none;
  bool is_plain = false;  ///< no form of output and no selection was requested
};

/// Prints one model. Errors: those of reading, "key-not-found", "tensor-not-found", "tensor-no-decoder".
Status dump_model(TextOutput& out, ListingSource& source, const std::string& path, const DumpRequest& request);

/// Returns error "io-pipe": statistics were requested for a model on a standard input that is a pipe.
Error statistics_of_pipe();

/// Prints whether the model fits.
void dump_fit(TextOutput& out, const memory::FitReport& report, const std::string& path, const DumpRequest& request);

/// Prints a prompt verbatim; escaped for a terminal. Errors: those of rendered_prompt(); with `request.tokens`, those
/// of `keys` and of write_tokens().
Status dump_prompt(TextOutput& out, const ChatSource& chat, const TokenizerKeys& keys, const std::string& path,
                   const DumpRequest& request);

/// Prints tokens. Errors: those of write_tokens().
Status dump_tokens(TextOutput& out, tokenizer::EncodeKeys keys, const std::string& path, const DumpRequest& request);

// The models of a folder, one per line.

/// Writes a line per model. Only `width` and `color` of the options count.
void write_folder(TextOutput& out, std::span<const FolderModel> models, const ListingOptions& options);

// The files of a repository, as text and as JSON.

/// Lists GGUF models with their sizes, then the other files.
std::string repository_text(const Repository& repository);

/// Returns one object on one line (docs/json.md, "repository/1").
std::string repository_json(const Repository& repository);

}  // namespace modelutils
