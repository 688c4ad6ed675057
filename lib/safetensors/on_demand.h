// Helpers for simdjson's On-Demand: strings without copies, and a walk that validates values that On-Demand would skip
// unchecked. Internal: include it in .cc files only.
#pragma once

#include <simdjson.h>

#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "base/error.h"

namespace modelutils::safetensors::on_demand {

using simdjson::error_code;
using simdjson::SUCCESS;
using simdjson::ondemand::json_type;

/// Maximum nesting of arrays and objects, counting the outermost: the limit of the reference's JSON reader
/// (serde_json).
inline constexpr std::size_t max_depth = 128;

/// A JSON text, followed by the padding that simdjson requires.
struct PaddedText {
  std::unique_ptr<char[]> bytes;
  std::size_t size = 0;

  std::string_view view() const { return {bytes.get(), size}; }
  simdjson::padded_string_view padded() const {
    return simdjson::padded_string_view(bytes.get(), size, size + simdjson::SIMDJSON_PADDING);
  }
};

/// Reads `size` bytes of `source` starting at `offset`. If the source's size is unknown, memory grows with the bytes
/// received. Errors: read errors; "io-short".
Result<PaddedText> read_text(const ByteSource& source, u64 offset, std::size_t size);

/// An unescaped member name or string. If `copied`, it is in the parser's own memory, not in the JSON text. The error
/// STRING_ERROR means an escape that is not a character, such as a lone surrogate.
struct Text {
  std::string_view text;
  bool copied = false;
};
error_code read_key(simdjson::ondemand::field& field, Text& out);
/// Returns INCORRECT_TYPE if the value is not a string. Call it at most once for a value whose text may hold an escape.
error_code read_string(simdjson::ondemand::value& value, Text& out);

/// Skips a value and validates every token in it, including strings and numbers. Not recursive. `depth` is the number
/// of containers around the value; returns DEPTH_ERROR if the total nesting exceeds max_depth.
error_code walk(simdjson::ondemand::value value, std::size_t depth);

/// Offset of the first byte of `text` that is not valid UTF-8; the size of `text` if all of it is valid.
std::size_t first_invalid_utf8(std::string_view text);

/// Offset of the first control character (below 0x20) inside a string of the JSON `text`; the size of `text` if there
/// is none.
std::size_t first_raw_control(std::string_view text);

}  // namespace modelutils::safetensors::on_demand
