// Projector files (GGUF of architecture "clip"): what llama.cpp's multimodal library needs of them.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/place.h"
#include "gguf/keys.h"

namespace modelutils::arch {

/// One file has an encoder of images, of audio, or both. Each has keys and tensors of its own.
struct Encoder {
  std::string_view name;    ///< keys are "clip.<name>.…"
  std::string_view flag;    ///< the key that says that it is there
  std::string_view prefix;  ///< tensors are "<prefix>…", those of its layers "<prefix>blk.N.…"
  std::string_view keys;    ///< that every type of it needs as UINT32, after "clip.<name>.", separated by blanks
};
inline constexpr std::array encoders = {
    Encoder{
        "vision", "clip.has_vision_encoder", "v.",
        "embedding_length attention.head_count feed_forward_length block_count projection_dim image_size patch_size"},
    Encoder{"audio", "clip.has_audio_encoder", "a.",
            "embedding_length attention.head_count feed_forward_length block_count projection_dim num_mel_bins"},
};

enum class EncoderLayers : u8 {
  transformer,  ///< attention and feed-forward, a norm before each
  conformer,    ///< convolutions too: norms and convolutions are in Projector::layer_tensors
  own,          ///< not numbered as the others', or none: no rule for them
};

/// What one type of projector needs, by llama.cpp's tools/mtmd/clip.cpp of May 2026. In lists of tensors, separated by
/// blanks, ".*" at the end means ".weight" and ".bias".
struct Projector {
  std::string_view name;     ///< clip.projector_type
  std::string_view encoder;  ///< Encoder::name
  EncoderLayers layers;
  std::string_view tensors;  ///< all those that it cannot do without, but for the encoder's layers
  std::string_view width;    ///< the tensor that makes the text model's embeddings; empty: clip.….projection_dim
  std::size_t width_dimension = 1;           ///< and the dimension of it that is their length
  std::string_view first = {}, second = {};  ///< `second` multiplies what `first` made; `first`, what the encoder made
  std::string_view keys = {};                ///< beyond the encoder's
  std::string_view layer_tensors = {};       ///< of each layer beyond attention and feed-forward, after "….blk.N."
  std::string_view when = {};                ///< only for files that have this tensor
  bool has_fixed_grid = false;               ///< a position for each patch of an image of clip.vision.image_size
  bool has_plain_patches = true;  ///< v.patch_embd.weight takes clip.vision.patch_size² pixels of three colours
};

/// The type that llama.cpp takes the file's encoder for; nothing if no key tells it.
std::optional<std::string_view> projector_type(const gguf::Index& index, const Encoder& encoder);
/// Every row; a type may have several.
std::span<const Projector> all_projectors();
/// One name for the projectors of Qwen2.5-VL and of Qwen2-Audio in a file that has both (llama.cpp, clip.cpp).
inline constexpr std::string_view qwen_omni_projector = "qwen2.5o";
/// Nothing for types that are not known here.
const Projector* find_projector(std::string_view type, const Encoder& encoder, const gguf::Index& index);
/// How long the embeddings are that the file makes for the text model, and what says so.
struct ProjectorWidth {
  u64 size;
  Place where;  ///< views the index's document
  u64 offset;
};
/// By the tensor that makes them, as llama.cpp does (older files have another model's number in projection_dim); by
/// projection_dim where the type is not known. Nothing if the file has no such encoder.
std::optional<ProjectorWidth> projector_width(const gguf::Index& index, const Encoder& encoder);

/// The names in a list of Projector: "a.* b" is a.weight, a.bias, b.
std::vector<std::string> projector_tensors(std::string_view list);
/// The words of a list: separated by blanks.
std::vector<std::string_view> projector_words(std::string_view list);

}  // namespace modelutils::arch
