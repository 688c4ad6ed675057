// Rope settings of a config.json in the runtime's terms: bases, keys, and the tensors that carry factors.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "arch/family.h"
#include "base/error.h"
#include "hf/config.h"

namespace modelutils::arch {

/// rope_theta, or the default of the model class (of mlx-lm's for a directory that MLX wrote).
double rope_theta(const Family& family, const hf::Config& config, bool is_mlx);

/// original_max_position_embeddings: of the scaling object, else of the top level.
std::optional<u64> original_context(const hf::Config& config);

/// rope.scaling.* of yarn without its magnitudes.
Status write_yarn_keys(KeyWriter& out, const hf::RopeScaling& scaling);

/// What yarn scales queries and keys by: 1 + 0.1 mscale ln(factor), 1 for factors up to 1.
double yarn_magnitude(double factor, double mscale);
/// The same of a config.json: mlx-lm takes mscale (1) over mscale_all_dim (0); Hugging Face's classes take
/// attention_factor, else both of the others, else mscale 1.
double yarn_magnitude(const hf::RopeScaling& scaling, bool is_mlx);

/// Phi-3's longrope: the factor that its tensors do not carry, in `rope.scaling.attn_factor`.
Status write_phi3_rope_scaling(KeyWriter& out, const Key& key);

/// rope.freq_base of models that stretch it for longer contexts: theta × alpha^(D / (D - 2)), where the scaling object
/// has an alpha ("dynamic" scaling of Hunyuan).
Status write_stretched_theta(KeyWriter& out, const Key& key);
/// rope.scaling.* of the same models: nothing where alpha has used up the scaling.
Status write_scaling_besides_alpha(KeyWriter& out, const Key& key);

/// rope.dimension_sections: how many pairs of a head follow the time, height and width of an image, from the scaling
/// object's mrope_section; without it all follow the time. Text has the same position in all of them.
Status write_rope_sections(KeyWriter& out, const Key& key);

/// The same where time, height and width take turns (Qwen3-VL). Such a runtime gives pairs that no section covers the
/// fourth position, which is 0 for text, so a config.json without the list gets sections that cover every pair: those
/// of the model's class (24, 20, 20 of 64 pairs), of other heads thirds.
Status write_interleaved_sections(KeyWriter& out, const Key& key);

/// rope.scaling.* of models with sections, whose scaling object may call itself "mrope".
Status write_scaling_besides_sections(KeyWriter& out, const Key& key);

/// Does a row of the family generate such a tensor?
bool has_generator(const Family& family, std::string_view generator);

/// The content of a tensor that a row generates ("=llama3", "=llama3-half" where only the first half of what
/// `rope.dimension_count` says is scaled, the other divisors being 1; "=longrope-long", "=longrope-short",
/// "=proportional"); nothing where the model has no such scaling. Errors "convert-rope": a wrong number of factors.
Result<std::optional<std::vector<float>>> generate(std::string_view generator, const Family& family,
                                                   const hf::Config& config, const Sizes& sizes, bool is_mlx);

/// Refuses a scaling by tensors for which the family has no row. Error "convert-rope".
Status check_rope_tensors(const Family& family, const hf::Config& config);

}  // namespace modelutils::arch
