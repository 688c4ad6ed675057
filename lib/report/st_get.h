// st-dump --get: one value of the metadata or of config.json, as it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/safetensors_model.h"

namespace modelutils {

/// The value of `key` in __metadata__ of the model's files; else, for a directory, the field of that name in
/// config.json (of text_config before the top level). Strings as they are, lists one element a line, everything else as
/// JSON. Nothing if there is no such key. Raw text of the file.
std::optional<std::string> st_value(const SafetensorsModel& model, std::string_view key);

}  // namespace modelutils
