#include "tensor/types.h"

#include <algorithm>
#include <array>

#include "base/checked_math.h"

namespace modelutils {
namespace {

using enum TensorType;

constexpr bool yes = true;
constexpr bool no = false;

// clang-format off
constexpr auto table = std::to_array<TypeInfo>({
//  type          name           elements bytes  GGUF safetensors quantized
    {F32,         "F32",         1,       4,     yes, yes,        no},
    {F16,         "F16",         1,       2,     yes, yes,        no},
    {Q4_0,        "Q4_0",        32,      18,    yes, no,         yes},
    {Q4_1,        "Q4_1",        32,      20,    yes, no,         yes},
    {Q5_0,        "Q5_0",        32,      22,    yes, no,         yes},
    {Q5_1,        "Q5_1",        32,      24,    yes, no,         yes},
    {Q8_0,        "Q8_0",        32,      34,    yes, no,         yes},
    {Q8_1,        "Q8_1",        32,      36,    yes, no,         yes},
    {Q2_K,        "Q2_K",        256,     84,    yes, no,         yes},
    {Q3_K,        "Q3_K",        256,     110,   yes, no,         yes},
    {Q4_K,        "Q4_K",        256,     144,   yes, no,         yes},
    {Q5_K,        "Q5_K",        256,     176,   yes, no,         yes},
    {Q6_K,        "Q6_K",        256,     210,   yes, no,         yes},
    {Q8_K,        "Q8_K",        256,     292,   yes, no,         yes},
    {IQ2_XXS,     "IQ2_XXS",     256,     66,    yes, no,         yes},
    {IQ2_XS,      "IQ2_XS",      256,     74,    yes, no,         yes},
    {IQ3_XXS,     "IQ3_XXS",     256,     98,    yes, no,         yes},
    {IQ1_S,       "IQ1_S",       256,     50,    yes, no,         yes},
    {IQ4_NL,      "IQ4_NL",      32,      18,    yes, no,         yes},
    {IQ3_S,       "IQ3_S",       256,     110,   yes, no,         yes},
    {IQ2_S,       "IQ2_S",       256,     82,    yes, no,         yes},
    {IQ4_XS,      "IQ4_XS",      256,     136,   yes, no,         yes},
    {I8,          "I8",          1,       1,     yes, yes,        no},
    {I16,         "I16",         1,       2,     yes, yes,        no},
    {I32,         "I32",         1,       4,     yes, yes,        no},
    {I64,         "I64",         1,       8,     yes, yes,        no},
    {F64,         "F64",         1,       8,     yes, yes,        no},
    {IQ1_M,       "IQ1_M",       256,     56,    yes, no,         yes},
    {BF16,        "BF16",        1,       2,     yes, yes,        no},
    {TQ1_0,       "TQ1_0",       256,     54,    yes, no,         yes},
    {TQ2_0,       "TQ2_0",       256,     66,    yes, no,         yes},
    {MXFP4,       "MXFP4",       32,      17,    yes, no,         yes},
    {NVFP4,       "NVFP4",       64,      36,    yes, no,         yes},
    {Q1_0,        "Q1_0",        128,     18,    yes, no,         yes},
    {Q2_0,        "Q2_0",        64,      18,    yes, no,         yes},
    {BOOL,        "BOOL",        1,       1,     no,  yes,        no},
    {U8,          "U8",          1,       1,     no,  yes,        no},
    {U16,         "U16",         1,       2,     no,  yes,        no},
    {U32,         "U32",         1,       4,     no,  yes,        no},
    {U64,         "U64",         1,       8,     no,  yes,        no},
    {F8_E4M3,     "F8_E4M3",     1,       1,     no,  yes,        no},
    {F8_E5M2,     "F8_E5M2",     1,       1,     no,  yes,        no},
    {F8_E8M0,     "F8_E8M0",     1,       1,     no,  yes,        no},
    {F8_E4M3FNUZ, "F8_E4M3FNUZ", 1,       1,     no,  yes,        no},
    {F8_E5M2FNUZ, "F8_E5M2FNUZ", 1,       1,     no,  yes,        no},
    {F4,          "F4",          2,       1,     no,  yes,        no},
    {F6_E2M3,     "F6_E2M3",     4,       3,     no,  yes,        no},
    {F6_E3M2,     "F6_E3M2",     4,       3,     no,  yes,        no},
    {C64,         "C64",         1,       8,     no,  yes,        no},
});
// clang-format on

static_assert(std::ranges::is_sorted(table, {}, &TypeInfo::type));

constexpr u16 first_safetensors_only = 0x100;
constexpr u8 absent = 0xFF;

// Row of the table for each ggml id, for each safetensors-only value.
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
  // Two names differ by case alone in no pair of the table.
  const auto found = std::ranges::find_if(table, [&](const TypeInfo& info) {
    return std::ranges::equal(info.name, name, [](char a, char b) { return upper(a) == upper(b); });
  });
  if (found == table.end()) return std::nullopt;
  return found->type;
}

std::optional<u64> row_bytes(TensorType type, u64 ne0) {
  const TypeInfo& info = type_info(type);
  if (ne0 % info.block_elements != 0) return std::nullopt;
  const auto size = checked_mul(ne0 / info.block_elements, info.block_bytes);
  if (!size || *size > u64{INT64_MAX}) return std::nullopt;
  return size;
}

// The blocks of the table are the smallest runs of elements that fill whole bytes, so it is the same sum.
std::optional<u64> packed_bytes(TensorType type, u64 elements) {
  return row_bytes(type, elements);
}

}  // namespace modelutils
