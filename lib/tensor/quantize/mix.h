// The mixes of llama-quantize, which choose each tensor's type. The rules are a table (mix_table.cc); this file has the
// counting order of tensors and the fallback for rows that do not fit a type's blocks. Source:
// docs/formats/quantize.md, "Mixes".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tensor/types.h"

namespace modelutils::quantize {

/// A tensor's function in a model, as far as mixes distinguish it.
enum class Role : u8 {
  output,
  embedding,
  value,
  fused_value,  ///< of image models: Q, K and V in one matrix
  key,
  query,
  attention_output,
  ffn_up,
  ffn_gate,
  ffn_down,
  other
};

/// Determined by the name. `value` includes matrices that hold V together with others, such as QKV.
Role role_of(std::string_view name);
/// The same for tensors of image models: value, fused_value, ffn_down or other.
Role image_role_of(std::string_view name);

/// The condition of a mix rule. l: the layer, L: layer count, i: number of the V tensor, N: count of V tensors, c:
/// ffn_down tensors so far, G: heads per key-value head, E: expert count.
enum class When : u8 {
  always,
  first_two,          ///< i < 2
  first_four,         ///< i < 4
  more_values,        ///< more(i, N)
  eighth,             ///< l < L/8
  sixteenth,          ///< l < L/16
  more,               ///< more(l, L): the first and the last eighth, and every third in between
  middle,             ///< L/8 ≤ l < 7·L/8
  eighth_counted,     ///< c < L/8, also with experts
  shared_heads,       ///< G ≥ 4
  shared_or_experts,  ///< G ≥ 4 or E ≥ 4
  eight_experts,      ///< E = 8
  eight_and_more,     ///< E = 8 and more(l, L)
};

/// The other conditions of a rule.
enum class Matrix : u8 { any, given, missing };  ///< whether an importance matrix is given
enum class Family : u8 { any, falcon, not_falcon };

struct MixRule {
  Role role;
  When when;
  TensorType type;
  Matrix matrix = Matrix::any;
  Family family = Family::any;
};

struct Mix {
  std::string_view name;           ///< "Q4_K_M"
  u32 file_type;                   ///< general.file_type
  TensorType type;                 ///< for tensors without a matching rule
  std::span<const MixRule> rules;  ///< the first matching rule decides
  bool is_low = false;             ///< IQ1_*, IQ2_*: no special handling of large models and experts
  bool output_q5 = false;          ///< output.weight is Q5_K, not Q6_K
};

/// The rules of a mix for image models, of which there are fewer than for language models.
struct ImageMix {
  std::string_view name;  ///< Mix::name
  std::span<const MixRule> rules;
  std::optional<TensorType> outer = {};  ///< the type in the outer blocks, if the model has such (MixModel)
};
/// Returns nullptr if the mix has no rules for image models.
const ImageMix* image_mix_of(const Mix& mix);
/// Returns "F32, F16, …" for messages: the mixes with rules for image models.
std::string image_mix_names();

/// Returns all mixes, ordered by number.
std::span<const Mix> all_mixes();

/// Finds a mix by name, ignoring case. "Q3_K", "Q4_K" and "Q5_K" mean the _M mixes, "MXFP4" means MXFP4_MOE. Returns
/// nullptr for unknown names.
const Mix* mix_from_name(std::string_view name);
/// Finds a mix by general.file_type; nullptr if there is none.
const Mix* mix_of_file_type(u64 code);

/// The model properties that mixes depend on.
struct MixModel {
  std::string architecture;
  u64 layers = 0;                 ///< block_count
  u64 heads = 0;                  ///< head count of layer 0
  u64 kv_heads = 0;               ///< key-value head count of layer 0
  u64 experts = 0;                ///< expert_count
  bool is_image = false;          ///< the rules for image models apply
  std::string_view outer_blocks;  ///< of an image model: parts of the names of its outer blocks, separated by spaces
};

struct MixTensor {
  std::string_view name;
  std::span<const u64> ne;
  TensorType type;     ///< current type
  bool stays = false;  ///< no mix changes it, and it does not count among V matrices
};

/// Assigns a type to all tensors whose name matches a pattern.
struct TypeOverride {
  std::string pattern;
  TensorType type;
};

struct MixOptions {
  const Mix* mix = nullptr;
  bool pure = false;                             ///< use the mix's default type for every tensor that may change
  bool has_importance = false;                   ///< an importance matrix was given, whichever tensors it covers
  std::span<const TypeOverride> overrides = {};  ///< take precedence over the mix; the first matching pattern decides
};

/// The type chosen for a tensor, and the reason.
struct MixChoice {
  TensorType type;
  bool touched = false;     ///< the tensor may change its type at all
  bool overridden = false;  ///< chosen by a pattern
  bool fell_back = false;   ///< a fallback, because its rows do not fit the type that the mix chose
};

// Predicates of architectures that have their own rules (mix_table.cc).
bool is_falcon(const MixModel& model);
/// True for "70B" models, whose V matrices are small and get more bits.
bool has_small_values(const MixModel& model);
/// True if attention has stacks of matrices in addition to the experts.
bool has_other_stacks(const MixModel& model);

/// True if a mix may change this tensor's type: it has at least two dimensions and is not one of the small or sensitive
/// tensors. In an image model, it has exactly two dimensions.
bool may_quantize(const MixTensor& tensor, bool is_image = false);

/// True if llama-quantize refuses to give this tensor its type without importance weights.
bool mix_needs_importance(std::string_view name, TensorType type, const Mix& mix);

/// Returns the order in which llama-quantize counts and writes tensors, as indexes into `names`: tensors outside layers
/// first, then by layer, and by name within a layer.
std::vector<std::size_t> mix_order(std::span<const std::string_view> names);

/// Returns the next type whose blocks fit a row of ne0 elements, following llama-quantize's fallbacks; `type` itself if
/// it fits. Error: "quantize-no-fallback" (Q1_0 has none).
Result<TensorType> fitting_type(TensorType type, u64 ne0, std::string_view name);

/// Like fitting_type(), with the fallback of the model's kind: F16 for image models.
Result<TensorType> fitting_type(TensorType type, u64 ne0, std::string_view name, bool is_image);

/// Chooses the types of all tensors, in the order given. Errors: "quantize-no-fallback"; "quantize-image-mix" if the
/// mix or --pure is not for image models.
Result<std::vector<MixChoice>> choose_types(const MixModel& model, std::span<const MixTensor> tensors,
                                            const MixOptions& options);

}  // namespace modelutils::quantize
