// Encodes the values of --set and --set-from as GGUF stores them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "gguf/write.h"

namespace modelutils::edit {

/// The type of a key's value: a scalar, or an array of scalars.
struct EditType {
  gguf::ValueType type = gguf::ValueType::string;
  gguf::ValueType elements = gguf::ValueType::string;  ///< for arrays

  /// Returns a name such as "u32" or "string[]".
  std::string text() const;
};

/// Returns the type of a name such as "u32" or "string[]". Returns nullopt for other texts, and for "array", which
/// lacks the element type.
std::optional<EditType> edit_type_from_name(std::string_view name);
/// Returns the type of a key, or nullopt for arrays of arrays.
std::optional<EditType> edit_type_of(const gguf::OutKey& key);

/// Returns the bytes that follow the type field. Scalars are decimal numbers (also "nan", "inf", "-inf" for floats),
/// "true" or "false", or strings verbatim; arrays are JSON. Errors of kind usage: text that does not parse or does not
/// fit.
Result<std::string> encode_value(const EditType& type, std::string_view text);
/// Like encode_value(), for the text of a file: drops one trailing line feed; arrays have one element per line.
Result<std::string> encode_file_text(const EditType& type, std::string_view text);

}  // namespace modelutils::edit
