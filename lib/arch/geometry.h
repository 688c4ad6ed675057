// Sizes of a Hugging Face or MLX directory: the tensors' shapes first, config.json second, the class's defaults last.
// The same shapes and names show whether tensors are laid out as mlx-lm saves them or as published
// (docs/conversion.md, "Weak and strong signals").
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/family.h"
#include "arch/names.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "formats/hf/config.h"

namespace modelutils::arch {

/// An equation that follows from a tensor's shape: `expression` equals `value` in `layer`.
struct ShapeFact {
  std::string expression;
  u64 value = 0;
  u64 layer = 0;
  /// The condition of the row's alternative. The equation is used once the condition is known to hold.
  std::string_view condition = {};
};

/// Adds the equations that follow from the shape of one source of a row. `shape` is in safetensors order; for stacked
/// parts it is the shape of one of `stacked` matrices. `alone` is false if the source is only a part of the row. Adds
/// none if the number of dimensions does not match.
void add_shape_facts(const Tensor& row, Side side, const SourcePart& part, bool alone, std::span<const u64> shape,
                     u64 stacked, u64 layer, std::vector<ShapeFact>& facts);

/// Solves the sizes of a directory with `n_layer` layers, and compares them with config.json. `sizes` may hold known
/// symbols (hf, mlx, traditional). Error "convert-config": a contradiction, a number above the loader's limit, or a
/// size that nothing determines.
Result<Sizes> solve_sizes(const Family& family, const hf::Config& config, u64 n_layer, std::span<const ShapeFact> facts,
                          Sizes sizes);

/// Returns the size that config.json states for a row, or nullopt if it is absent or above largest_size(). Use this for
/// every size that bounds a loop.
std::optional<u64> stated_size(const hf::Config& config, const Key& key);

/// Returns error "convert-config" for the first size in config.json that exceeds largest_size().
Status check_stated_sizes(const Family& family, const hf::Config& config);

/// Returns the sizes that config.json states or implies, without fallbacks. Ignores sizes above largest_size().
Sizes stated_sizes(const Family& family, const hf::Config& config);

/// Fields of config.json that state how many blocks for predicting further tokens the published model has.
inline constexpr std::string_view prediction_fields =
    "num_nextn_predict_layers|mtp_num_hidden_layers|num_mtp_modules|num_mtp_layers|mtp_num_layers";

/// True if `canonical` is a tensor of a layer after the last one, used to predict several tokens at once. Always false
/// if config.json does not state the number of such layers.
bool is_prediction_layer(const Names& names, const hf::Config& config, std::string_view canonical);

/// Returns the first field among "a|b" that config.json has, or "a" if it has neither.
std::string_view stated_field(const hf::Config& config, std::string_view fields);

// Finds out whether a directory's tensors are laid out as mlx-lm saves them or as published, from the names and shapes
// that each family's rows define (docs/conversion.md, "Weak and strong signals").

/// Collects the signs in one directory. The names must outlive it.
class LayoutSigns {
 public:
  /// `config` gives the layer count; layers after the last one are ignored.
  LayoutSigns(const Family& family, const hf::Config& config) : family_(family), config_(config) {
    if (family.layout_signs.begin() != family.layout_signs.end()) names_.emplace(family);
  }

  /// Examines a tensor by its name in the file and its shape in safetensors order.
  void see(std::string_view name, std::span<const u64> shape);

  /// Return the first tensor with each layout; empty if there is none.
  std::string_view of_mlx() const { return mlx_; }
  std::string_view as_published() const { return published_; }

 private:
  const Family& family_;
  const hf::Config& config_;
  std::optional<Names> names_;  // only of families with signs
  std::string_view mlx_, published_;
};

}  // namespace modelutils::arch
