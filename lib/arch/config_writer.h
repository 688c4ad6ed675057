// Keys and tensors of a GGUF as members of config.json: the rows of a family read backwards.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arch/family.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "gguf/keys.h"
#include "gguf/split_set.h"
#include "hf/config_members.h"

namespace modelutils::arch {

/// What the functions of rows and families work with. Names of keys are those behind "<architecture>."; names of
/// members may be those of objects ("rope_scaling.factor").
class ConfigWriter {
 public:
  /// `set` and `index`, that of its first file, must outlive the writer.
  ConfigWriter(const Family& family, const gguf::SplitSet& set, const gguf::Index& index, const Sizes& sizes);

  const Family& family() const { return family_; }
  const Sizes& sizes() const { return sizes_; }
  u64 size(std::string_view symbol) const { return sizes_.get(symbol); }

  std::optional<u64> count(std::string_view key) const { return index_.unsigned_value(index_.arch_key(key)); }
  std::optional<double> real(std::string_view key) const { return index_.float_value(index_.arch_key(key)); }
  std::optional<bool> flag(std::string_view key) const { return index_.bool_value(index_.arch_key(key)); }
  std::string_view text(std::string_view key) const {
    return index_.string_value(index_.arch_key(key)).value_or(std::string_view{});
  }
  /// The numbers of an array, at most one for each of the loader's layers; empty if the key holds none.
  Result<std::vector<u64>> counts(std::string_view key) const;
  Result<std::vector<float>> reals(std::string_view key) const;

  bool has_tensor(std::string_view name) const { return tensors_.contains(name); }
  /// Has any layer "blk.N.<name>"?
  bool has_in_layers(std::string_view name) const;
  bool has_in_layer(u64 layer, std::string_view name) const;
  /// Dimensions, ne0 first; empty if there is no such tensor.
  std::vector<u64> shape(std::string_view name) const;
  /// The values of a short F32 vector. Nothing if there is no such tensor. Errors: "config-tensor" (of another type, of
  /// more than 65,536 values or outside the file), those of reading.
  Result<std::optional<std::vector<float>>> values(std::string_view name) const;

  /// Of "a|b" the name that this family's config.json uses.
  std::string_view spelled(std::string_view fields) const;
  /// Does this family's config.json have the field?
  bool spells(std::string_view field) const;

  /// A member that the file states.
  void set(std::string_view member, hf::ConfigValue value);
  /// A member of which the file says nothing: the default, which the report lists. One that was set stays.
  void assume(std::string_view member, hf::ConfigValue value);
  /// Removes a member of the outermost object and gives its value; nothing if there is none.
  std::optional<hf::ConfigValue> take(std::string_view member);
  bool has(std::string_view member) const { return hf::find_member(members, member) != nullptr; }

  /// Error "config-key" at a key.
  tl::unexpected<Error> refuse(std::string_view key, std::string message) const;

  hf::ConfigMembers members;
  std::vector<std::string> assumed;  ///< names of members, in the order in which they were assumed

 private:
  template <typename T>
  Result<std::vector<T>> numbers(std::string_view key) const;

  struct Located {
    const gguf::SetFile* file = nullptr;
    const gguf::TensorInfo* info = nullptr;
  };

  const Family& family_;
  const gguf::SplitSet& set_;
  const gguf::Index& index_;
  const Sizes& sizes_;
  std::unordered_map<std::string_view, Located> tensors_;
};

/// Writes every member that the rows of the family, its fixed settings and its own function know; not those of the
/// identity (architectures, model_type) and of tokens. Errors: "config-key" (a key that config.json cannot say, or that
/// contradicts another), "config-tensor", those of reading.
Status write_config_members(ConfigWriter& out);

// Functions of rows (Key::read).

/// rope_theta: rope.freq_base, or the loader's default.
Status read_theta(ConfigWriter& out, const Key& key);
/// rope_local_base_freq, where there is such a key.
Status read_local_theta(ConfigWriter& out, const Key& key);
/// partial_rotary_factor (rotary_pct, rotary_dim): what is rotated of a head.
Status read_rotation(ConfigWriter& out, const Key& key);
/// rope_scaling from the keys of linear and yarn scaling, or from the tensors of llama3 and longrope.
Status read_rope_scaling(ConfigWriter& out, const Key& key);
/// The same of phi3 and its relatives: the original context is a member of its own, too.
Status read_phi3_rope_scaling(ConfigWriter& out, const Key& key);
/// The same with one magnitude on rotated parts and another on all scores (mla.h).
Status read_mla_rope_scaling(ConfigWriter& out, const Key& key);
/// mrope_section of the scaling object.
Status read_rope_sections(ConfigWriter& out, const Key& key);
/// softmax or sigmoid, where config.json has such a field.
Status read_gating(ConfigWriter& out, const Key& key);
/// The number of groups of experts, 1 if there is no such key.
Status read_expert_groups(ConfigWriter& out, const Key& key);
/// sliding_window_pattern and layer_types, whichever the family's config.json has.
Status read_windows(ConfigWriter& out, const Key& key);

// What the functions of families (ConfigForm::describe) share.

/// Another class of the same family: architectures and model_type.
void set_identity(ConfigWriter& out, std::string_view hf_class, std::string_view model_type);
/// rope_theta, partial_rotary_factor and rope_scaling become members of one object, rope_parameters.
void gather_rope_parameters(ConfigWriter& out);
/// time_step_limit: none, as the runtime has it.
Status describe_limits(ConfigWriter& out);

/// Which layers slide, by an array of flags or by a period (which the family's runtime has if there is no such key).
Result<std::vector<bool>> sliding_layers(const ConfigWriter& out);
/// "sliding_attention" and "full_attention".
hf::ConfigValue layer_types(const std::vector<bool>& slides);
/// One of two words for each layer: `in` where there are key and value heads.
hf::ConfigValue kinds_by_heads(const ConfigWriter& out, std::string_view in, std::string_view out_of);
/// The numbers of the layers with key and value heads, the first being `first`.
hf::ConfigValue layers_with_heads(const ConfigWriter& out, u64 first);

}  // namespace modelutils::arch
