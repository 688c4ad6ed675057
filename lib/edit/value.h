// Values of keys from text: what --set and --set-from are given, as GGUF stores it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "gguf/write.h"

namespace modelutils::edit {

/// The type of a value: a scalar, or an array of scalars.
struct EditType {
  gguf::ValueType type = gguf::ValueType::string;
  gguf::ValueType elements = gguf::ValueType::string;  ///< of an array

  /// "u32", "string[]".
  std::string text() const;
};

/// "u32", "string[]" -> a type; nothing for other texts ("array" too, which says too little).
std::optional<EditType> edit_type_from_name(std::string_view name);
/// The type of a key; nullopt for arrays of arrays.
std::optional<EditType> edit_type_of(const gguf::OutKey& key);

/// The bytes behind the type field. Scalars: decimal numbers (also "nan", "inf", "-inf" for floats), "true" and
/// "false", strings as they are; arrays: JSON. Errors of kind usage: what does not parse or does not fit.
Result<std::string> encode_value(const EditType& type, std::string_view text);
/// The same from the text of a file: one last line feed is left off; arrays have one element per line.
Result<std::string> encode_file_text(const EditType& type, std::string_view text);

}  // namespace modelutils::edit
