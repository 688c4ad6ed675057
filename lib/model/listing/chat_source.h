// A model's chat template, with the tokens to which its keys assign a role and that the template may use.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "formats/gguf/split_set.h"
#include "model/listing/model_facts.h"
#include "model/safetensors_model.h"

namespace modelutils {

// The tokens to which a model's keys assign a role, with their texts.

/// Returns the tokens in the order of token_roles(); skips ids outside the vocabulary. Empty if the texts
/// cannot be read.
std::vector<NamedToken> named_tokens(const gguf::SplitSet& set);

/// Returns the tokens at which llama.cpp ends a generation, by id: eos, eot and eom, and those whose texts it
/// recognises (gguf::end_texts()), with its exceptions. Fill-in-the-middle tokens, at which it stops as well, are
/// left out.
std::vector<NamedToken> stop_tokens(const gguf::SplitSet& set);
/// Returns the tokens at which transformers and mlx-lm end a generation: eos_token_id of generation_config.json,
/// otherwise of config.json. The text is empty if no file next to the weights lists the token as an added one.
std::vector<NamedToken> stop_tokens(const SafetensorsModel& model);

struct ChatSource {
  std::string path;           ///< path of the model
  std::string where;          ///< the key; empty for directories
  std::string text;           ///< the template, verbatim
  std::optional<u64> offset;  ///< offset of the template in the file if it is stored verbatim
  /// The variables of the template: "bos_token" with its text, and so on. Empty without a tokenizer.
  std::vector<std::pair<std::string, std::string>> special_tokens;
};

/// Returns the template `name` (empty or "default": the unnamed one) and the special tokens. Errors: "template-missing"
/// of kind no_match, which lists the existing templates.
Result<ChatSource> chat_source(const gguf::SplitSet& set, std::string_view name);
/// Like chat_source() for a GGUF, for a directory. Further errors: those of reading its tokenizer files;
/// "hf-tok-missing" if the model is not a directory.
Result<ChatSource> chat_source(const SafetensorsModel& model, std::string_view name);

}  // namespace modelutils
