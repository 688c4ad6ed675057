// Scans all blocks of a tensor for the facts that decide its packed form.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "convert/to_directory/tensor_map.h"
#include "model/catalog.h"
#include "tensor/types.h"

namespace modelutils {

/// Facts about blocks with an exact form (model/mlx/block_form.h), or about values.
struct BlockFacts {
  bool finite = true;          ///< every scale and bias (or value) is finite
  bool fits_f16 = true;        ///< every scale and bias (or value) is exact in F16
  bool fits_bf16 = true;       ///< every scale and bias (or value) is exact in BF16
  bool fits_f32 = true;        ///< no value has more bits (F64)
  bool f16_overflows = false;  ///< some become infinite in F16
  u32 merged = 4;              ///< number of neighbouring groups that share scale and bias throughout: 4, 2 or 1
  u8 code_bits = 0;            ///< bitwise or of all codes
  u64 foreign_scales = 0;      ///< number of FP scale bytes that MLX interprets differently
  double f16_error = 0;        ///< sum of squared errors with scales and biases (or values) rounded to F16
  double bf16_error = 0;       ///< sum of squared errors with scales and biases (or values) rounded to BF16
  /// Sum of squared errors of 8-bit codes: of mlx::search_two_scales(), or an upper bound on it.
  double lattice_error = 0;
  double squared_values = 0;

  void add(const BlockFacts& other);
  double f16_rms() const;
  double bf16_rms() const;
  double lattice_rms() const;
};

/// How to scan a tensor.
enum class Scan : u8 {
  none,                  ///< not at all; facts keep their defaults
  blocks,                ///< its blocks, all of one type with an exact form; no errors
  blocks_and_errors,     ///< like `blocks`, plus the errors of rounded scales
  values,                ///< its values, with the family's operation undone, plus an upper bound on lattice_error
  search,                ///< like `values`, but with exact errors; as slow as writing the tensor
  values_until_settled,  ///< like `values`, but stops once it is clear that no 16-bit type holds them
};

/// The scan of one tensor. `scales` is the type to which scales are rounded for lattice_error.
struct ScanRequest {
  Scan scan = Scan::none;
  TensorType scales = TensorType::F16;
};

/// Returns one result per request. The result does not depend on the number of threads. Errors: those of reading.
Result<std::vector<BlockFacts>> scan_tensors(const Catalog& catalog, std::span<const DirectoryTensor> tensors,
                                             std::span<const ScanRequest> requests, unsigned threads);
/// Runs Scan::blocks on a whole GGUF tensor. Errors: those of reading.
Result<BlockFacts> facts_of_blocks(const Catalog& catalog, const Tensor& tensor, unsigned threads);

// Updates BlockFacts from pieces of tensors.

/// Adds to `facts` whether the values are finite and which types hold them exactly.
void scan_values(std::span<const float> values, BlockFacts& facts);

/// Scans whole rows of `columns` elements, of a type that has an exact form.
void scan_blocks(TensorType type, u64 columns, Bytes rows, bool with_errors, BlockFacts& facts);

/// Adds the errors the values would have in F16, in BF16 and as searched 8-bit codes with scales of type `scales`. The
/// values are whole groups of 32.
void measure_forms(std::span<const float> values, TensorType scales, BlockFacts& facts);

}  // namespace modelutils
