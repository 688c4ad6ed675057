// Converts the rope settings of a config.json to GGUF: bases, keys, and tensors of factors.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "arch/family.h"
#include "base/error.h"
#include "base/types.h"
#include "formats/hf/config.h"

namespace modelutils {

// Computes llama3 rope scaling and its inverse, and longrope's attention factor. Source: docs/conversion.md ("Rope").

/// The parameters of rope type "llama3".
struct Llama3Rope {
  double factor = 8;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  double original_context = 8192;  ///< original_max_position_embeddings
};

/// Returns the n_rot / 2 divisors of the rotation angles as float32, the content of rope_freqs.weight.
std::vector<float> llama3_rope_freqs(double theta, u64 n_rot, const Llama3Rope& parameters);

/// Finds parameters whose divisors equal `freqs` up to float32 rounding (a few units in the last place), among values
/// that published models use. Returns nullopt if none fit.
std::optional<Llama3Rope> find_llama3_rope(double theta, std::span<const float> freqs);

/// Returns the attention factor of phi3's longrope: sqrt(1 + ln(scale) / ln(original)) if scale = context / original >
/// 1, otherwise 1.
double longrope_attention_factor(double context, double original_context);

}  // namespace modelutils

namespace modelutils::arch {

/// Returns rope_theta, or the default of the model class (mlx-lm's for a directory written by MLX).
double rope_theta(const Family& family, const hf::Config& config, bool is_mlx);

/// Returns original_max_position_embeddings from the scaling object, or else from the top level.
std::optional<u64> original_context(const hf::Config& config);

/// Writes rope.scaling.* for yarn, except its magnitudes.
Status write_yarn_keys(KeyWriter& out, const hf::RopeScaling& scaling);

/// Returns yarn's factor for queries and keys: 1 + 0.1 mscale ln(factor), or 1 for factors up to 1.
double yarn_magnitude(double factor, double mscale);
/// Returns the factor for a config.json. mlx-lm uses mscale (default 1) over mscale_all_dim (default 0). Hugging Face's
/// classes use attention_factor, or both of the others, or mscale 1.
double yarn_magnitude(const hf::RopeScaling& scaling, bool is_mlx);

/// Writes `rope.scaling.attn_factor` for Phi-3's longrope, whose other factors are tensors.
Status write_phi3_rope_scaling(KeyWriter& out, const Key& key);

/// Writes rope.freq_base for models that stretch it for longer contexts: theta × alpha^(D / (D - 2)) if the scaling
/// object has an alpha (Hunyuan's "dynamic" scaling).
Status write_stretched_theta(KeyWriter& out, const Key& key);
/// Writes rope.scaling.* for the same models; nothing if alpha already accounts for the scaling.
Status write_scaling_besides_alpha(KeyWriter& out, const Key& key);

/// Writes rope.dimension_sections: how many pairs of a head follow an image's time, height and width, from
/// mrope_section in the scaling object. Without it, all pairs follow time. For text all positions are equal.
Status write_rope_sections(KeyWriter& out, const Key& key);

/// Like write_rope_sections(), for models that interleave time, height and width (Qwen3-VL). llama.cpp gives pairs
/// outside the sections the fourth position, which is 0 for text. So without a list in config.json, the sections must
/// cover every pair: those of the model's class (24, 20, 20 for 64 pairs), or thirds for other head sizes.
Status write_interleaved_sections(KeyWriter& out, const Key& key);

/// Writes rope.scaling.* for models with sections, whose scaling type may be "mrope".
Status write_scaling_besides_sections(KeyWriter& out, const Key& key);

/// True if a row of the family generates tensors with this generator ("=llama3").
bool has_generator(const Family& family, std::string_view generator);

/// Returns the values of a tensor that a row generates, or nullopt if the model has no such scaling. Generators:
/// "=llama3"; "=llama3-half", which only scales the first half of the angles in `rope.dimension_count`, with divisors
/// of 1 for the rest; "=longrope-long", "=longrope-short", "=proportional". Error "convert-rope": a wrong number of
/// factors.
Result<std::optional<std::vector<float>>> generate(std::string_view generator, const Family& family,
                                                   const hf::Config& config, const Sizes& sizes, bool is_mlx);

/// Refuses a scaling that needs a tensor for which the family has no row. Error "convert-rope".
Status check_rope_tensors(const Family& family, const hf::Config& config);

}  // namespace modelutils::arch
