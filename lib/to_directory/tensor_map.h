// Which rows of a GGUF's tensors make each tensor of a Hugging Face or MLX directory: the rows of lib/arch read
// backwards. Decided from the header alone.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "arch/family.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "gguf/keys.h"
#include "gguf/split_set.h"
#include "model/left_out.h"
#include "model/tensor_catalog.h"
#include "tensor/shape.h"
#include "transfer/recipe.h"

namespace modelutils {

/// Whose names and layouts a directory has.
enum class DirectoryStyle : u8 {
  mlx,           ///< as mlx-lm saves it: experts in stacks, latent attention split
  hugging_face,  ///< as the model was published: one matrix for each expert
};

/// One tensor of a directory, as unquantised. Small ones, and those whose elements change places, are taken apart and
/// put together by single elements; there are no parts where it is a number of a key.
struct DirectoryTensor : TensorRecipe {
  bool by_element = false;    ///< units are elements, not rows
  bool may_quantize = false;  ///< a matrix of a module that MLX can hold quantised

  /// In safetensors' order.
  std::vector<u64> shape() const { return reversed(ne); }
  /// What is read and written at once: elements that lie side by side, of whole units.
  u64 row_elements() const { return by_element && !ne.empty() ? std::max<u64>(ne.front(), 1) : unit; }
  u64 rows() const { return elements() / row_elements(); }
  u64 units_of_row() const { return row_elements() / unit; }
  /// "model.layers.0.mlp.up_proj" of "….weight".
  std::string module() const;
};

struct DirectoryMap {
  arch::Sizes sizes;
  std::vector<DirectoryTensor> tensors;  ///< in the order of the family's rows, layer by layer
  std::vector<LeftOut> left_out;         ///< tensors that become none
};

/// Is the output head the embedding: is there no output.weight, or one with the same bytes, which loaders insist on?
/// Errors: reading.
Result<bool> is_tied(const Catalog& catalog);

/// Maps every tensor of a GGUF. `sizes` are those of its keys (HfConfig::sizes): tensors of layers behind the last one,
/// which predict further tokens, are left out. `catalog` is gguf_catalog(set), `index` that of its first file; the
/// sizes and shapes were checked by the rules. Errors: "convert-unmapped" (tensors without a row), "convert-missing",
/// "convert-shape" (rows that do not make up the tensor that they should), "convert-reverse" (the family's layout
/// cannot be undone).
Result<DirectoryMap> map_to_directory(const arch::Family& family, arch::Sizes sizes, const gguf::SplitSet& set,
                                      const gguf::Index& index, const Catalog& catalog, DirectoryStyle style);

/// Every tensor under its own name, as it is: for models whose layout nobody knows.
DirectoryMap map_raw(const Catalog& catalog);

}  // namespace modelutils
