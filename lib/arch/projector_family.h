// A projector as data: a vision or audio tower, and the layers after it that compute embeddings for a text model, from
// a Hugging Face or mlx-vlm directory to a GGUF of architecture "clip" and back. Each projector is a file in
// lib/arch/projectors. It has rows like those of a family (arch/family.h), collected in groups. How to add one:
// docs/adding-an-architecture.md.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "arch/family.h"
#include "arch/packed_family.h"

namespace modelutils::arch {

/// Rows that occur once, or once per layer.
struct ProjectorGroup {
  /// Prefix of the rows' names in a GGUF: "v.blk.#."; '#' stands for the layer's number.
  std::string_view gguf = {};
  /// Prefix of the sources' names, below the root: "encoder.layers.#.". Alternatives are separated by '|'; a directory
  /// uses one of them. An alternative with a condition ("[mlx] layers.#.") is written only if the condition holds.
  std::string_view source = {};
  std::span<const Tensor> rows = {};
  u64 root = 0;                 ///< index into ProjectorFamily::roots
  std::string_view count = {};  ///< an expression for the number of repetitions; once if empty
  /// The numbers used in the GGUF if they are not 0, 1, 2, …. Their count is the number of repetitions.
  std::vector<u64> (*numbers)(const hf::Config&, const Sizes&) = nullptr;
  /// The same from a projector file, in the order of the sources; by default the numbers in the names of its tensors.
  NumbersInFile numbers_in_file = nullptr;
};

struct ProjectorFamily {
  /// Name and GGUF name (clip.projector_type), classes, keys ("vision.image_size", without "clip."), fixed settings,
  /// relations, checks. The fields that keys are read from belong to the directory's projector settings
  /// (hf::load_projector_config()): "vision_config.hidden_size", "preprocessor_config.image_mean", or a top-level
  /// member's name.
  Family rows;
  std::string_view encoder;  ///< Encoder::name: "vision" or "audio"
  /// Prefixes of the tower (first) and of other parts in a directory: "[mlx] vision_tower. | visual. | model.visual.",
  /// with conditions as in ProjectorGroup::source. A directory uses one alternative per part: the longest that matches.
  /// A leading '?' means that a directory may lack the part, a leading '~' that the part belongs to the text model.
  Few<std::string_view, 5> roots = {};
  Few<ProjectorGroup, 9> groups = {};
  /// Modules below the roots that the runtime does not need, separated by '|'; names that end in '.' are prefixes.
  std::string_view left_out = {};
  /// "encoder.layers." below the tower's root, if layers from the block count on are also left out.
  std::string_view last_layers = {};
  /// The token whose row of the embedding is the source "embed_tokens". The symbol "B" is its id.
  std::string_view token = {};
  /// The type that a file states if it contains two towers; if empty, each tower has a type key of its own.
  std::string_view joint_type = {};
  /// Members of config.json that are ids of tokens: "image_token_id=<image>|…".
  std::string_view token_members = {};
  /// The member with the text model's settings, if not text_config; or top_level. "NAME|." is the member and the top
  /// level.
  std::string_view text_object = {};
  /// The member that contains everything except the class: "thinker_config".
  std::string_view outer_object = {};
  /// Adds members that depend on both files: the tower's and the text model's.
  DescribeLink describe_link = nullptr;
  bool copies_last_layer = false;  ///< the class has one layer more than it uses, and a norm after it
  bool own_type_key = false;       ///< the type is always stored in clip.<encoder>.projector_type
};

/// ProjectorFamily::text_object of classes whose text model's settings are beside vision_config.
inline constexpr std::string_view top_level = ".";

/// The reason why a row is F32 or F16 (Tensor::plain): a convolution, which the runtime reads only in these types.
inline constexpr std::string_view plain_kernel = "llama.cpp reads kernels as F32 or F16";

MU_MEMBERS_OF(ProjectorGroup, gguf, source, rows, root, count, numbers, numbers_in_file)
MU_MEMBERS_OF(ProjectorFamily, rows, encoder, roots, groups, left_out, last_layers, token, joint_type, token_members,
              text_object, outer_object, describe_link, copies_last_layer, own_type_key)

using PackedProjector = Packed<ProjectorFamily>;

/// Returns all projectors, in the order of list.h.
std::span<const ProjectorFamily* const> all_projector_families();

/// Returns the class's towers that the settings describe: one, or vision and audio. Empty if no tower is known.
std::vector<const ProjectorFamily*> find_projector_families(std::string_view hf_class, const hf::Config& config);

/// Returns the towers with this type ("gemma3") and encoder ("vision"). Several towers may share a type.
std::vector<const ProjectorFamily*> projector_families_of(std::string_view type, std::string_view encoder);

/// A class whose projector is not converted.
struct UnknownProjector {
  std::string_view classes;
  std::string_view name;  ///< the projector's type, or a description of the class
};
/// Returns the row of this class; nullptr if there is none.
const UnknownProjector* find_unknown_projector(std::string_view hf_class);

}  // namespace modelutils::arch

/// Defines the projector of this name, which is constexpr in this namespace, for list.h.
#define MU_PROJECTOR(name) MU_PACKED(ProjectorFamily, name)
