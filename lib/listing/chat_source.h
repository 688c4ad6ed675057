// A model's chat template, with the special tokens that the template may use.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gguf/split_set.h"
#include "model/safetensors_model.h"

namespace modelutils {

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
