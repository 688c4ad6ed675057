// Element types: names, block sizes, byte sizes. The table is in type_list.h.
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

}  // namespace modelutils
