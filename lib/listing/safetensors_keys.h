// The keys of a safetensors model: those of its metadata and of config.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/safetensors_model.h"

namespace modelutils {

/// The value of `key` in __metadata__ of the model's files; else, for a directory, the field of that name in
/// config.json (of text_config before the top level). Strings as they are, lists one element a line, everything else as
/// JSON. Nothing if there is no such key. Raw text of the file.
std::optional<std::string> st_value(const SafetensorsModel& model, std::string_view key);

/// Every key that st_value() knows, once each, in the files' order: metadata, text_config, top level. Raw text.
std::vector<std::string> st_keys(const SafetensorsModel& model);

}  // namespace modelutils
