// The JSON text of a header or an index, in memory that the JSON reader may write to.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/byte_reader.h"
#include "base/error.h"

namespace modelutils::safetensors {

struct Text {
  std::unique_ptr<char[]> bytes;
  std::size_t size = 0;

  std::string_view view() const { return {bytes.get(), size}; }
  std::span<char> span() { return {bytes.get(), size}; }
};

/// Reads `size` bytes of `source` starting at `offset`. If the source's size is unknown, memory grows with the bytes
/// received. Errors: read errors; "io-short".
Result<Text> read_text(const ByteSource& source, u64 offset, std::size_t size);

}  // namespace modelutils::safetensors
