// The 152 bytes at the beginning of a BUMPWGT4 or BUMPWGT5 file, and the footer of BUMPWGT5. Source:
// docs/formats/bump5.md, "The file".
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "bump/header.h"

namespace modelutils::bump5 {

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
