// Converts keys and tensors of a GGUF to members of config.json, by the family's rows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arch/family.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "formats/gguf/document.h"
#include "formats/gguf/split_set.h"
#include "formats/hf/config_members.h"

namespace modelutils::arch {

/// Collects the members of one config.json; the functions of rows and families read the GGUF through it. Keys are named
/// without "<architecture>."; members may be nested ("rope_scaling.factor").
class ConfigWriter {
 public:
  /// `index` is the index of the set's first file. All arguments must outlive the writer.
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
  /// Returns the numbers of an array key; empty if the key is absent or not an array of numbers. Error "config-key":
  /// the array is longer than the layer limit. Also read errors.
  Result<std::vector<u64>> counts(std::string_view key) const;
  Result<std::vector<i64>> integers(std::string_view key) const;
  Result<std::vector<float>> reals(std::string_view key) const;
  /// Returns the texts of an array key; empty if the key is absent or of another type. Errors: as counts().
  Result<std::vector<std::string>> texts(std::string_view key) const;

  bool has_tensor(std::string_view name) const { return tensors_.contains(name); }
  /// True if any layer has the tensor "blk.N.<name>".
  bool has_in_layers(std::string_view name) const;
  bool has_in_layer(u64 layer, std::string_view name) const;
  /// Returns the dimensions, ne0 first; empty if the tensor is absent.
  std::vector<u64> shape(std::string_view name) const;
  /// Returns the values of a short F32 vector, or nullopt if the tensor is absent. Errors: "config-tensor" (another
  /// type, more than 65,536 values, or data outside the file), read errors.
  Result<std::optional<std::vector<float>>> values(std::string_view name) const;

  /// Returns the name among "a|b" that this family's config.json uses.
  std::string_view spelled(std::string_view fields) const;
  /// True if this family's config.json has the field.
  bool spells(std::string_view field) const;

  /// Sets a member to a value that the file states.
  void set(std::string_view member, hf::ConfigValue value);
  /// Sets a member that the file does not state to its default and lists it in `assumed`. Keeps a member that is
  /// already set.
  void assume(std::string_view member, hf::ConfigValue value);
  /// Removes a top-level member and returns its value; nullopt if it is absent.
  std::optional<hf::ConfigValue> take(std::string_view member);
  bool has(std::string_view member) const { return hf::find_member(members, member) != nullptr; }

  /// Returns error "config-key", located at the key.
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

/// Writes every member that the family's rows, its fixed settings and its own function define, except the class names
/// (architectures, model_type) and token ids. Errors: "config-key" (a key that config.json cannot express, or that
/// contradicts another), "config-tensor", read errors.
Status write_config_members(ConfigWriter& out);

// Functions of rows (Key::read).

/// Writes rope_theta from rope.freq_base or the loader's default.
Status read_theta(ConfigWriter& out, const Key& key);
/// Writes rope_local_base_freq if the file has the key.
Status read_local_theta(ConfigWriter& out, const Key& key);
/// Writes the rotated part of each head: partial_rotary_factor, rotary_pct or rotary_dim.
Status read_rotation(ConfigWriter& out, const Key& key);
/// Writes rope_scaling from the keys of linear and yarn scaling, or from the tensors of llama3 and longrope.
Status read_rope_scaling(ConfigWriter& out, const Key& key);
/// Like read_rope_scaling(), for phi3 and related families, which also have the original context as a top-level member.
Status read_phi3_rope_scaling(ConfigWriter& out, const Key& key);
/// Like read_rope_scaling(), for yarn with one magnitude for rotated parts and another for all scores
/// (write_mla_rope_scaling()).
Status read_mla_rope_scaling(ConfigWriter& out, const Key& key);
/// Writes mrope_section into the scaling object.
Status read_rope_sections(ConfigWriter& out, const Key& key);
/// Writes the router's activation, softmax or sigmoid, if the family's config.json has a field for it.
Status read_gating(ConfigWriter& out, const Key& key);
/// Writes the number of expert groups; 1 if the key is absent.
Status read_expert_groups(ConfigWriter& out, const Key& key);
/// Writes sliding_window_pattern or layer_types, depending on which of them the family's config.json has.
Status read_windows(ConfigWriter& out, const Key& key);

// Functions shared by the families' ConfigForm::describe.

/// Sets architectures and model_type, for families with several classes.
void set_identity(ConfigWriter& out, std::string_view hf_class, std::string_view model_type);
/// Moves rope_theta, partial_rotary_factor and rope_scaling into one object, rope_parameters.
void gather_rope_parameters(ConfigWriter& out);
/// Writes a time_step_limit without limits, because llama.cpp applies none.
Status describe_limits(ConfigWriter& out);

/// Returns which layers slide, from the key's flags or period. If the key is absent, uses the family's default period.
Result<std::vector<bool>> sliding_layers(const ConfigWriter& out);
/// Returns a list of "sliding_attention" and "full_attention".
hf::ConfigValue layer_types(const std::vector<bool>& slides);
/// Returns a list with one word per layer: `in` for layers with KV heads, `out_of` for others.
hf::ConfigValue kinds_by_heads(const ConfigWriter& out, std::string_view in, std::string_view out_of);
/// Returns the indices of the layers with KV heads, counted from `first`.
hf::ConfigValue layers_with_heads(const ConfigWriter& out, u64 first);

}  // namespace modelutils::arch
