// How MLX stores a quantised matrix: modes, bits, group sizes, and what config.json says of each module
// (docs/formats/mlx.md, "A quantised matrix").
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/finding_log.h"
#include "base/types.h"
#include "hf/config.h"
#include "tensor/types.h"

namespace modelutils::mlx {

enum class Mode : u8 { affine, mxfp4, nvfp4, mxfp8 };

/// The parameters of one quantised module. Element i of a row is bits [i × bits, (i + 1) × bits) of the row's
/// little-endian bit stream; `group_size` neighbours along the row share a scale (and, in affine mode, a bias).
struct Params {
  Mode mode = Mode::affine;
  u32 bits = 4;
  u32 group_size = 64;

  bool operator==(const Params&) const = default;
  /// Bytes of the packed codes of one group: group_size × bits / 8, a multiple of 4.
  u32 group_bytes() const { return group_size / 8 * bits; }
};

/// The facts about a mode: the one table.
struct ModeInfo {
  Mode mode;
  std::string_view name;  ///< as in config.json
  u32 default_group_size;
  u32 default_bits;
  bool has_biases;        ///< affine only
  bool fixed_parameters;  ///< the FP modes know only their default group size and bits; their scales are U8
};
const ModeInfo& mode_info(Mode mode);
inline std::string_view mode_name(Mode mode) {
  return mode_info(mode).name;
}
std::optional<Mode> mode_from_name(std::string_view name);
/// The defaults of a mode: affine 4 bits, group 64; mxfp4 4/32; nvfp4 4/16; mxfp8 8/32.
Params default_params(Mode mode);

/// Can these parameters exist? bits 2, 3, 4, 5, 6 or 8 (the FP modes: their own), group size a multiple of 8 that fills
/// whole 32-bit words and is at most 1024 (the FP modes: their own). Nothing if so, else what is wrong.
std::optional<std::string> params_problem(Mode mode, i64 bits, i64 group_size);

/// May scales (biases) of this mode have this type? Affine: F16, BF16, F32; otherwise U8.
bool is_scale_type(Mode mode, TensorType type);

/// What config.json says about quantisation.
struct Quantization {
  /// What an entry for one module says.
  enum class Rule : u8 { off, on, params, invalid };
  struct Override {
    Rule rule = Rule::invalid;
    Params params;  ///< for Rule::params
  };

  bool declared = false;       ///< config.json has MLX quantisation settings (an object)
  std::optional<Params> top;   ///< the top-level values; nothing if not declared or not valid
  std::string foreign_method;  ///< quant_method of a method that is not MLX's ("gptq", …); else empty
  /// By module path, without any "language_model.".
  std::map<std::string, Override, std::less<>> overrides;
  /// Hugging Face's own MXFP4 (quant_method "mxfp4"): "P_blocks" U8 [..., out, groups, 16] hold the same bits as MLX's
  /// packed words, "P_scales" U8 [..., out, groups].
  bool has_blocks = false;
  FindingLog findings;  ///< scope model: "mlx-config-quantization", "mlx-config-override"

  const Override* find_override(std::string_view module) const;
  /// The parameters that hold for a module which has scales; nothing if the config gives none (or `false`, or
  /// nonsense).
  std::optional<Params> params_for(std::string_view module) const;
};

/// Reads `quantization` (else a `quantization_config` without quant_method) of a config.
Quantization read_quantization(const hf::Config& config);

/// The logical shape […, out, in] of a weight […, out, words] with scales […, out, groups], shapes in safetensors
/// order. Errors: "mlx-scales-shape" if the leading dimensions differ, or words × 32 / bits is not groups × group_size.
Result<std::vector<u64>> logical_shape(const Params& params, std::span<const u64> weight, std::span<const u64> scales);

}  // namespace modelutils::mlx
