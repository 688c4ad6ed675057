// What this room needs of simdjson's On-Demand: strings without copies, and a walk that validates what On-Demand would
// skip unseen. Internal: include it in .cc files only.
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

/// Levels of arrays and objects, the outermost counted, that a value may nest: as many as the reference's JSON reader
/// (serde_json) allows.
inline constexpr std::size_t max_depth = 128;

/// A JSON text with the padding behind it that simdjson reads over.
struct PaddedText {
  std::unique_ptr<char[]> bytes;
  std::size_t size = 0;

  std::string_view view() const { return {bytes.get(), size}; }
  simdjson::padded_string_view padded() const {
    return simdjson::padded_string_view(bytes.get(), size, size + simdjson::SIMDJSON_PADDING);
  }
};

/// Reads `size` bytes of `source` from `offset` on. If the source does not know its size, memory grows with what really
/// arrives. Errors: those of reading; "io-short".
Result<PaddedText> read_text(const ByteSource& source, u64 offset, std::size_t size);

/// The text of a member's name or of a string, unescaped. `copied` says that it stands in the parser's own memory and
/// not in the JSON text. STRING_ERROR: an escape that stands for no character (a lone surrogate, for one).
struct Text {
  std::string_view text;
  bool copied = false;
};
error_code read_key(simdjson::ondemand::field& field, Text& out);
/// INCORRECT_TYPE if the value is no string. At most once for a value whose text may hold an escape.
error_code read_string(simdjson::ondemand::value& value, Text& out);

/// Passes over a value and validates every token in it, strings and numbers included. Not recursive. DEPTH_ERROR if it
/// nests deeper than max_depth less `depth`, the number of containers around it.
error_code walk(simdjson::ondemand::value value, std::size_t depth);

/// Offset of the first byte of `text` that is not UTF-8; its size if all of it is.
std::size_t first_invalid_utf8(std::string_view text);

/// Offset of the first control character (below 0x20) inside a string of the JSON `text`; its size if there is none.
std::size_t first_raw_control(std::string_view text);

}  // namespace modelutils::safetensors::on_demand
