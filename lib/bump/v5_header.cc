#include "bump/v5_header.h"

#include <cstring>

#include "base/byte_reader.h"

namespace modelutils::bump::v5 {

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

}  // namespace

std::span<const HeaderField> header_fields() {
  return fields;
}

std::array<std::byte, header_bytes> encode(const Header& header) {
  std::array<std::byte, header_bytes> bytes{};
  const std::string_view word = header.version == 4 ? magic4 : magic;
  std::memcpy(bytes.data(), word.data(), word.size());
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

}  // namespace modelutils::bump::v5
