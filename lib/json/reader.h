// Reading JSON documents that stand beside the weights (config.json, tokenizer.json, an index): simdjson's DOM, capped
// in size and depth.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/model_folder.h"
#include "json/value.h"

namespace modelutils::json {

/// Which numbers a document may have. `python`: also those that Python's json module writes against the standard, as
/// config.json files have them: Infinity and -Infinity are read as the finite double of the largest magnitude ("no
/// limit"), NaN as null (no value).
enum class Numbers : u8 { standard, python };

/// A parsed document; `root` and everything taken from it live as long as it does.
class Document {
 public:
  Document();
  ~Document();

  Element root;
  std::string name;  ///< file name for messages

 private:
  friend Result<std::unique_ptr<Document>> parse(std::string_view text, std::string name, Numbers numbers);
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

/// Parses UTF-8 text (a byte order mark is refused). Code "json-syntax" with what the text is instead or what simdjson
/// says of it; nesting deeper than 1024 is refused without recursion. Integers beyond 64 bits become doubles.
Result<std::unique_ptr<Document>> parse(std::string_view text, std::string name, Numbers numbers = Numbers::standard);

/// Reads and parses a regular file of at most `max_bytes`. Codes: those of RandomAccessFile::open, "json-too-large",
/// "json-syntax".
Result<std::unique_ptr<Document>> load(const std::string& path, u64 max_bytes = u64{256} << 20);

/// The same for a file next to the weights, or what was parsed through the folder before; nullptr if there is none.
/// Codes: those of open_side_file() and load().
Result<std::shared_ptr<Document>> load_if_present(const ModelFolder& folder, std::string_view name,
                                                  u64 max_bytes = u64{256} << 20, Numbers numbers = Numbers::standard);

/// Member `key` of an object. Nothing if `value` is no object, lacks the key, or has null there (null = absent).
std::optional<Element> member(Element value, std::string_view key);

/// Typed members: nothing if absent, null or of another type. Integers written as 1.0 or beyond u64 are no integers.
std::optional<std::string_view> string_member(Element value, std::string_view key);
std::optional<u64> u64_member(Element value, std::string_view key);
std::optional<i64> i64_member(Element value, std::string_view key);
std::optional<double> number_member(Element value, std::string_view key);  ///< integers count as numbers
std::optional<bool> bool_member(Element value, std::string_view key);
std::optional<Array> array_member(Element value, std::string_view key);
std::optional<Object> object_member(Element value, std::string_view key);

}  // namespace modelutils::json
