// The mixes of llama-quantize: which tensor gets which type. The rules are one table (mix_table.cc); the order in which
// tensors are counted, and what happens where a row does not fit a type's blocks, is here. Source:
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

/// What a tensor does in a model, as far as mixes look at it.
enum class Role : u8 { output, embedding, value, key, query, attention_output, ffn_up, ffn_gate, ffn_down, other };

/// By its name; V is what holds values alone or with others.
Role role_of(std::string_view name);

/// When a rule of a mix holds. l: the layer, L: all layers, i: number of the V tensor, N: all of them, c: ffn_down
/// tensors so far, G: heads for each key-value head, E: experts.
enum class When : u8 {
  always,
  first_two,          ///< i < 2
  first_four,         ///< i < 4
  more_values,        ///< more(i, N)
  eighth,             ///< l < L/8
  sixteenth,          ///< l < L/16
  more,               ///< more(l, L): the first and the last eighth, and every third between
  middle,             ///< L/8 ≤ l < 7·L/8
  eighth_counted,     ///< c < L/8, with experts, too
  shared_heads,       ///< G ≥ 4
  shared_or_experts,  ///< G ≥ 4 or E ≥ 4
  eight_experts,      ///< E = 8
  eight_and_more,     ///< E = 8 and more(l, L)
};

/// A rule's other conditions.
enum class Matrix : u8 { any, given, missing };  ///< an importance matrix
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
  TensorType type;                 ///< of what no rule is about
  std::span<const MixRule> rules;  ///< the first that holds decides
  bool is_low = false;             ///< IQ1_*, IQ2_*: no further rules for large models and experts
  bool output_q5 = false;          ///< output.weight is Q5_K, not Q6_K
};

/// All mixes by their numbers.
std::span<const Mix> all_mixes();

/// By name in any case, "Q3_K", "Q4_K" and "Q5_K" being the _M ones and "MXFP4" MXFP4_MOE; nullptr for others.
const Mix* mix_from_name(std::string_view name);
/// By general.file_type.
const Mix* mix_of_file_type(u64 code);

/// What a mix needs to know of the model.
struct MixModel {
  std::string architecture;
  u64 layers = 0;    ///< block_count
  u64 heads = 0;     ///< of layer 0
  u64 kv_heads = 0;  ///< of layer 0
  u64 experts = 0;   ///< expert_count
};

struct MixTensor {
  std::string_view name;
  std::span<const u64> ne;
  TensorType type;  ///< that it has
};

/// A type for all tensors that a pattern selects.
struct TypeOverride {
  std::string pattern;
  TensorType type;
};

struct MixOptions {
  const Mix* mix = nullptr;
  bool pure = false;                             ///< the mix's default type for everything that may be touched
  bool has_importance = false;                   ///< a matrix was given, whatever it covers
  std::span<const TypeOverride> overrides = {};  ///< the first that selects a tensor decides, before the mix
};

/// What was chosen for a tensor, and why.
struct MixChoice {
  TensorType type;
  bool touched = false;     ///< the tensor may get another type at all
  bool overridden = false;  ///< by a pattern
  bool fell_back = false;   ///< its rows do not fit the type that it should have had
};

// Architectures that the rules name (mix_table.cc).
bool is_falcon(const MixModel& model);
/// Are V matrices so small that they get more bits: "70B" models?
bool has_small_values(const MixModel& model);
/// Does attention have stacks of matrices as well as the experts?
bool has_other_stacks(const MixModel& model);

/// May a mix give this tensor another type: at least two dimensions, and not one of the small or delicate ones?
bool may_quantize(const MixTensor& tensor);

/// Does llama-quantize refuse to give this tensor its type without importance weights?
bool mix_needs_importance(std::string_view name, TensorType type, const Mix& mix);

/// The order in which llama-quantize counts and writes tensors: those outside of layers first, then by layer, by name
/// within. Indexes into `names`.
std::vector<std::size_t> mix_order(std::span<const std::string_view> names);

/// The next type whose blocks fit a row of ne0 elements, as llama-quantize falls back: `type` itself if it fits.
/// Error "quantize-no-fallback": Q1_0 has none.
Result<TensorType> fitting_type(TensorType type, u64 ne0, std::string_view name);

/// The types of all tensors, in the order given. Errors: "quantize-no-fallback".
Result<std::vector<MixChoice>> choose_types(const MixModel& model, std::span<const MixTensor> tensors,
                                            const MixOptions& options);

}  // namespace modelutils::quantize
