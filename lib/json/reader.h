// Parses the JSON documents next to the weights (config.json, tokenizer.json, an index) into a tree of values
// (json/value.h). Size and depth are limited.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/model_folder.h"
#include "json/cursor.h"
#include "json/value.h"

namespace modelutils::json {

/// A parsed document. `root` and all values obtained from it are valid as long as the document exists.
class Document {
 public:
  Document() = default;
  Document(const Document&) = delete;  // values point into it
  Document& operator=(const Document&) = delete;

  Element root;
  std::string name;  ///< file name for messages

 private:
  friend class Parser;
  std::string text_;               // with strings unescaped in place
  std::unique_ptr<Node[]> nodes_;  // all values, in the order of the text
};

/// Parses UTF-8 text. Code: "json-syntax", with the reason or the format that the text has instead. Refuses a byte
/// order mark and nesting deeper than 1024 (without recursion). Integers beyond 64 bits become doubles.
Result<std::unique_ptr<Document>> parse(std::string_view text, std::string name, Numbers numbers = Numbers::standard);

/// Reads and parses a regular file of at most `max_bytes`. Codes: those of RandomAccessFile::open, "json-too-large",
/// "json-syntax".
Result<std::unique_ptr<Document>> load(const std::string& path, u64 max_bytes = u64{256} << 20);

/// Loads a file next to the weights, or returns the document already parsed through this folder. Returns nullptr if
/// there is no such file. Codes: those of open_side_file() and load().
Result<std::shared_ptr<Document>> load_if_present(const ModelFolder& folder, std::string_view name,
                                                  u64 max_bytes = u64{256} << 20, Numbers numbers = Numbers::standard);

/// Returns member `key` of an object, or nullopt if `value` is not an object or if the member is absent or null.
std::optional<Element> member(Element value, std::string_view key);

/// Typed members. They return nullopt if the member is absent, null or of another type. 1.0 and numbers beyond the
/// type's range are not integers.
std::optional<std::string_view> string_member(Element value, std::string_view key);
std::optional<u64> u64_member(Element value, std::string_view key);
std::optional<i64> i64_member(Element value, std::string_view key);
std::optional<double> number_member(Element value, std::string_view key);  ///< accepts integers
std::optional<bool> bool_member(Element value, std::string_view key);
std::optional<Array> array_member(Element value, std::string_view key);
std::optional<Object> object_member(Element value, std::string_view key);

}  // namespace modelutils::json
