// The header of a BUMPWGT file as a table of its numbers, with name, offset and width; then the checksum and the
// reserved bytes.
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "base/byte_reader.h"
#include "base/types.h"

namespace modelutils::bump {

/// One number of the header. Its offset and width are defined only here.
template <typename Header>
struct FieldOf {
  std::string_view name;
  u64 Header::*value;
  u32 offset;
  u32 bytes;  ///< 4 or 8
};

/// Offsets of the fields that are not numbers.
struct HeaderPlaces {
  u64 checksum;
  u64 reserved;
};

/// Returns the bytes of a header of `size` bytes. Precondition: every value fits its field.
template <std::size_t size, typename Header>
std::array<std::byte, size> encode_fields(std::span<const FieldOf<Header>> fields, const Header& header,
                                          std::string_view magic, HeaderPlaces places) {
  std::array<std::byte, size> bytes{};
  std::memcpy(bytes.data(), magic.data(), magic.size());
  for (const FieldOf<Header>& field : fields) {
    const u64 value = header.*field.value;
    std::memcpy(bytes.data() + field.offset, &value, field.bytes);  // little-endian: the low bytes are first
  }
  std::memcpy(bytes.data() + places.checksum, header.sha256.data(), header.sha256.size());
  std::memcpy(bytes.data() + places.reserved, header.reserved.data(), header.reserved.size());
  return bytes;
}

/// The inverse of encode_fields(). The caller checks the magic.
template <std::size_t size, typename Header>
Header decode_fields(std::span<const FieldOf<Header>> fields, std::span<const std::byte, size> bytes,
                     HeaderPlaces places) {
  Header header;
  for (const FieldOf<Header>& field : fields) {
    const std::byte* from = bytes.data() + field.offset;
    header.*field.value = field.bytes == 4 ? load<u32>(from) : load<u64>(from);
  }
  std::memcpy(header.sha256.data(), bytes.data() + places.checksum, header.sha256.size());
  std::memcpy(header.reserved.data(), bytes.data() + places.reserved, header.reserved.size());
  return header;
}

}  // namespace modelutils::bump
