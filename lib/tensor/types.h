// Element types: names, block sizes, byte sizes. The table itself: type_list.h.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/types.h"
#include "tensor/type_list.h"

namespace modelutils {

/// A type of tensor element.
enum class TensorType : u16 {
#define MU_TYPE_VALUE(name, value, ...) name = value,
  MU_TENSOR_TYPES(MU_TYPE_VALUE)
#undef MU_TYPE_VALUE
};

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

/// Bytes of a row of `ne0` elements; nothing if ne0 is not a multiple of the block's elements or the size does not fit
/// into 63 bits. This is how GGUF counts: each row is made of whole blocks.
std::optional<u64> row_bytes(TensorType type, u64 ne0);

/// Bytes of `elements` elements packed without regard to rows, as safetensors counts: F4 and F6 run on from one row
/// into the next and only the tensor as a whole must fill whole bytes. Nothing if it does not, or does not fit.
std::optional<u64> packed_bytes(TensorType type, u64 elements);

}  // namespace modelutils
