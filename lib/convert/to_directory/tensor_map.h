// Maps a GGUF's tensors to the tensors of a Hugging Face or MLX directory, by inverting the rows of lib/arch. Reads
// only the header.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "arch/family.h"
#include "arch/image_models.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "convert/transfer/recipe.h"
#include "formats/gguf/document.h"
#include "formats/gguf/split_set.h"
#include "model/catalog.h"
#include "model/hf_model.h"
#include "tensor/types.h"

namespace modelutils {

/// The naming and layout convention of a directory.
enum class DirectoryStyle : u8 {
  mlx,           ///< as mlx-lm saves it: stacked experts, split latent attention
  hugging_face,  ///< as the model was published: one matrix per expert
};

/// A tensor of a directory before quantisation. Small tensors and tensors with reordered elements are assembled element
/// by element. Has no parts if its value comes from a key.
struct DirectoryTensor : TensorRecipe {
  bool by_element = false;     ///< units are elements instead of rows
  bool may_quantize = false;   ///< a module's matrix, which MLX can store quantised
  bool is_of_experts = false;  ///< numbers of experts, I32 in a GGUF and I64 in a directory

  /// Returns the shape in safetensors order.
  std::vector<u64> shape() const { return reversed(ne); }
  /// Elements read and written as one row: adjacent ones that form whole units.
  u64 row_elements() const { return by_element && !ne.empty() ? std::max<u64>(ne.front(), 1) : unit; }
  u64 rows() const { return elements() / row_elements(); }
  u64 units_of_row() const { return row_elements() / unit; }
  /// Returns the name without ".weight", such as "model.layers.0.mlp.up_proj".
  std::string module() const;
};

struct DirectoryMap {
  arch::Sizes sizes;
  std::vector<DirectoryTensor> tensors;  ///< in the order of the family's rows, layer by layer
  std::vector<LeftOut> left_out;         ///< tensors that are not written
  bool has_answers = false;              ///< a reranker whose scores are rows of the head
};

/// True if the output head is the embedding: there is no output.weight, or it has the same bytes (some loaders require
/// the copy). Errors: those of reading.
Result<bool> is_tied(const Catalog& catalog);

/// Maps every tensor of a GGUF. `sizes` come from its keys (HfConfig::sizes); layers past the last one, which predict
/// further tokens, are left out. `catalog` is gguf_catalog(set) and `index` belongs to its first file; the rules have
/// checked sizes and shapes. Errors: "convert-unmapped" (tensors without a row), "convert-missing", "convert-shape"
/// (rows that do not add up to their tensor), "convert-reverse" (the family's layout cannot be inverted),
/// "convert-rerank" (scores of a head that the file lacks).
Result<DirectoryMap> map_to_directory(const arch::Family& family, arch::Sizes sizes, const gguf::SplitSet& set,
                                      const gguf::Index& index, const Catalog& catalog, DirectoryStyle style);

/// Keeps every tensor under its own name and shape, for models with an unknown layout.
DirectoryMap map_raw(const Catalog& catalog);

/// Maps an image model's tensors to the names and shapes of the published model; leaves out other parts of an
/// all-in-one file. `catalog` is gguf_catalog(set).
DirectoryMap map_image(const gguf::SplitSet& set, const arch::ImageLayout& layout, const Catalog& catalog);

}  // namespace modelutils
