// Models with images: what llama.cpp's multimodal library requires of projector files (GGUF of architecture "clip"),
// and how to recognise image and video models, whose GGUFs (ComfyUI's) follow other rules than language models.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/gguf/document.h"
#include "formats/gguf/split_set.h"

namespace modelutils::arch {

/// An encoder for images or audio, with keys and tensors of its own. A file has one or both.
struct Encoder {
  std::string_view name;    ///< keys are "clip.<name>.…"
  std::string_view flag;    ///< the key that is true if the encoder is present
  std::string_view prefix;  ///< tensors are "<prefix>…", those of layers "<prefix>blk.N.…"
  std::string_view keys;    ///< UINT32 keys that every type requires, after "clip.<name>.", separated by spaces
};
inline constexpr std::array encoders = {
    Encoder{
        "vision", "clip.has_vision_encoder", "v.",
        "embedding_length attention.head_count feed_forward_length block_count projection_dim image_size patch_size"},
    Encoder{"audio", "clip.has_audio_encoder", "a.",
            "embedding_length attention.head_count feed_forward_length block_count projection_dim num_mel_bins"},
};

enum class EncoderLayers : u8 {
  transformer,  ///< attention and feed-forward, with a norm before each
  conformer,    ///< also convolutions; its norms and convolutions are in Projector::layer_tensors
  own,          ///< none, or numbered differently; not checked
};

/// The requirements of a projector type, from llama.cpp's tools/mtmd/clip.cpp of May 2026. Lists of tensors are
/// separated by spaces; a trailing ".*" stands for ".weight" and ".bias".
struct Projector {
  std::string_view name;     ///< clip.projector_type
  std::string_view encoder;  ///< Encoder::name
  EncoderLayers layers;
  std::string_view tensors;  ///< all required tensors outside the encoder's layers
  std::string_view width;  ///< the tensor that produces the text model's embeddings; if empty, clip.….projection_dim
                           ///< applies
  std::size_t width_dimension = 1;           ///< the dimension of `width` that is the embedding length
  std::string_view first = {}, second = {};  ///< `first` takes the encoder's output, `second` the output of `first`
  std::string_view keys = {};                ///< required in addition to the encoder's
  std::string_view layer_tensors = {};       ///< required in each layer besides attention and feed-forward, after
                                             ///< "….blk.N."
  std::string_view when = {};                ///< if set, the row only applies to files with this tensor
  bool has_fixed_grid = false;               ///< one position per patch of an image of clip.vision.image_size
  bool has_plain_patches = true;  ///< v.patch_embd.weight takes clip.vision.patch_size² pixels of three colours
};

/// Returns the type that llama.cpp assigns to the file's encoder, or nullopt if no key states it.
std::optional<std::string_view> projector_type(const gguf::Index& index, const Encoder& encoder);
/// Returns every row; a type may have several.
std::span<const Projector> all_projectors();
/// The name that stands for Qwen2.5-VL's and Qwen2-Audio's projectors in a file with both (llama.cpp, clip.cpp).
inline constexpr std::string_view qwen_omni_projector = "qwen2.5o";
/// Returns nullptr for unknown types.
const Projector* find_projector(std::string_view type, const Encoder& encoder, const gguf::Index& index);
/// The length of the embeddings that a file produces for the text model, and the key or tensor that states it.
struct ProjectorWidth {
  u64 size;
  Place where;  ///< refers to the index's document
  u64 offset;
};
/// Returns the width from the tensor that produces the embeddings, like llama.cpp (in older files projection_dim has
/// another model's value), or from projection_dim if the type is unknown. Returns nullopt if the file has no such
/// encoder.
std::optional<ProjectorWidth> projector_width(const gguf::Index& index, const Encoder& encoder);

/// Expands a list of Projector: "a.* b" becomes a.weight, a.bias, b.
std::vector<std::string> projector_tensors(std::string_view list);
/// Splits a list at spaces.
std::vector<std::string_view> projector_words(std::string_view list);

// Recognises image and video models, whose GGUFs (ComfyUI's) follow other rules than language models.

/// Returns the name of the image model in a GGUF ("flux"), from its tensors or else from `general.architecture`. Empty
/// for other files.
std::string_view image_model_of(const gguf::SplitSet& set);

/// Returns error "convert-image-model" for such a file, since the rules for language models would break it.
Status refuse_image_model(const gguf::SplitSet& set);

}  // namespace modelutils::arch
