#include "formats/safetensors/text.h"

#include <algorithm>
#include <cstring>

#include "base/name_index.h"

namespace modelutils::safetensors {

Result<Text> read_text(const ByteSource& source, u64 offset, std::size_t size) {
  constexpr std::size_t first_read = std::size_t{1} << 20;  // if the source's size is unknown
  Text text;
  std::size_t room = source.size() ? size : std::min(size, first_read);
  text.bytes.reset(new char[room]);
  expect_to_fill(text.bytes.get(), room);
  while (text.size < size) {
    if (text.size == room) {
      const std::size_t larger = std::min(size, room * 2);
      std::unique_ptr<char[]> grown(new char[larger]);
      std::memcpy(grown.get(), text.bytes.get(), text.size);
      text.bytes = std::move(grown);
      room = larger;
    }
    const std::span<char> rest(text.bytes.get() + text.size, room - text.size);
    MU_ASSIGN(const std::size_t got, source.read_some(offset + text.size, std::as_writable_bytes(rest)));
    if (got == 0) {
      return input_error("io-short", "ends before its header does", {}, offset + text.size, source.name());
    }
    text.size += got;
  }
  return text;
}

}  // namespace modelutils::safetensors
