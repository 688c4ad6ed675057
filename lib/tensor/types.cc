#include "tensor/types.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/types.h"

namespace modelutils {

namespace {

constexpr auto table = std::to_array<TypeInfo>({
#define MU_TYPE_ROW(name, value, elements, bytes, gguf, safetensors, quantized, decoder) \
  {TensorType::name, #name, elements, bytes, gguf, safetensors, quantized},
    MU_TENSOR_TYPES(MU_TYPE_ROW)
#undef MU_TYPE_ROW
});

static_assert(std::ranges::is_sorted(table, {}, &TypeInfo::type));

constexpr u16 first_safetensors_only = 0x100;
constexpr u8 absent = 0xFF;

// Returns the table's row for each ggml id, and for each safetensors-only value.
constexpr auto make_rows() {
  std::array<std::array<u8, 64>, 2> rows{};
  for (auto& half : rows) half.fill(absent);
  for (u8 row = 0; row < table.size(); ++row) {
    const auto value = static_cast<u16>(table[row].type);
    rows[value >= first_safetensors_only ? 1 : 0][value & 63] = row;
  }
  return rows;
}
constexpr auto rows = make_rows();

constexpr char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

}  // namespace

std::span<const TypeInfo> all_types() {
  return table;
}

const TypeInfo& type_info(TensorType type) {
  const auto value = static_cast<u16>(type);
  return table[rows[value >= first_safetensors_only ? 1 : 0][value & 63]];
}

std::optional<TensorType> type_from_gguf(u32 id) {
  if (id >= rows[0].size() || rows[0][id] == absent) return std::nullopt;
  return table[rows[0][id]].type;
}

std::optional<TensorType> type_from_safetensors(std::string_view dtype) {
  const auto found =
      std::ranges::find_if(table, [&](const TypeInfo& info) { return info.in_safetensors && info.name == dtype; });
  if (found == table.end()) return std::nullopt;
  return found->type;
}

std::optional<TensorType> type_from_name(std::string_view name) {
  // Unambiguous: no two names in the table differ only in case.
  const auto found = std::ranges::find_if(table, [&](const TypeInfo& info) {
    return std::ranges::equal(info.name, name, [](char a, char b) { return upper(a) == upper(b); });
  });
  if (found == table.end()) return std::nullopt;
  return found->type;
}

std::optional<u64> row_bytes(TensorType type, u64 ne0) {
  const TypeInfo& info = type_info(type);
  const u64 blocks =
      info.block_elements == 1 ? ne0 : ne0 / info.block_elements;  // avoids a division, slower than the rest
  if (blocks * info.block_elements != ne0) return std::nullopt;
  const auto size = checked_mul(blocks, info.block_bytes);
  if (!size || *size > u64{INT64_MAX}) return std::nullopt;
  return size;
}

// A type's block is the smallest run of elements that fills whole bytes, so the computation is the same.
std::optional<u64> packed_bytes(TensorType type, u64 elements) {
  return row_bytes(type, elements);
}

std::optional<u64> element_count(std::span<const u64> dims) {
  return checked_product(dims);
}

std::optional<u64> tensor_bytes(TensorType type, std::span<const u64> ne) {
  const auto row = row_bytes(type, ne.empty() ? 1 : ne.front());
  if (!row) return std::nullopt;
  u64 size = *row;
  for (u64 dim : ne.empty() ? ne : ne.subspan(1)) {
    const auto product = checked_mul(size, dim);
    if (!product || *product > u64{INT64_MAX}) return std::nullopt;
    size = *product;
  }
  // The element count must not overflow either: with types below one byte per element the size can fit although it
  // does.
  if (!element_count(ne)) return std::nullopt;
  return size;
}

std::vector<u64> reversed(std::span<const u64> dims) {
  return {dims.rbegin(), dims.rend()};
}

bool is_same_shape(std::span<const u64> a, std::span<const u64> b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if ((i < a.size() ? a[i] : 1) != (i < b.size() ? b[i] : 1)) return false;
  }
  return true;
}

void append_shape_text(std::string& out, std::span<const u64> dims) {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += " × ";
    append_number(out, dims[i]);
  }
}

std::string shape_text(std::span<const u64> dims) {
  std::string out;
  append_shape_text(out, dims);
  return out;
}

}  // namespace modelutils
