// What a look at all blocks of a tensor tells about its packed form.
#pragma once

#include "base/error.h"
#include "model/tensor_catalog.h"
#include "plan/directory_map.h"
#include "tensor/types.h"

namespace modelutils {

/// Of blocks that have an exact form (mlx/block_form.h), or of values.
struct BlockFacts {
  bool finite = true;          ///< every scale and bias (value) is
  bool fits_f16 = true;        ///< every scale and bias (value) is exact in F16
  bool fits_bf16 = true;       ///< the same of BF16
  bool f16_overflows = false;  ///< some become infinite in F16
  u32 merged = 4;              ///< so many neighbouring groups share scale and bias everywhere: 4, 2 or 1
  u8 code_bits = 0;            ///< all codes put together by "or"
  u64 foreign_scales = 0;      ///< FP scale bytes that MLX reads in another way
  double f16_error = 0;        ///< sum of squared differences with scales and biases rounded to F16
  double bf16_error = 0;       ///< the same for BF16
  double squared_values = 0;

  void add(const BlockFacts& other);
  double f16_rms() const;
  double bf16_rms() const;
};

/// Looks at the blocks of type `type`, whole rows of `columns` elements. `with_errors` fills the last three members.
void look_at_blocks(TensorType type, u64 columns, Bytes rows, bool with_errors, BlockFacts& facts);

/// Looks at values: finite, fits_…, f16_overflows.
void look_at_values(std::span<const float> values, BlockFacts& facts);

/// Of all parts of a tensor, which have one type with an exact form. Errors: reading.
Result<BlockFacts> facts_of_blocks(const Catalog& catalog, const DirectoryTensor& tensor, bool with_errors,
                                   unsigned threads);
/// The same of a whole tensor of a GGUF, without errors.
Result<BlockFacts> facts_of_blocks(const Catalog& catalog, const CatalogTensor& tensor, unsigned threads);
/// Of the values of a tensor that is not packed, after what was done to them is undone; stops where no question is
/// open.
Result<BlockFacts> facts_of_values(const Catalog& catalog, const DirectoryTensor& tensor, bool all, unsigned threads);

}  // namespace modelutils
