// Sizes of a Hugging Face or MLX directory: the tensors' shapes first, config.json second, the class's defaults last.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "arch/names.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "hf/config.h"

namespace modelutils::arch {

/// Something that the tensors of a directory say about sizes: `expression` is `value` in `layer`.
struct ShapeFact {
  std::string expression;
  u64 value = 0;
  u64 layer = 0;
  std::string_view condition = {};  ///< of the alternative that says so: counts only once it is known to hold
};

/// Adds what a source of a row tells: `shape` in safetensors order, of stacked parts that of one matrix, of which there
/// are `stacked`. Shapes with another number of dimensions tell nothing.
void add_shape_facts(const Tensor& row, Side side, const SourcePart& part, bool alone, std::span<const u64> shape,
                     u64 stacked, u64 layer, std::vector<ShapeFact>& facts);

/// Solves the sizes of a family for a directory with `n_layer` layers, and compares them with what config.json states.
/// `sizes` may hold what is known already (hf, mlx, traditional). Errors: "convert-config" (a contradiction, a limit of
/// the loader, a number that nothing tells).
Result<Sizes> solve_sizes(const Family& family, const hf::Config& config, u64 n_layer, std::span<const ShapeFact> facts,
                          Sizes sizes);

/// The size that config.json states for a row, if it is at most largest_size(): whoever counts up to a size of
/// config.json takes it from here.
std::optional<u64> stated_size(const hf::Config& config, const Key& key);

/// The first size that config.json states and that is more than largest_size(). Error "convert-config".
Status check_stated_sizes(const Family& family, const hf::Config& config);

/// What config.json alone says of the sizes of a family: fields and what can be derived of them; no fallbacks. What is
/// out of bounds counts as not stated.
Sizes stated_sizes(const Family& family, const hf::Config& config);

/// Fields of config.json that say how many blocks for predicting further tokens the model was published with.
inline constexpr std::string_view prediction_fields =
    "num_nextn_predict_layers|mtp_num_hidden_layers|num_mtp_modules|num_mtp_layers|mtp_num_layers";

/// Is `canonical` a tensor of a layer behind the last one, which serves to predict several tokens at once? Only models
/// that state how many such layers they have are given any.
bool is_prediction_layer(const Names& names, const hf::Config& config, std::string_view canonical);

/// The field of "a|b" that config.json has, or the first.
std::string_view stated_field(const hf::Config& config, std::string_view fields);

}  // namespace modelutils::arch
