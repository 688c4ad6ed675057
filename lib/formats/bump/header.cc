#include "formats/bump/header.h"

namespace modelutils::bump {

namespace {

constexpr std::array<HeaderField, 11> fields = {{
    {"version", &Header::version, 0x08, 4},
    {"model_type", &Header::model_type, 0x0C, 4},
    {"num_layers", &Header::num_layers, 0x10, 4},
    {"vocab_size", &Header::vocab_size, 0x14, 4},
    {"embed_dim", &Header::embed_dim, 0x18, 4},
    {"context_len", &Header::context_len, 0x1C, 4},
    {"num_heads", &Header::num_heads, 0x20, 4},
    {"head_dim", &Header::head_dim, 0x24, 4},
    {"aligned_embed", &Header::aligned_embed, 0x28, 8},
    {"aligned_head", &Header::aligned_head, 0x30, 8},
    {"aligned_ctx", &Header::aligned_ctx, 0x38, 8},
}};
constexpr HeaderPlaces places = {checksum_offset, reserved_offset};

}  // namespace

std::span<const HeaderField> header_fields() {
  return fields;
}

std::array<std::byte, header_bytes> encode(const Header& header) {
  return encode_fields<header_bytes>(header_fields(), header, magic, places);
}

Header decode(std::span<const std::byte, header_bytes> bytes) {
  return decode_fields(header_fields(), bytes, places);
}

}  // namespace modelutils::bump

namespace modelutils::bump5 {

namespace {

constexpr std::array<HeaderField, 16> fields = {{
    {"version", &Header::version, 8, 4},
    {"model_type", &Header::model_type, 12, 4},
    {"num_layers", &Header::num_layers, 16, 4},
    {"vocab_size", &Header::vocab_size, 20, 4},
    {"embed_dim", &Header::embed_dim, 24, 4},
    {"intermediate", &Header::intermediate, 28, 4},
    {"context_len", &Header::context_len, 32, 4},
    {"num_heads", &Header::num_heads, 36, 4},
    {"num_kv_heads", &Header::num_kv_heads, 40, 4},
    {"head_dim", &Header::head_dim, 44, 4},
    {"aligned_embed", &Header::aligned_embed, 48, 8},
    {"aligned_head", &Header::aligned_head, 56, 8},
    {"aligned_intermediate", &Header::aligned_intermediate, 64, 8},
    {"aligned_context", &Header::aligned_context, 72, 8},
    {"num_merges", &Header::num_merges, 80, 4},
    {"vocab_bytes", &Header::vocab_bytes, 84, 4},
}};
constexpr bump::HeaderPlaces places = {checksum_offset, reserved_offset};

}  // namespace

std::span<const HeaderField> header_fields() {
  return fields;
}

std::array<std::byte, header_bytes> encode(const Header& header) {
  return bump::encode_fields<header_bytes>(header_fields(), header, header.version == 4 ? magic4 : magic, places);
}

Header decode(std::span<const std::byte, header_bytes> bytes) {
  return bump::decode_fields(header_fields(), bytes, places);
}

}  // namespace modelutils::bump5
