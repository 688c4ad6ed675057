// The keys of a safetensors model, from its metadata and its config.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/safetensors_model.h"

namespace modelutils {

/// Returns the value of `key` in __metadata__ of the model's files; otherwise, for a directory, the config.json field
/// of that name (in text_config before the top level). Strings verbatim, lists with one element per line, everything
/// else as JSON. Returns nullopt if there is no such key. Raw text of the file.
std::optional<std::string> st_value(const SafetensorsModel& model, std::string_view key);

/// Returns every key that st_value() knows, once each, in file order: metadata, text_config, top level. Raw text.
std::vector<std::string> st_keys(const SafetensorsModel& model);

}  // namespace modelutils
