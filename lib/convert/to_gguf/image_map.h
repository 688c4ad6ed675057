// Maps the tensors of an image or video model to those of a GGUF as ComfyUI-GGUF reads it: names without prefix, joined
// parts of diffusers, shapes, types. The rows are in lib/arch/images.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arch/image_models.h"
#include "base/error.h"
#include "convert/to_gguf/image_source.h"
#include "convert/to_gguf/tensor_map.h"
#include "formats/gguf/write.h"
#include "model/hf_model.h"
#include "tensor/types.h"

namespace modelutils::to_gguf {

struct ImageOptions {
  std::string architecture;  ///< --arch; empty to recognise it
  u64 max_dimensions = 5;    ///< 4: fold tensors with five
  /// The type of products of FP8 with a scale: by default F16, or BF16 out of its range.
  std::optional<TensorType> fallback = {};
  bool exact = false;  ///< refuse products that are rounded
};

struct ImageMap {
  const arch::ImageModel* architecture = nullptr;
  std::unique_ptr<HfModel> model;
  TensorMap map;                    ///< each tensor has a type
  std::vector<TensorType> kept;     ///< by tensor: its type if no mix changes it
  std::vector<gguf::OutKey> keys;   ///< all of them
  std::vector<std::string> inputs;  ///< every file that is read
  /// For a pipe: indices into the map's tensors in the order of their data. Otherwise empty: any order.
  std::vector<std::size_t> only_order;
};

/// Returns nullopt if the source is not certain to be an image model, and is not recognised.
///
/// Errors: "convert-image-model" (not recognised; a LoRA, a VAE …; an unknown class of diffusers; a method of
/// quantisation), "convert-unmapped", "convert-missing", "convert-shape", "convert-module" (a dtype without rules),
/// "convert-inexact", "io-pipe" (needs bytes of a pipe out of order), those of reading.
Result<std::optional<ImageMap>> map_image_model(std::shared_ptr<const Model> from, const ImageSource& source,
                                                const ImageOptions& options);

}  // namespace modelutils::to_gguf
