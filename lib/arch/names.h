// Translates between the tensor names of directories and GGUFs using a family's rows:
// "model.layers.3.self_attn.q_proj.weight" and "blk.3.attn_q.weight".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arch/family.h"

namespace modelutils::arch {

struct SourceAlternative {
  std::string_view condition;
  std::vector<SourcePart> parts;
};

/// Parses a row's source. Returns an empty list for generated tensors.
std::vector<SourceAlternative> parse_source(std::string_view source);

/// Returns "llama3" for "=llama3", or an empty view if the tensor is not generated.
inline std::string_view generator_of(const Tensor& row) {
  return row.source.starts_with('=') ? row.source.substr(1) : std::string_view{};
}

/// Returns the key that holds this row's number for every layer: "xielu.beta" for "@#xielu.beta". Empty for tensors.
inline std::string_view key_of_numbers(const Tensor& row) {
  return row.name.starts_with("@#") ? row.name.substr(2) : std::string_view{};
}

/// True for module names that only mlx-lm uses: stacks of experts, and the two halves of latent attention's kv_b_proj.
bool is_name_of_mlx(std::string_view module);

/// Which tensor of a row: the matrix or its bias.
enum class Side : u8 { weight, bias };

/// Returns the GGUF name of a row in a layer: "blk.3.attn_q.weight".
std::string gguf_name(const Tensor& row, bool in_layer, u64 layer, Side side);

/// One use of a directory's tensor: the row that needs it, and how.
struct SourceUse {
  const Tensor* row = nullptr;
  bool in_layer = false;
  Side side = Side::weight;
  std::size_t alternative = 0;
  std::size_t part = 0;
};

struct SourceMatch {
  const std::vector<SourceUse>* uses = nullptr;  ///< one, or several if a source is split
  std::optional<u64> layer;
  std::optional<u64> expert;
};

/// The parts of a name in a layer: 3 and "mlp.gate" for "PREFIX3.mlp.gate". layer_name() returns nullopt outside the
/// layers.
struct LayerName {
  u64 layer = 0;
  std::string_view rest;
};
std::optional<LayerName> layer_name(std::string_view canonical, std::string_view prefix);
/// Returns N from "blk.N.…", or nullopt for other names and for numbers above 1,000,000.
std::optional<u64> block_of(std::string_view tensor);

/// The names of one family, indexed for look-up.
class Names {
 public:
  explicit Names(const Family& family);

  const Family& family() const { return *family_; }
  /// Returns the parsed alternatives of a row's source.
  const std::vector<SourceAlternative>& alternatives(const Tensor& row) const { return parsed_.at(&row); }

  /// Returns all uses of a directory's tensor by its canonical name with suffix ("….weight", "….bias"; stacks of
  /// experts also without). Returns nullopt if no row uses it.
  std::optional<SourceMatch> match(std::string_view canonical) const;

  /// Returns the name as the rows spell it: without an optional prefix (Family::outer_prefixes), or with "model."; with
  /// weight and bias for LayerNorm's gamma and beta and for the original of a parametrization. Returns names that no
  /// row uses in any of these spellings unchanged.
  std::string spelled(std::string_view canonical) const;

  /// True if Family::left_out lists the name, with or without an optional prefix.
  bool leaves_out(std::string_view canonical) const;

  /// Returns the GGUF name of a tensor that maps one to one, neither stacked nor split; otherwise nullopt.
  std::optional<std::string> gguf_tensor(std::string_view canonical) const;

  /// The inverse for names that map one to one, using the first alternative without a condition.
  std::optional<std::string> source_tensor(std::string_view gguf_name) const;

  /// The row of a GGUF tensor, and its layer. `row` is nullptr if the family has no such tensor.
  struct Place {
    const Tensor* row = nullptr;
    std::optional<u64> layer;
    Side side = Side::weight;
  };
  Place find_gguf(std::string_view gguf_name) const;

  /// Returns N from "model.layers.N.…" in a canonical name, or nullopt outside the layers.
  std::optional<u64> layer_of(std::string_view canonical) const;

 private:
  void add_row(const Tensor& row, bool in_layer);

  const Family* family_;
  std::unordered_map<std::string, std::vector<SourceUse>> by_pattern_;  // with "N." before patterns in layers
  std::unordered_map<std::string, Place> by_gguf_;                      // with "blk." before names in layers
  std::unordered_map<const Tensor*, std::vector<SourceAlternative>> parsed_;
};

}  // namespace modelutils::arch
