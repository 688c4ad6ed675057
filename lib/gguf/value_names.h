// Short names of value types, as gguf-dump prints and gguf-edit accepts them: "u32", "string", "f32[]".
#pragma once

#include <optional>
#include <string_view>

#include "gguf/document.h"

namespace modelutils::gguf {

/// "u8", "f32", "bool", "string", "array", …
std::string_view short_type_name(ValueType type);
/// Returns the type with a short name; nullopt for unknown names.
std::optional<ValueType> type_from_short_name(std::string_view name);

}  // namespace modelutils::gguf
