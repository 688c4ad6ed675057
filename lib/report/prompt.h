// Renders a conversation with a model's chat template, and prints tokens of a vocabulary, tokens of a text, or the
// text of tokens: --tokens, --tokenize and --detokenize.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.h"
#include "io/standard_output.h"
#include "model/listing/chat_source.h"
#include "report/table.h"
#include "tokenizer/encode/encoder.h"

namespace modelutils {

// The timestamp for outputs.

/// Returns seconds since 1970: the current time, or SOURCE_DATE_EPOCH for reproducible outputs.
i64 report_time();

/// Largest accepted JSON text: 64 MiB.
constexpr std::size_t max_conversation_bytes = std::size_t{64} << 20;

/// A JSON text and its name in messages.
struct NamedJson {
  std::string name;
  std::string text;
};

struct PromptRequest {
  NamedJson messages;  ///< a list of messages, or an object with `messages` and further variables
  std::optional<NamedJson> tools = {};
  std::vector<std::pair<std::string, std::string>> variables = {};  ///< name and value, JSON or text
  bool no_generation_prompt = false;
};

/// Returns a conversation of three messages with two roles.
NamedJson example_conversation();

/// Returns the prompt, byte for byte as transformers renders it; the template's clock is report_time(). Variables in
/// `wanted` take precedence over members of the messages object. Errors: "template-messages", those of JSON, of
/// jinja::parse() and jinja::render().
Result<std::string> rendered_prompt(const ChatSource& chat, const PromptRequest& wanted);

/// Returns "template-messages" for a text of more than max_conversation_bytes.
tl::unexpected<Error> too_long_conversation(const std::string& name);

// Prints tokens of a vocabulary, tokens of a text, or the text of tokens: --tokens, --tokenize and --detokenize.

/// Exactly one of `list`, `text` and `ids` is set.
struct TokenRequest {
  /// Tokens to list: "special", "all", a number, "text:TEXT", or a glob over texts. Printed in id order, each once.
  std::vector<std::string> list;
  std::optional<std::string> text;      ///< text to tokenize
  std::optional<std::vector<u32>> ids;  ///< ids to detokenize
  tokenizer::EncodeOptions encode;
  bool csv = false;  ///< only with `list`
};

struct TokenForm {
  bool json = false;  ///< "vocabulary/1" for a list, otherwise "tokens/1"; one line per model
  bool for_terminal = false;
  bool first = true;      ///< nothing was printed before
  std::size_t width = 0;  ///< columns of the terminal; 0: not limited
  Style style{false};
  std::string path = {};  ///< the model's path if several models are shown; otherwise empty
};

/// Prints the requested tokens. Errors: "key-no-token" (an id or a text that is not in the vocabulary), kind no_match
/// ("special" or a glob selects nothing), those of making and running an encoder.
Status write_tokens(TextOutput& out, tokenizer::EncodeKeys keys, const TokenRequest& request, const TokenForm& form);

}  // namespace modelutils
