#include "tokenizer/charsmap.h"

#include <fmt/core.h>

#include "base/byte_reader.h"

namespace modelutils::tokenizer {

namespace {

constexpr u32 leaf_bit = 1U << 31;

// Returns the offset of a unit's children: 21 bits, shifted left by eight if bit 9 is set.
u32 offset_of(u32 unit) {
  return (unit >> 10) << ((unit & (1U << 9)) >> 6);
}

tl::unexpected<Error> broken(std::string message) {
  return input_error("hf-tok-charsmap", "the precompiled map of characters " + std::move(message));
}

}  // namespace

Status check_charsmap(std::string_view bytes) {
  ByteReader reader(std::as_bytes(std::span(bytes)));
  const u64 array_bytes = reader.read<u32>();
  if (bytes.size() < 4 || array_bytes >= bytes.size() - 4) {
    return broken(fmt::format("has {} bytes, fewer than it says", bytes.size()));
  }
  // Units come in blocks of 256. XOR with a byte thus stays in the block that the offset leads to.
  constexpr u64 block_bytes = 4 * 256;
  if (array_bytes == 0 || array_bytes % block_bytes != 0) {
    return broken(fmt::format("has an array of {} bytes, which is not a multiple of {}", array_bytes, block_bytes));
  }
  if (bytes.back() != '\0') return broken("does not end with a zero byte");
  const u64 units = array_bytes / 4, texts = bytes.size() - 4 - array_bytes;
  for (u64 index = 0; index < units; ++index) {
    const u32 unit = reader.read<u32>();
    const bool is_leaf = (unit & leaf_bit) != 0;
    const u64 target = is_leaf ? unit & ~leaf_bit : index ^ offset_of(unit);
    if (target >= (is_leaf ? texts : units)) return broken(fmt::format("leads out of itself at unit {}", index));
  }
  return {};
}

Result<std::string> read_charsmap(const ByteSource& source, const gguf::ArrayRef& array) {
  constexpr u64 largest = u64{64} << 20;  // real ones have less than 1 MiB
  const auto refuse = [](std::string message) { return input_error("tok-charsmap", std::move(message)); };
  if (gguf::value_size(array.element_type) != 1) return refuse("is not an array of bytes");
  if (array.count > largest) return refuse(fmt::format("has {} bytes, which is more than {}", array.count, largest));
  ByteReader reader(source, array.offset);
  std::string bytes = reader.read_string(array.count);
  if (reader.source_error()) return tl::make_unexpected(*reader.source_error());
  const Status checked = check_charsmap(bytes);
  if (!checked) return refuse(checked.error().message);
  return bytes;
}

}  // namespace modelutils::tokenizer
