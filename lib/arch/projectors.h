// What llama.cpp's multimodal library requires of projector files (GGUF of architecture "clip").
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

/// Number of patches per side that become one token.
struct PatchMerge {
  std::string_view key = {};  ///< states it, after "clip.vision."; if empty, no key does
  u64 fallback = 1;
  bool is_of_input = false;  ///< Projector::first takes the patches side by side
};

/// The number of tokens per picture. Without limits, every picture (or tile) has the size in clip.vision.image_size.
struct TokenLimits {
  bool by_pixels = false;  ///< overridden by image_min_pixels and image_max_pixels if present
  u64 least = 0, most = 0;
  u64 added = 0;  ///< additional tokens before and after the picture
  u64 warmup =
      0;  ///< tokens of the picture for which llama.cpp reserves memory at start, if the file has no image_size
};

/// The requirements of a projector type, from llama.cpp's tools/mtmd/clip.cpp of September 2026 (v0.5.0). Lists of
/// tensors are separated by spaces; a trailing ".*" stands for ".weight" and ".bias".
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
  PatchMerge merge = {};
  TokenLimits tokens = {};
  bool reorders_feed_forward = false;  ///< llama.cpp swaps "ffn_up" and "ffn_down" if the latter takes the width
  bool looks_up_positions = false;     ///< reads rows of the position table, so that it may have any type
  bool resizes_positions = false;      ///< the position table is a square that is interpolated to the picture's size
  std::string_view texts = {};         ///< architectures of the text models that use the projector; any if empty
};

/// Returns the type that llama.cpp assigns to the file's encoder, or nullopt if no key states it.
std::optional<std::string_view> projector_type(const gguf::Index& index, const Encoder& encoder);
/// Returns every row; a type may have several.
std::span<const Projector> all_projectors();
/// The projector type of a file with both Qwen2.5-VL's and Qwen2-Audio's projectors (llama.cpp, clip.cpp).
inline constexpr std::string_view qwen_omni_projector = "qwen2.5o";
/// Returns nullptr for unknown types.
const Projector* find_projector(std::string_view type, const Encoder& encoder, const gguf::Index& index);
/// The length of the embeddings that a file produces for the text model, and the key or tensor that states it.
struct ProjectorWidth {
  u64 size;
  u64 parts;    ///< number of vectors of `size` per embedding: one for each deepstack layer
  Place where;  ///< refers to the index's document
  u64 offset;
};
/// Returns the width from the tensor that produces the embeddings, like llama.cpp (in older files projection_dim has
/// another model's value), or from projection_dim if the type is unknown. Returns nullopt if the file has no such
/// encoder.
std::optional<ProjectorWidth> projector_width(const gguf::Index& index, const Encoder& encoder);

/// Returns the number of patches per side that become a token.
u64 merged_patches(const gguf::Index& index, const Projector& row);
/// The number of tokens per picture, or per tile into which llama.cpp divides it.
struct PictureTokens {
  u64 least, most;
};
/// Returns nullopt if the type or a size is unknown.
std::optional<PictureTokens> picture_tokens(const gguf::Index& index, const Projector& row);

/// The element types in which llama.cpp can read a tensor. With another type, the process aborts at the first picture
/// or sound.
enum class TowerTypes : u8 {
  any,
  no_blocks,   ///< F32, F16, BF16: the matrix is transposed
  f32_or_f16,  ///< kernels
  f32,
};
/// `row` is that of the tensor's encoder, or nullptr for an unknown type.
TowerTypes tower_types(const Projector* row, std::string_view name, std::span<const u64> ne);

/// False if the file's projector type is only used with text models of other architectures.
bool may_belong_to(const gguf::Index& index, std::string_view text_architecture);

/// Expands a list of Projector: "a.* b" becomes a.weight, a.bias, b.
std::vector<std::string> projector_tensors(std::string_view list);
/// Splits a list at spaces.
std::vector<std::string_view> projector_words(std::string_view list);

}  // namespace modelutils::arch
