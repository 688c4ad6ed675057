#include "bump/dtype.h"

#include <algorithm>
#include <array>

namespace modelutils::bump {

namespace {

constexpr std::nullopt_t none = std::nullopt;

// clang-format off
constexpr std::array<DtypeInfo, 14> dtypes = {{
    // dtype      name    element type       original  renumbered
    {Dtype::fp32, "fp32", TensorType::F32,   u8{0},    u8{0}},
    {Dtype::bf16, "bf16", TensorType::BF16,  u8{1},    u8{1}},
    {Dtype::fp16, "fp16", TensorType::F16,   u8{2},    u8{2}},
    {Dtype::int8, "int8", TensorType::I8,    u8{3},    u8{3}},
    {Dtype::int4, "int4", none,              u8{4},    u8{4}},
    {Dtype::q4_0, "q4_0", TensorType::Q4_0,  u8{5},    u8{5}},
    {Dtype::q4_1, "q4_1", TensorType::Q4_1,  none,     u8{6}},
    {Dtype::q4_k, "q4_k", TensorType::Q4_K,  u8{6},    u8{7}},
    {Dtype::q6_k, "q6_k", TensorType::Q6_K,  u8{7},    u8{8}},
    {Dtype::q8_0, "q8_0", TensorType::Q8_0,  u8{8},    u8{9}},
    {Dtype::q8_k, "q8_k", TensorType::Q8_K,  none,     u8{10}},
    {Dtype::q5_0, "q5_0", TensorType::Q5_0,  none,     u8{11}},
    {Dtype::q5_1, "q5_1", TensorType::Q5_1,  none,     u8{12}},
    {Dtype::q5_k, "q5_k", TensorType::Q5_K,  none,     u8{13}},
}};
// clang-format on

}  // namespace

std::string_view numbering_name(Numbering numbering) {
  return numbering == Numbering::original ? "original" : "renumbered";
}

std::optional<Numbering> numbering_from_name(std::string_view name) {
  for (Numbering numbering : all_numberings) {
    if (numbering_name(numbering) == name) return numbering;
  }
  return std::nullopt;
}

const DtypeInfo& dtype_info(Dtype dtype) {
  return dtypes[static_cast<std::size_t>(dtype)];
}

std::optional<Dtype> dtype_of(TensorType type) {
  const auto found = std::find_if(dtypes.begin(), dtypes.end(), [&](const DtypeInfo& row) { return row.type == type; });
  return found == dtypes.end() ? std::nullopt : std::optional(found->dtype);
}

std::optional<u8> code_of(Dtype dtype, Numbering numbering) {
  const DtypeInfo& row = dtype_info(dtype);
  return numbering == Numbering::original ? row.original_code : row.renumbered_code;
}

std::optional<Dtype> dtype_from_code(u8 code, Numbering numbering) {
  for (const DtypeInfo& row : dtypes) {
    if (code_of(row.dtype, numbering) == code) return row.dtype;
  }
  return std::nullopt;
}

std::optional<u64> row_bytes(Dtype dtype, u64 columns) {
  if (const std::optional<TensorType> type = dtype_info(dtype).type) return modelutils::row_bytes(*type, columns);
  return columns % 2 == 0 ? std::optional(columns / 2) : std::nullopt;  // int4: two elements per byte
}

}  // namespace modelutils::bump
