// The dtype codes of BUMPWGT3 in both numberings; the only table of them. Source: docs/formats/bump.md, "dtype codes".
#pragma once

#include <optional>
#include <string_view>

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils::bump {

enum class Dtype : u8 { fp32, bf16, fp16, int8, int4, q4_0, q4_1, q4_k, q6_k, q8_0, q8_k, q5_0, q5_1, q5_k };

/// Upstream renumbered its codes without changing the magic. A file does not state which numbering it uses.
enum class Numbering : u8 { original, renumbered };
inline constexpr Numbering all_numberings[] = {Numbering::original, Numbering::renumbered};
std::string_view numbering_name(Numbering numbering);
std::optional<Numbering> numbering_from_name(std::string_view name);

struct DtypeInfo {
  Dtype dtype;
  std::string_view name;            ///< as in manifests: lower case
  std::optional<TensorType> type;   ///< nullopt for int4, which GGUF does not have
  std::optional<u8> original_code;  ///< nullopt if the numbering has no code for it
  std::optional<u8> renumbered_code;
};

const DtypeInfo& dtype_info(Dtype dtype);
inline std::string_view dtype_name(Dtype dtype) {
  return dtype_info(dtype).name;
}

/// Returns nullopt if no numbering has a code for the type.
std::optional<Dtype> dtype_of(TensorType type);
/// Returns the code of a dtype; nullopt if the numbering has none for it.
std::optional<u8> code_of(Dtype dtype, Numbering numbering);
/// Returns the dtype of a code; nullopt if the numbering lacks the code.
std::optional<Dtype> dtype_from_code(u8 code, Numbering numbering);

/// Returns the number of bytes in a row of `columns` elements. Returns nullopt if they are not a whole number of
/// blocks, or on overflow.
std::optional<u64> row_bytes(Dtype dtype, u64 columns);

}  // namespace modelutils::bump
