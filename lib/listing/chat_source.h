// What a model brings to a chat: its template and the special tokens that the template may write.
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
  std::string path;           ///< of the model
  std::string where;          ///< the key; empty for directories
  std::string text;           ///< the template, verbatim
  std::optional<u64> offset;  ///< of the text in the file, where it stands there verbatim
  /// "bos_token" and its text, …: the variables of that name. Empty without a tokenizer.
  std::vector<std::pair<std::string, std::string>> special_tokens;
};

/// The template `name` (empty or "default": the one without a name) and the special tokens. Errors: "template-missing"
/// of kind no_match, which names the templates that there are.
Result<ChatSource> chat_source(const gguf::SplitSet& set, std::string_view name);
/// The same of a directory. Errors: also those of reading its tokenizer's files, "hf-tok-missing" where the model is no
/// directory.
Result<ChatSource> chat_source(const SafetensorsModel& model, std::string_view name);

}  // namespace modelutils
