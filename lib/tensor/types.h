// Element types (names, block sizes, byte sizes) from a single table, and shapes in ne order, as in GGUF: ne0, the
// contiguous dimension, is first. A new type needs a line in the table, a decoder (block_decoders.h), a check of its
// blocks (block_check.cc) and a number in the C API's header. Sources: docs/formats/gguf.md and
// docs/formats/safetensors.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

// The single table of element types, as a macro from which all per-type code is generated. A new type needs a line
// here, a decoder (block_decoders.h), a check of its blocks (block_check.cc) and a number in the C API's header.
// Sources: ggml's type table (docs/formats/gguf.md) and the safetensors format (docs/formats/safetensors.md).

// Values below 0x100 are ggml's ids as in GGUF files; the others are dtypes that only safetensors has. Ordered by
// value. The decoder `none` means that the values do not fit a float.
// clang-format off
//    name         value  elements  bytes  GGUF safetensors quantized decoder
#define MU_TENSOR_TYPES(X) \
  X(F32,          0,     1,        4,     true,  true,   false,  f32) \
  X(F16,          1,     1,        2,     true,  true,   false,  f16) \
  X(Q4_0,         2,     32,       18,    true,  false,  true,   q4_0) \
  X(Q4_1,         3,     32,       20,    true,  false,  true,   q4_1) \
  X(Q5_0,         6,     32,       22,    true,  false,  true,   q5_0) \
  X(Q5_1,         7,     32,       24,    true,  false,  true,   q5_1) \
  X(Q8_0,         8,     32,       34,    true,  false,  true,   q8_0) \
  X(Q8_1,         9,     32,       36,    true,  false,  true,   q8_1) \
  X(Q2_K,         10,    256,      84,    true,  false,  true,   q2_k) \
  X(Q3_K,         11,    256,      110,   true,  false,  true,   q3_k) \
  X(Q4_K,         12,    256,      144,   true,  false,  true,   q4_k) \
  X(Q5_K,         13,    256,      176,   true,  false,  true,   q5_k) \
  X(Q6_K,         14,    256,      210,   true,  false,  true,   q6_k) \
  X(Q8_K,         15,    256,      292,   true,  false,  true,   q8_k) \
  X(IQ2_XXS,      16,    256,      66,    true,  false,  true,   iq2_xxs) \
  X(IQ2_XS,       17,    256,      74,    true,  false,  true,   iq2_xs) \
  X(IQ3_XXS,      18,    256,      98,    true,  false,  true,   iq3_xxs) \
  X(IQ1_S,        19,    256,      50,    true,  false,  true,   iq1_s) \
  X(IQ4_NL,       20,    32,       18,    true,  false,  true,   iq4_nl) \
  X(IQ3_S,        21,    256,      110,   true,  false,  true,   iq3_s) \
  X(IQ2_S,        22,    256,      82,    true,  false,  true,   iq2_s) \
  X(IQ4_XS,       23,    256,      136,   true,  false,  true,   iq4_xs) \
  X(I8,           24,    1,        1,     true,  true,   false,  i8_) \
  X(I16,          25,    1,        2,     true,  true,   false,  i16_) \
  X(I32,          26,    1,        4,     true,  true,   false,  i32_) \
  X(I64,          27,    1,        8,     true,  true,   false,  i64_) \
  X(F64,          28,    1,        8,     true,  true,   false,  f64) \
  X(IQ1_M,        29,    256,      56,    true,  false,  true,   iq1_m) \
  X(BF16,         30,    1,        2,     true,  true,   false,  bf16) \
  X(TQ1_0,        34,    256,      54,    true,  false,  true,   tq1_0) \
  X(TQ2_0,        35,    256,      66,    true,  false,  true,   tq2_0) \
  X(MXFP4,        39,    32,       17,    true,  false,  true,   mxfp4) \
  X(NVFP4,        40,    64,       36,    true,  false,  true,   nvfp4) \
  X(Q1_0,         41,    128,      18,    true,  false,  true,   q1_0) \
  X(Q2_0,         42,    64,       18,    true,  false,  true,   q2_0) \
  X(BOOL,         0x100, 1,        1,     false, true,   false,  u8_) \
  X(U8,           0x101, 1,        1,     false, true,   false,  u8_) \
  X(U16,          0x102, 1,        2,     false, true,   false,  u16_) \
  X(U32,          0x103, 1,        4,     false, true,   false,  u32_) \
  X(U64,          0x104, 1,        8,     false, true,   false,  u64_) \
  X(F8_E4M3,      0x105, 1,        1,     false, true,   false,  e4m3) \
  X(F8_E5M2,      0x106, 1,        1,     false, true,   false,  e5m2) \
  X(F8_E8M0,      0x107, 1,        1,     false, true,   false,  e8m0) \
  X(F8_E4M3FNUZ,  0x108, 1,        1,     false, true,   false,  e4m3fnuz) \
  X(F8_E5M2FNUZ,  0x109, 1,        1,     false, true,   false,  e5m2fnuz) \
  X(F4,           0x10a, 2,        1,     false, true,   false,  f4) \
  X(F6_E2M3,      0x10b, 4,        3,     false, true,   false,  f6_e2m3) \
  X(F6_E3M2,      0x10c, 4,        3,     false, true,   false,  f6_e3m2) \
  X(C64,          0x10d, 1,        8,     false, true,   false,  none)
// clang-format on

namespace modelutils {

/// A type of tensor element.
enum class TensorType : u16 {
#define MU_TYPE_VALUE(name, value, ...) name = value,
  MU_TENSOR_TYPES(MU_TYPE_VALUE)
#undef MU_TYPE_VALUE
};

/// A type's row in the table. A block is the smallest unit of storage: `block_elements` elements in `block_bytes`
/// bytes. Plain types have blocks of one element; F4 has 2 elements in 1 byte, F6 has 4 in 3.
struct TypeInfo {
  TensorType type;
  std::string_view name;  ///< "Q4_K"; the same in GGUF and safetensors if both have the type
  u32 block_elements;
  u32 block_bytes;
  bool in_gguf;         ///< a ggml type id exists
  bool in_safetensors;  ///< a safetensors dtype of this name exists
  bool is_quantized;    ///< a ggml block format
};

/// Returns all types, ordered by value.
std::span<const TypeInfo> all_types();

/// Returns the type's row; `type` must be one of the enumerators.
const TypeInfo& type_info(TensorType type);
/// Returns a name such as "Q4_K".
inline std::string_view type_name(TensorType type) {
  return type_info(type).name;
}

/// Returns the type with this ggml id in a GGUF file; nullopt for removed (4, 5, 31-33, 36-38) and unknown ids.
std::optional<TensorType> type_from_gguf(u32 id);

/// Returns the type with this safetensors dtype (exact text), or nullopt.
std::optional<TensorType> type_from_safetensors(std::string_view dtype);

/// Returns the type with this name in the table, ignoring case, for command lines; nullopt if there is none.
std::optional<TensorType> type_from_name(std::string_view name);

/// Returns the number of bytes in a row of `ne0` elements. Returns nullopt if ne0 is not a multiple of the block's
/// elements or the size exceeds 63 bits. GGUF sizes are computed like this: each row consists of whole blocks.
std::optional<u64> row_bytes(TensorType type, u64 ne0);

/// Returns the size in bytes of `elements` elements packed without regard to rows, as in safetensors: F4 and F6 rows
/// need not end at a byte, only the whole tensor must. Returns nullopt if it does not, or if the size exceeds 63 bits.
std::optional<u64> packed_bytes(TensorType type, u64 elements);

// Shapes in ne order, as in GGUF: ne0, the contiguous dimension, is first. safetensors shapes are the reverse.

/// Product of all dimensions, left to right. Returns nullopt on overflow, even if a later dimension is 0; 1 for no
/// dimensions.
std::optional<u64> element_count(std::span<const u64> dims);

/// Returns the size in bytes of a tensor of shape `ne` (ne0 first): row_bytes(type, ne0) × ne1 × … A tensor without
/// dimensions has one element. Returns nullopt if ne0 is not a multiple of the block's elements, the size exceeds 63
/// bits or the element count overflows. For GGUF; safetensors uses packed_bytes(type, element_count(shape)).
std::optional<u64> tensor_bytes(TensorType type, std::span<const u64> ne);

/// Returns the dimensions in reverse order.
std::vector<u64> reversed(std::span<const u64> dims);

/// True if the shapes are equal, with missing trailing dimensions taken as 1. ggml compares shapes in ne order like
/// this.
bool is_same_shape(std::span<const u64> a, std::span<const u64> b);

/// Returns the given dimensions as "4096 × 32000"; empty for no dimensions.
std::string shape_text(std::span<const u64> dims);
void append_shape_text(std::string& out, std::span<const u64> dims);

}  // namespace modelutils
