// Names of tensors in both worlds, read from the rows of a family: "model.layers.3.self_attn.q_proj.weight" and
// "blk.3.attn_q.weight".
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

/// Takes a row's source apart. Empty for generated tensors.
std::vector<SourceAlternative> parse_source(std::string_view source);

/// "=llama3" -> "llama3"; empty if the tensor is not generated.
inline std::string_view generator_of(const Tensor& row) {
  return row.source.starts_with('=') ? row.source.substr(1) : std::string_view{};
}

/// The key of a GGUF that holds the one number of this row's source in each layer: "@#xielu.beta" -> "xielu.beta";
/// empty for tensors.
inline std::string_view key_of_numbers(const Tensor& row) {
  return row.name.starts_with("@#") ? row.name.substr(2) : std::string_view{};
}

/// Does a module have a name that only mlx-lm gives: stacks of experts, the halves of latent attention's kv_b_proj?
bool is_name_of_mlx(std::string_view module);

/// Which side of a row: the matrix, or the bias beside it.
enum class Side : u8 { weight, bias };

/// GGUF name of a row in a layer: "blk.3.attn_q.weight".
std::string gguf_name(const Tensor& row, bool in_layer, u64 layer, Side side);

/// Where a tensor of a directory belongs.
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

/// "PREFIX3.mlp.gate" -> 3 and "mlp.gate"; nullopt for a name outside the layers.
struct LayerName {
  u64 layer = 0;
  std::string_view rest;
};
std::optional<LayerName> layer_name(std::string_view canonical, std::string_view prefix);

/// The names of one family, ready to be looked up.
class Names {
 public:
  explicit Names(const Family& family);

  const Family& family() const { return *family_; }
  /// The alternatives of a row's source, parsed.
  const std::vector<SourceAlternative>& alternatives(const Tensor& row) const { return parsed_.at(&row); }

  /// All uses of a tensor of a directory, by its canonical name with its suffix ("….weight", "….bias"; stacks of
  /// experts also without). Nothing if no row has it.
  std::optional<SourceMatch> match(std::string_view canonical) const;

  /// The GGUF name of a tensor that maps one to one: alone, unstacked and unsplit.
  std::optional<std::string> gguf_tensor(std::string_view canonical) const;

  /// The other direction, for names that map one to one: the first alternative without condition.
  std::optional<std::string> source_tensor(std::string_view gguf_name) const;

  /// The row of a GGUF tensor, and its layer. nullptr if the family has none.
  struct Place {
    const Tensor* row = nullptr;
    std::optional<u64> layer;
    Side side = Side::weight;
  };
  Place find_gguf(std::string_view gguf_name) const;

  /// Number N of "model.layers.N.…" in a canonical name.
  std::optional<u64> layer_of(std::string_view canonical) const;

 private:
  void add_row(const Tensor& row, bool in_layer);

  const Family* family_;
  std::unordered_map<std::string, std::vector<SourceUse>> by_pattern_;  // "N." in front of patterns below the layers
  std::unordered_map<std::string, Place> by_gguf_;                      // "blk." in front of those
  std::unordered_map<const Tensor*, std::vector<SourceAlternative>> parsed_;
};

}  // namespace modelutils::arch
