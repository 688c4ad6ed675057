// How MLX stores a quantised matrix (modes, bits, group sizes, each module's settings in config.json) and its exact
// decoding to float32 (docs/formats/mlx.md, "A quantised matrix").
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "base/types.h"
#include "formats/hf/config.h"
#include "tensor/types.h"

namespace modelutils::mlx {

// Unpacks codes of any width, eight at a time.

/// Spreads eight codes of `bits` (2 … 8) bits, least significant first, to the eight bytes of a word. Ignores higher
/// bits of `stream`. Splits the stream into halves, quarters, and eighths in turn.
constexpr u64 spread_codes(u64 stream, u32 bits) {
  constexpr u64 ones = ~u64{0};
  const u64 half = ones >> (64 - 4 * bits);
  const u64 quarters = (ones >> (64 - 2 * bits)) * 0x0000000100000001u;
  const u64 eighths = (ones >> (64 - bits)) * 0x0001000100010001u;
  stream = (stream & half) | (stream >> (4 * bits) & half) << 32;
  stream = (stream & quarters) | (stream >> (2 * bits) & quarters) << 16;
  return (stream & eighths) | (stream >> bits & eighths) << 8;
}

enum class Mode : u8 { affine, mxfp4, nvfp4, mxfp8 };

/// The parameters of one quantised module. Element i of a row is bits [i × bits, (i + 1) × bits) of the row's
/// little-endian bit stream. `group_size` consecutive elements of a row share a scale (and, in affine mode, a bias).
struct Params {
  Mode mode = Mode::affine;
  u32 bits = 4;
  u32 group_size = 64;

  bool operator==(const Params&) const = default;
  /// Returns the size of one group's packed codes: group_size × bits / 8, a multiple of 4.
  u32 group_bytes() const { return group_size / 8 * bits; }
};

/// The properties of a mode. mode_info() is the only table of them.
struct ModeInfo {
  Mode mode;
  std::string_view name;  ///< as in config.json
  u32 default_group_size;
  u32 default_bits;
  bool has_biases;        ///< affine only
  bool fixed_parameters;  ///< FP modes: only the default group size and bits are valid; scales are U8
};
/// Returns the table's row for a mode.
const ModeInfo& mode_info(Mode mode);
inline std::string_view mode_name(Mode mode) {
  return mode_info(mode).name;
}
/// Returns the mode named in config.json; nullopt for unknown names.
std::optional<Mode> mode_from_name(std::string_view name);
/// Returns the defaults of a mode: affine 4 bits, group 64; mxfp4 4/32; nvfp4 4/16; mxfp8 8/32.
Params default_params(Mode mode);

/// Returns nullopt if the parameters are valid, else an explanation. Affine: 2, 3, 4, 5, 6 or 8 bits; a group size of
/// at most 1024 that is a multiple of 8 and fills whole 32-bit words. FP modes: only their defaults.
std::optional<std::string> params_problem(Mode mode, i64 bits, i64 group_size);

/// True if scales and biases of this mode may have this type. Affine: F16, BF16, F32; other modes: U8.
bool is_scale_type(Mode mode, TensorType type);

/// The quantisation settings of config.json.
struct Quantization {
  /// The kind of an entry for one module.
  enum class Rule : u8 { off, on, params, invalid };
  struct Override {
    Rule rule = Rule::invalid;
    Params params;  ///< for Rule::params
  };

  bool declared = false;       ///< config.json has MLX quantisation settings (an object)
  std::optional<Params> top;   ///< the top-level values; nullopt if not declared or invalid
  std::string foreign_method;  ///< quant_method if it names another method than MLX's ("gptq", …); else empty
  /// By module path, without the "language_model." prefix.
  std::map<std::string, Override, std::less<>> overrides;
  /// Hugging Face's own MXFP4 (quant_method "mxfp4"): "P_blocks" U8 [..., out, groups, 16] has the same bits as MLX's
  /// packed words; "P_scales" is U8 [..., out, groups].
  bool has_blocks = false;
  FindingLog findings;  ///< scope model: "mlx-config-quantization", "mlx-config-override"

  /// Returns the settings of one module; nullptr if config.json has none for it.
  const Override* find_override(std::string_view module) const;
  /// Returns the parameters of a module that has scales; nullopt if the config has none for it, `false` or an invalid
  /// value.
  std::optional<Params> params_for(std::string_view module) const;
};

/// Reads `quantization` of a config, or a `quantization_config` without quant_method.
Quantization read_quantization(const hf::Config& config);

/// Returns the logical shape […, out, in] of a weight […, out, words] with scales […, out, groups], in safetensors
/// order. Error: "mlx-scales-shape" if the leading dimensions differ, or words × 32 / bits is not groups × group_size.
Result<std::vector<u64>> logical_shape(const Params& params, std::span<const u64> weight, std::span<const u64> scales);

// Exact decoding of MLX's packed matrices to float32 (docs/formats/mlx.md, "A quantised matrix").

/// A run of whole groups, at any alignment.
struct Groups {
  Bytes codes;  ///< groups × params.group_bytes()
  TensorType scale_type = TensorType::F16;
  Bytes scales;                            ///< one scale per group
  TensorType bias_type = TensorType::F16;  ///< affine only
  Bytes biases;                            ///< one bias per group; empty in the other modes
};

/// Decodes out.size() / group_size groups: scale × q + bias in float32 for affine mode (product and sum each rounded
/// once), scale × element for the FP modes. Special codes as in MLX: E8M0 0 is 2^-127 and 255 is Inf; E4M3 0x7F is 480.
/// Preconditions: sizes agree, params_problem() is nullopt, is_scale_type().
void dequantize(const Params& params, const Groups& groups, std::span<float> out);

/// Unpacks `out.size()` codes of `bits` bits from a little-endian bit stream. All widths are packed like this.
void unpack_codes(u32 bits, Bytes packed, std::span<u8> out);

/// MLX's E8M0: bits << 7 as a bf16, 0 as 2^-127.
float e8m0_to_f32(u8 bits);
/// MLX's E4M3: 0x7F is 480, 0xFF is -480, no NaN.
float e4m3_to_f32(u8 bits);

}  // namespace modelutils::mlx
