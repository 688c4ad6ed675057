// The one table of element types: names, block sizes, byte sizes. Sources: ggml's type table (docs/formats/gguf.md) and
// the safetensors format (docs/formats/safetensors.md).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// A type of tensor element. Values below 0x100 are ggml's ids as they stand in GGUF files; the others are dtypes that
/// only safetensors has.
// clang-format off
enum class TensorType : u16 {
  F32 = 0, F16 = 1, Q4_0 = 2, Q4_1 = 3, Q5_0 = 6, Q5_1 = 7, Q8_0 = 8, Q8_1 = 9, Q2_K = 10, Q3_K = 11, Q4_K = 12,
  Q5_K = 13, Q6_K = 14, Q8_K = 15, IQ2_XXS = 16, IQ2_XS = 17, IQ3_XXS = 18, IQ1_S = 19, IQ4_NL = 20, IQ3_S = 21,
  IQ2_S = 22, IQ4_XS = 23, I8 = 24, I16 = 25, I32 = 26, I64 = 27, F64 = 28, IQ1_M = 29, BF16 = 30, TQ1_0 = 34,
  TQ2_0 = 35, MXFP4 = 39, NVFP4 = 40, Q1_0 = 41, Q2_0 = 42,
  BOOL = 0x100, U8, U16, U32, U64, F8_E4M3, F8_E5M2, F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ, F4, F6_E2M3, F6_E3M2, C64,
};
// clang-format on

/// What the table says of one type. A block is the smallest unit of storage: `block_elements` elements in
/// `block_bytes` bytes. Plain types have blocks of one element; F4 has 2 elements in 1 byte, F6 has 4 in 3.
struct TypeInfo {
  TensorType type;
  std::string_view name;  ///< "Q4_K"; the same text in both formats where both have it
  u32 block_elements;
  u32 block_bytes;
  bool in_gguf;         ///< a ggml type id exists
  bool in_safetensors;  ///< a safetensors dtype of this name exists
  bool is_quantized;    ///< a block format of ggml
};

/// All types, ordered by value.
std::span<const TypeInfo> all_types();

/// The row of the table; `type` must be one of the enumerators.
const TypeInfo& type_info(TensorType type);
inline std::string_view type_name(TensorType type) {
  return type_info(type).name;
}

/// ggml type id as it stands in a GGUF file -> type; nothing for removed (4, 5, 31-33, 36-38) and unknown ids.
std::optional<TensorType> type_from_gguf(u32 id);

/// safetensors dtype (exact text) -> type.
std::optional<TensorType> type_from_safetensors(std::string_view dtype);

/// Any name of the table, letter case ignored (for command lines) -> type.
std::optional<TensorType> type_from_name(std::string_view name);

/// Bytes of a row of `ne0` elements; nothing if ne0 is no multiple of the block's elements or the size does not fit
/// into 63 bits. This is how GGUF counts: each row is made of whole blocks.
std::optional<u64> row_bytes(TensorType type, u64 ne0);

/// Bytes of `elements` elements packed without regard to rows, as safetensors counts: F4 and F6 run on from one row
/// into the next and only the tensor as a whole must fill whole bytes. Nothing if it does not, or does not fit.
std::optional<u64> packed_bytes(TensorType type, u64 elements);

}  // namespace modelutils
