// Headers of BUMPWGT files of every version as tables of their numbers, with name, offset and width; then the checksum
// and the reserved bytes, and the footer of BUMPWGT5. Source: docs/formats/bump.md and docs/formats/bump5.md, "The
// file".
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

/// Decodes fields written by encode_fields(). The caller checks the magic.
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

inline constexpr std::string_view magic = "BUMPWGT3";
inline constexpr u64 header_bytes = 0x80;
inline constexpr u64 checksum_offset = 0x40;
inline constexpr u64 reserved_offset = 0x60;
/// Offset of the dtype code count, where the range of the checksum begins.
inline constexpr u64 table_offset = 0x80;
inline constexpr u64 codes_offset = 0x84;

using Digest = std::array<std::byte, 32>;

/// The header's numbers as in the file, valid or not. u32 fields are held as u64, so that a value that does not fit can
/// be detected before it is written.
struct Header {
  u64 version = 3;
  u64 model_type = 1;  ///< legacy, constant
  u64 num_layers = 0;
  u64 vocab_size = 0;  ///< rows of the token embedding
  u64 embed_dim = 0;
  u64 context_len = 0;
  u64 num_heads = 0;
  u64 head_dim = 0;
  u64 aligned_embed = 0;  ///< elements
  u64 aligned_head = 0;   ///< elements
  u64 aligned_ctx = 0;    ///< context_len rounded up to a multiple of 16
  Digest sha256{};        ///< of all bytes from table_offset to the end of the file
  Digest reserved{};      ///< zero
};

using HeaderField = FieldOf<Header>;

std::span<const HeaderField> header_fields();

/// Returns the 128 bytes. Precondition: every value fits its field.
std::array<std::byte, header_bytes> encode(const Header& header);

/// Reads the numbers, the checksum and the reserved bytes. The caller checks the magic.
Header decode(std::span<const std::byte, header_bytes> bytes);

/// context_len rounded up to a multiple of 16 elements (64 bytes of f32).
constexpr u64 aligned_context(u64 context_len) {
  return (context_len + 15) / 16 * 16;
}

}  // namespace modelutils::bump

namespace modelutils::bump5 {

// The 152 bytes at the beginning of a BUMPWGT4 or BUMPWGT5 file, and the footer of BUMPWGT5. Source:
// docs/formats/bump5.md, "The file".

inline constexpr std::string_view magic = "BUMPWGT5";
inline constexpr std::string_view magic4 = "BUMPWGT4";
/// Size of header and extension.
inline constexpr u64 header_bytes = 152;
inline constexpr u64 checksum_offset = 88;
inline constexpr u64 reserved_offset = 120;
/// Offset of the dtype code count, where the range of the checksum begins.
inline constexpr u64 table_offset = header_bytes;
inline constexpr u64 codes_offset = table_offset + 4;

inline constexpr std::string_view footer_magic = "BUMPV5MD";
/// Size of the footer: the magic, the metadata's size (u64) and its SHA-256.
inline constexpr u64 footer_bytes = 48;

/// The header's numbers as in the file. u32 fields are held as u64, so that a value that does not fit can be detected
/// before it is written.
struct Header {
  u64 version = 5;
  u64 model_type = 1;            ///< legacy, constant
  u64 num_layers = 0;            ///< L
  u64 vocab_size = 0;            ///< V: rows of the token embedding
  u64 embed_dim = 0;             ///< E
  u64 intermediate = 0;          ///< F
  u64 context_len = 0;           ///< C
  u64 num_heads = 0;             ///< H
  u64 num_kv_heads = 0;          ///< K
  u64 head_dim = 0;              ///< D
  u64 aligned_embed = 0;         ///< = embed_dim
  u64 aligned_head = 0;          ///< = head_dim
  u64 aligned_intermediate = 0;  ///< = intermediate
  u64 aligned_context = 0;       ///< context_len rounded up to a multiple of 16
  u64 num_merges = 0;            ///< triples in vocab_merges
  u64 vocab_bytes = 0;           ///< size of vocab_strings
  bump::Digest sha256{};         ///< from table_offset to the end of the payload
  bump::Digest reserved{};       ///< 8 bytes of the header and the extension's 24: zero
};

using HeaderField = bump::FieldOf<Header>;
std::span<const HeaderField> header_fields();

/// Returns the 152 bytes, with the version's magic. Precondition: every value fits its field.
std::array<std::byte, header_bytes> encode(const Header& header);
/// Reads the numbers, the checksum and the reserved bytes. The caller checks the magic.
Header decode(std::span<const std::byte, header_bytes> bytes);

}  // namespace modelutils::bump5
