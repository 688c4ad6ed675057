// Everything that the dumpers print, by one call.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "memory/fit.h"
#include "report/listing_forms.h"
#include "report/prompt.h"
#include "report/token_report.h"

namespace modelutils {

/// Reads what a model says of its tokenizer.
using TokenizerKeys = std::function<Result<tokenizer::EncodeKeys>()>;

/// What a dumper is asked for. At most one of `value`, `values`, `statistics`, `names`; without them the listing in its
/// form. `json` goes with all but `value` and `names`.
struct DumpRequest {
  enum class Names : u8 { none, keys, known_keys, tensors };

  ListingRequest select;
  ListingOptions options;
  const ListingForm* form = nullptr;  ///< of listing_forms(); nothing: text, or JSON
  bool json = false;
  bool csv = false;                   ///< of statistics
  std::optional<std::string> value;   ///< of this key
  std::optional<std::string> values;  ///< of this tensor
  std::optional<u64> count;           ///< at most so many of them
  bool raw = false;                   ///< as stored
  bool statistics = false;
  std::optional<memory::FitRequest> fit;  ///< whether it fits, instead of a listing: dump_fit()
  bool fit_layers = false;
  std::optional<TokenRequest> tokens;   ///< tokens, instead of a listing: dump_tokens()
  std::optional<PromptRequest> prompt;  ///< a prompt, instead of a listing: dump_prompt(); with `tokens`, its tokens
  std::string template_name;            ///< that makes the prompt
  Names names = Names::none;
};

/// Prints one model. Errors: those of reading, "key-not-found", "tensor-not-found", "tensor-no-decoder".
Status dump_model(TextOutput& out, ListingSource& source, const std::string& path, const DumpRequest& request);

/// "io-pipe": statistics of a model on standard input that is a pipe.
Error statistics_of_pipe();

/// The same for whether it fits.
void dump_fit(TextOutput& out, const memory::FitReport& report, const std::string& path, const DumpRequest& request);

/// A prompt as it is; for a terminal escaped. Errors: those of rendered_prompt(); with `request.tokens`, those of
/// `keys` and of write_tokens().
Status dump_prompt(TextOutput& out, const ChatSource& chat, const TokenizerKeys& keys, const std::string& path,
                   const DumpRequest& request);

/// The same for tokens. Errors: those of write_tokens().
Status dump_tokens(TextOutput& out, tokenizer::EncodeKeys keys, const std::string& path, const DumpRequest& request);

}  // namespace modelutils
