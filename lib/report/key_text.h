// Keys and texts from files in every form: as text, as JSON values and member names, escaped for GitHub's Markdown.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_index.h"
#include "formats/gguf/parse.h"
#include "io/standard_output.h"
#include "json/writer.h"
#include "model/listing/listing.h"

namespace modelutils {

// Values of keys as JSON.

/// Writes the visited elements: inner arrays as arrays, the outermost array without its brackets.
class ArrayToJson : public gguf::ArrayVisitor {
 public:
  explicit ArrayToJson(json::Writer& json) : json_(json) {}
  bool begin() override;
  bool end() override;
  bool text(std::string_view text) override;
  bool scalar(const gguf::Value& value) override;

 private:
  json::Writer& json_;
};

/// Writes a value; arrays in full. A float32 is written as its exact double. Errors: those of reading.
Status write_json_value(json::Writer& json, const ListedValue& value);

/// Writes the member "array_types": element types from the outermost array inwards, as gguf-py's field.types. Errors:
/// those of reading.
Status write_array_types(json::Writer& json, ListedArray listed);

// Makes names from a file usable as JSON member names.

/// Makes member names unique and valid UTF-8. An invalid byte becomes U+FFFD; a repeated name becomes "NAME#2".
class MemberNames {
 public:
  /// Returns the name to use, valid as long as this object and `text`. Sets `altered` if it differs from the text.
  std::string_view claim(std::string_view text, bool& altered);

 private:
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }

  NameIndex names_;
  std::vector<u64> uses_;  // uses of each name, by its number
  std::deque<std::string> kept_;
};

/// Returns a scalar as text: shortest decimals, "true", strings escaped. Empty for arrays.
std::string scalar_text(const ListedValue& value);
/// Returns for example "u32" or "string[128,256]".
std::string key_type_text(const ListedKey& key);
/// Returns the beginning of a value on one line, about `columns` wide: strings escaped, arrays as "[a, b, …]". Errors:
/// those of reading.
Result<std::string> preview(const ListedValue& value, std::size_t columns);

/// Writes the value as stored (escaped if for_terminal), arrays with one element per line, inner arrays as JSON; always
/// ends with a line feed. Errors: those of reading.
Status write_value(TextOutput& out, const ListedValue& value, bool for_terminal);

// Escapes texts from files for GitHub's Markdown.

/// Escapes printable text (base/escape.h) so that it displays verbatim in a cell, a heading or a line: no HTML and no
/// links, including those that GitHub creates from addresses, names and numbers. `marks`: characters to escape with a
/// backslash.
std::string markdown_text(std::string_view printable, std::string_view marks = "\\|`*_[]#~");

}  // namespace modelutils
