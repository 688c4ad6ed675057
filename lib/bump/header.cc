#include "bump/header.h"

#include <cstring>

#include "base/byte_reader.h"

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

}  // namespace

std::span<const HeaderField> header_fields() {
  return fields;
}

std::array<std::byte, header_bytes> encode(const Header& header) {
  std::array<std::byte, header_bytes> bytes{};
  std::memcpy(bytes.data(), magic.data(), magic.size());
  for (const HeaderField& field : fields) {
    const u64 value = header.*field.value;
    std::memcpy(bytes.data() + field.offset, &value, field.bytes);  // little-endian: the low bytes come first
  }
  std::memcpy(bytes.data() + checksum_offset, header.sha256.data(), header.sha256.size());
  std::memcpy(bytes.data() + reserved_offset, header.reserved.data(), header.reserved.size());
  return bytes;
}

Header decode(std::span<const std::byte, header_bytes> bytes) {
  Header header;
  for (const HeaderField& field : fields) {
    const std::byte* from = bytes.data() + field.offset;
    header.*field.value = field.bytes == 4 ? load<u32>(from) : load<u64>(from);
  }
  std::memcpy(header.sha256.data(), bytes.data() + checksum_offset, header.sha256.size());
  std::memcpy(header.reserved.data(), bytes.data() + reserved_offset, header.reserved.size());
  return header;
}

}  // namespace modelutils::bump
