// Image and video models (diffusion) as data, as ComfyUI-GGUF's tools know them: how tensor names identify an
// architecture, which tensors stay as they are, and the names of diffusers' folders. Each is a file in
// lib/arch/images. Source: ComfyUI-GGUF (branch auto_convert, 27 Nov. 2025), diffusers' single_file_utils.py (Aug.
// 2026), stable-diffusion.cpp (19 Aug. 2026). How to add one: docs/adding-a-kind-of-model.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "formats/gguf/split_set.h"
#include "tensor/types.h"

namespace modelutils::arch {

/// Names of modules in diffusers and in the reference.
struct ImageNames {
  /// Prefixes of the names in the rows: "transformer_blocks.#." with '#' for a number; empty for names outside the
  /// blocks.
  std::string_view from = {}, to = {};
  /// Rows, separated by spaces. "a" keeps its name, "a=b" becomes "b". "a+b+c=d" are the parts of one matrix, whose
  /// rows follow one another. With "a=~b" the two halves of the rows change places, with "a=^b" only in the last block.
  /// A row stands for the tensor with this name, or with ".weight" or ".bias" after it.
  std::string_view rows = {};
};

/// A class of diffusers that has an architecture's tensors.
struct ImageClass {
  std::string_view name;                   ///< _class_name in config.json
  std::span<const ImageNames> names = {};  ///< empty if the names are those of the reference
};

/// A model that shares an architecture with others. All given conditions must hold.
struct ImageVariant {
  std::string_view name;  ///< "Chroma"
  /// Parts of tensor names, separated by spaces: each is in some name, or in none after '!'.
  std::string_view parts = {};
  u64 inputs = 0, text = 0, width = 0;  ///< sizes as in ImageSizes; 0 for any
  std::string_view word = {};           ///< in the model's name, where the tensors are those of another variant
  std::string_view text_encoders = {}, vae = {};  ///< instead of the model's; "none" for a model of pixels
};

struct ImageModel {
  std::string_view name;   ///< general.architecture
  std::string_view title;  ///< for messages: "Stable Diffusion XL"
  /// Names that identify the architecture: all of a list, separated by spaces. Alternative lists are separated by '|'.
  std::string_view detect;
  std::string_view f32 = {};  ///< parts of the names of parameters that are always F32, separated by spaces
  /// Parts of the names of tensors that no mix changes, separated by spaces; "=NAME" is a whole name.
  std::string_view stays = {};
  std::string_view left_out = {};  ///< parts of the names of tensors that are not written, separated by spaces
  /// Parts of the names of blocks that get more bits, separated by spaces.
  std::string_view outer_blocks = {};
  bool has_rows_of_256 = false;  ///< matrices whose rows 256 does not divide are stored as rows of 256
  bool is_video = false;         ///< has convolutions with five dimensions
  // For listings.
  std::string_view stacks = {};         ///< names of the stacks of blocks, separated by spaces
  std::string_view input_tensor = {};   ///< the weight of the input's layer; alternatives are separated by '|'
  std::string_view text_tensor = {};    ///< the weight that the text encoder's output is multiplied by; likewise
  std::string_view text_encoders = {};  ///< that the model goes with: "CLIP-L, T5-XXL"
  std::string_view vae = {};            ///< likewise
  std::span<const ImageClass> classes = {};
  std::span<const ImageVariant> variants = {};
};

/// The key of a tensor's shape in PyTorch's order, an array of INT32, if the file stores another one: before the name.
inline constexpr std::string_view image_shape_key = "comfy.gguf.orig_shape.";
/// Dimensions that a tensor of an image model may have.
inline constexpr std::size_t most_image_dimensions = 5;

/// Returns all architectures in the order in which they are recognised.
std::span<const ImageModel* const> all_image_models();
/// Finds an architecture by its name; nullptr if there is none.
const ImageModel* find_image_model(std::string_view architecture);

/// Returns "flux, sd3, …" for messages.
std::string image_model_names();

/// How the tensors of a file relate to those of an image model.
struct ImageLayout {
  const ImageModel* model = nullptr;  ///< nullptr if no architecture was recognised
  const ImageClass* names =
      nullptr;  ///< the class of diffusers whose names the tensors have; nullptr for the reference's
  /// Before the names of the model's tensors ("model.diffusion_model."). Tensors without it belong to other parts.
  std::string_view prefix = {};

  explicit operator bool() const { return model != nullptr; }
  /// Returns whether a tensor of the file belongs to the model and not to another part of an all-in-one file.
  bool has(std::string_view name) const;
};

/// Recognises an image model by the names of its tensors.
ImageLayout image_layout(std::span<const std::string_view> names);
/// Returns the layout for a given architecture, whatever names the tensors have.
ImageLayout image_layout(std::span<const std::string_view> names, const ImageModel& model);
/// Recognises an image model in a GGUF: by general.architecture if that is one of the architectures, otherwise by the
/// names of the tensors.
ImageLayout image_layout(const gguf::SplitSet& set);

/// Sizes that the shapes of a model's tensors state; 0 if unknown.
struct ImageSizes {
  u64 width = 0;   ///< of the blocks: rows of the input's layer
  u64 inputs = 0;  ///< of the input's layer: channels, with those of a mask or picture
  u64 text = 0;    ///< elements of a vector of the text encoder
};

/// Returns the variants that a model is. `names` are those of the reference; `words` may name a variant, in any case
/// (general.name, a file's name).
std::vector<const ImageVariant*> image_variants(const ImageModel& model, std::span<const std::string_view> names,
                                                const ImageSizes& sizes, std::span<const std::string> words);

/// Says why tensors with these names are not converted: "is a LoRA, not a model". LoRAs, ControlNets and some models of
/// other programs have names that identify an architecture, too, so `layout` alone does not tell. With `is_named` (the
/// user names the architecture), models of other programs pass. Returns nullopt if nothing is known against the names;
/// the architecture may then still be unknown.
std::optional<std::string> not_an_image_model(std::span<const std::string_view> names, const ImageLayout& layout,
                                              bool is_named = false);

/// The part of an all-in-one file that a tensor without the model's prefix belongs to: "vae.", "text_encoders.", or the
/// name up to its first dot.
std::string_view image_part_of(std::string_view name);

/// True if the tensor is in a list of ImageModel: parts of names, or whole ones after '='.
bool is_in_image_list(std::string_view list, std::string_view name);

/// Returns the type of a tensor in an unquantised file. `ne` and the name are those of the reference. Types that are no
/// floating-point numbers are returned as they are.
TensorType plain_image_type(const ImageModel& model, std::string_view name, std::span<const u64> ne, TensorType source);

/// Returns the dimensions in which the architecture stores a tensor of these dimensions (ne0 first): rows of 256, or
/// `ne` itself.
std::vector<u64> stored_image_ne(const ImageModel& model, std::span<const u64> ne);

// Names of diffusers.

struct KnownImageClass {
  const ImageModel* model;
  const ImageClass* names;
};
/// Returns the architectures that a class of diffusers may have; empty if the class is unknown.
std::vector<KnownImageClass> find_image_classes(std::string_view class_name);

/// The tensor of the reference to which a tensor of diffusers belongs.
struct ImagePlace {
  std::string name;
  std::size_t part = 0, parts = 1;  ///< which of the parts it is
  bool swaps = false;               ///< the halves of its rows change places
  bool only_last = false;           ///< … in the last block alone
  u64 block = 0;                    ///< its number, if the name has one
};
/// Returns nullopt if the class has no such tensor.
std::optional<ImagePlace> image_place(const ImageClass& names, std::string_view tensor);

// GGUF files of image models.

/// True for values of general.architecture that ComfyUI-GGUF accepts for any image model.
bool is_any_image_model(std::string_view architecture);

/// Returns the name of the image model in a GGUF ("flux"), from its tensors or else from `general.architecture`. Empty
/// for other files.
std::string_view image_model_of(const gguf::SplitSet& set);

/// Returns error "convert-image-model" for such a file, since the rules for language models would break it.
Status refuse_image_model(const gguf::SplitSet& set);

}  // namespace modelutils::arch
