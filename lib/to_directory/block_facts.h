// What a scan of all blocks of a tensor says about its packed form.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "model/tensor_catalog.h"
#include "tensor/types.h"
#include "to_directory/tensor_map.h"

namespace modelutils {

/// Of blocks that have an exact form (mlx/block_form.h), or of values.
struct BlockFacts {
  bool finite = true;          ///< every scale and bias (value) is
  bool fits_f16 = true;        ///< every scale and bias (value) is exact in F16
  bool fits_bf16 = true;       ///< the same of BF16
  bool fits_f32 = true;        ///< none was of more bits (F64)
  bool f16_overflows = false;  ///< some become infinite in F16
  u32 merged = 4;              ///< so many neighbouring groups share scale and bias everywhere: 4, 2 or 1
  u8 code_bits = 0;            ///< all codes put together by "or"
  u64 foreign_scales = 0;      ///< FP scale bytes that MLX reads in another way
  double f16_error = 0;        ///< sum of squared differences with scales and biases (values) rounded to F16
  double bf16_error = 0;       ///< the same for BF16
  double lattice_error = 0;    ///< the same in 8 bits: at most that of mlx::search_two_scales(), or just that
  double squared_values = 0;

  void add(const BlockFacts& other);
  double f16_rms() const;
  double bf16_rms() const;
  double lattice_rms() const;
};

/// How a tensor is scanned.
enum class Scan : u8 {
  none,                  ///< not at all: its facts are those of nothing
  blocks,                ///< its blocks, which are of one type with an exact form; without errors
  blocks_and_errors,     ///< the same with those of rounded scales
  values,                ///< its values, after what was done to them is undone; with a bound of lattice_error
  search,                ///< the same with all errors as they are, which takes as long as writing it
  values_until_settled,  ///< the same as far as it takes to see that no type of 16 bits holds them
};

/// The scan of one of several tensors; `scales`: what type they are rounded to for lattice_error.
struct ScanRequest {
  Scan scan = Scan::none;
  TensorType scales = TensorType::F16;
};

/// The facts of all tensors, one for each of `requests`. The result does not depend on the number of threads. Errors:
/// reading.
Result<std::vector<BlockFacts>> scan_tensors(const Catalog& catalog, std::span<const DirectoryTensor> tensors,
                                             std::span<const ScanRequest> requests, unsigned threads);
/// Scan::blocks of a whole tensor of a GGUF. Errors: reading.
Result<BlockFacts> facts_of_blocks(const Catalog& catalog, const CatalogTensor& tensor, unsigned threads);

}  // namespace modelutils
