#include "arch/rope.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "arch/common_rows.h"
#include "arch/key_writer.h"
#include "arch/names.h"
#include "base/text.h"

namespace modelutils {

std::vector<float> llama3_rope_freqs(double theta, u64 n_rot, const Llama3Rope& p) {
  std::vector<float> freqs;
  freqs.reserve(static_cast<std::size_t>(n_rot / 2));
  for (u64 i = 0; i < n_rot / 2; ++i) {
    const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(n_rot));
    const double wavelength = 2.0 * std::numbers::pi / frequency;
    double divisor = p.factor;
    const double high = p.original_context / p.high_freq_factor, low = p.original_context / p.low_freq_factor;
    if (wavelength < high || (low == high && wavelength == low)) {  // with equal limits there is no interpolation
      divisor = 1;
    } else if (wavelength <= low) {
      const double smooth =
          (p.original_context / wavelength - p.low_freq_factor) / (p.high_freq_factor - p.low_freq_factor);
      divisor = 1.0 / ((1.0 - smooth) / p.factor + smooth);
    }
    freqs.push_back(static_cast<float>(divisor));
  }
  return freqs;
}

namespace {

// Converters compute in float32 or double. That changes interpolated divisors r by up to 4e-7 r²: the interpolation
// weight's error, magnified by taking the reciprocal.
bool is_rounding(float a, float b) {
  return std::abs(a - b) <= (1e-6f * b + 2 * std::numeric_limits<float>::epsilon()) * b;
}

}  // namespace

std::optional<Llama3Rope> find_llama3_rope(double theta, std::span<const float> freqs) {
  if (freqs.empty()) return std::nullopt;
  const float largest = *std::max_element(freqs.begin(), freqs.end());
  if (!(largest >= 1) || !std::isfinite(largest)) return std::nullopt;
  // With short heads or small bases no divisor reaches the factor itself, so try those of published models.
  constexpr double factors[] = {0, 8, 32, 16, 4, 2, 64};
  // If all angles are scaled alike, the other three parameters do not matter, so try the usual pair of limits first.
  constexpr std::pair<double, double> limits[] = {{1, 4}, {1, 2}, {1, 8}, {1, 16}, {1, 32}};
  constexpr double contexts[] = {8192,   4096,   2048,    1024, 16384, 32768, 65536, 131072,
                                 262144, 524288, 1048576, 512,  256,   128,   64,    32};
  for (const double factor : factors) {
    if (factor != 0 && factor <= static_cast<double>(largest)) continue;
    for (const auto& [low, high] : limits) {
      for (const double original : contexts) {
        const Llama3Rope candidate{factor == 0 ? static_cast<double>(largest) : factor, low, high, original};
        const std::vector<float> expected = llama3_rope_freqs(theta, 2 * freqs.size(), candidate);
        if (std::equal(freqs.begin(), freqs.end(), expected.begin(), is_rounding)) return candidate;
      }
    }
  }
  return std::nullopt;
}

double longrope_attention_factor(double context, double original_context) {
  const double scale = context / original_context;
  return scale > 1 ? std::sqrt(1 + std::log(scale) / std::log(original_context)) : 1;
}

}  // namespace modelutils

namespace modelutils::arch {

namespace {

bool is_longrope(const hf::RopeScaling& scaling) {
  return scaling.type == "longrope" || scaling.type == "su";
}

// Proportional rope: only the first pairs are rotated, with the angles they would have in a fully rotated head. The
// angles of the others are divided by a huge factor, so they are not rotated.
std::vector<float> proportional_factors(const hf::Config& config, u64 head) {
  constexpr float unrotated = 1e30f;
  const bool is_proportional = !config.rope.scaling || config.rope.scaling->type == "proportional";
  const double part = is_proportional ? config.partial_rotary_factor.value_or(config.rope.scaling ? 1 : 0.25) : 1;
  const double factor = is_proportional && config.rope.scaling ? config.rope.scaling->factor.value_or(1) : 1;
  std::vector<float> factors(static_cast<std::size_t>(head / 2), unrotated);
  const auto rotated = static_cast<std::size_t>((static_cast<u64>(part * static_cast<double>(head)) + 1) / 2);
  std::fill_n(factors.begin(), std::min(rotated, factors.size()), static_cast<float>(factor));
  return factors;
}

// True if the loader reads the key; such a key has a default.
bool is_read(const Family& family, std::string_view name) {
  const std::vector<const Key*> keys = keys_of(family);
  return std::any_of(keys.begin(), keys.end(),
                     [&](const Key* key) { return key->name == name && !key->loader_default.empty(); });
}

Status write_linear(KeyWriter& out, const hf::RopeScaling& scaling) {
  out.text("rope.scaling.type", "linear");
  if (!scaling.factor) return out.refuse("rope_scaling.factor", "is missing");
  return out.real("rope.scaling.factor", *scaling.factor);
}

// llama.cpp's own magnitude is that of mscale 1 divided by that of its log multiplier. attn_factor holds the remaining
// ratio.
Status write_yarn_magnitude(KeyWriter& out, const hf::RopeScaling& scaling, double log_multiplier) {
  const double wanted = yarn_magnitude(scaling, out.is_mlx());
  const double fixed = yarn_magnitude(*scaling.factor, 1) / yarn_magnitude(*scaling.factor, log_multiplier);
  return std::abs(wanted - fixed) > 1e-6 ? out.real("rope.scaling.attn_factor", wanted / fixed) : Status{};
}

}  // namespace

Status write_yarn_keys(KeyWriter& out, const hf::RopeScaling& scaling) {
  out.text("rope.scaling.type", "yarn");
  if (!scaling.factor) return out.refuse("rope_scaling.factor", "is missing");
  MU_TRY(out.real("rope.scaling.factor", *scaling.factor));
  const auto original = original_context(out.config());
  if (!original) return out.refuse("rope_scaling.original_max_position_embeddings", "is missing; yarn needs it");
  MU_TRY(out.count("rope.scaling.original_context_length", *original));
  if (scaling.extrapolation_factor) MU_TRY(out.real("rope.scaling.yarn_ext_factor", *scaling.extrapolation_factor));
  if (scaling.attention_factor) MU_TRY(out.real("rope.scaling.yarn_attn_factor", *scaling.attention_factor));
  if (scaling.beta_fast) MU_TRY(out.real("rope.scaling.yarn_beta_fast", *scaling.beta_fast));
  if (scaling.beta_slow) MU_TRY(out.real("rope.scaling.yarn_beta_slow", *scaling.beta_slow));
  if (!is_read(out.family(), "rope.scaling.yarn_beta_fast") &&
      (scaling.beta_fast.value_or(32) != 32 || scaling.beta_slow.value_or(1) != 1)) {
    out.warn("rope_scaling", fmt::format("has beta_fast {} and beta_slow {}; llama.cpp computes with 32 and 1",
                                         scaling.beta_fast.value_or(32), scaling.beta_slow.value_or(1)));
  }
  return {};
}

namespace {

Status write_yarn(KeyWriter& out, const hf::RopeScaling& scaling, double log_multiplier) {
  MU_TRY(write_yarn_keys(out, scaling));
  if (log_multiplier != 0) MU_TRY(out.real("rope.scaling.yarn_log_multiplier", log_multiplier));
  return write_yarn_magnitude(out, scaling, log_multiplier);
}

Status write_longrope(KeyWriter& out, const hf::RopeScaling& scaling) {
  out.text("rope.scaling.type", "longrope");
  if (out.is_mlx() && scaling.long_factor != scaling.short_factor) {
    out.warn("rope_scaling",
             "has different factors for short texts, which llama.cpp uses if the context is not longer than "
             "the original one; mlx-lm always uses those for long texts");
  }
  const auto original = original_context(out.config());
  if (!original) return {};
  MU_TRY(out.count("rope.scaling.original_context_length", *original));
  const double context = static_cast<double>(context_or_default(out));
  const double factor = longrope_attention_factor(context, static_cast<double>(*original));
  return factor == 1 ? Status{} : out.real("rope.scaling.attn_factor", factor);
}

}  // namespace

bool has_generator(const Family& family, std::string_view generator) {
  const auto rows = family.first_tensors;
  return std::any_of(rows.begin(), rows.end(), [&](const Tensor& row) { return generator_of(row) == generator; });
}

double rope_theta(const Family& family, const hf::Config& config, bool is_mlx) {
  return config.rope.theta.value_or(is_mlx ? family.mlx_rope_theta : family.hf_rope_theta);
}

double yarn_magnitude(double factor, double mscale) {
  return factor > 1 ? 0.1 * mscale * std::log(factor) + 1 : 1;
}

double yarn_magnitude(const hf::RopeScaling& scaling, bool is_mlx) {
  const double factor = scaling.factor.value_or(1);
  if (is_mlx)
    return yarn_magnitude(factor, scaling.mscale.value_or(1)) /
           yarn_magnitude(factor, scaling.mscale_all_dim.value_or(0));
  if (scaling.attention_factor) return *scaling.attention_factor;
  const bool both = scaling.mscale.value_or(0) != 0 && scaling.mscale_all_dim.value_or(0) != 0;
  return both ? yarn_magnitude(factor, *scaling.mscale) / yarn_magnitude(factor, *scaling.mscale_all_dim)
              : yarn_magnitude(factor, 1);
}

std::optional<u64> original_context(const hf::Config& config) {
  if (config.rope.scaling && config.rope.scaling->original_max_position_embeddings) {
    const double value = *config.rope.scaling->original_max_position_embeddings;
    if (value >= 1 && value <= 4294967295.0) return static_cast<u64>(value);
  }
  return config.u64_field("original_max_position_embeddings");
}

Status write_rope_scaling(KeyWriter& out, const Key&) {
  const std::optional<hf::RopeScaling>& scaling = out.config().rope.scaling;
  if (!scaling) return {};
  if (out.is_mlx() && !out.family().mlx_scales_rope && !scaling->type.empty()) {
    out.warn("rope_scaling", "is ignored by mlx-lm's class; llama.cpp applies it, like the published model");
  }
  if (scaling->type == "linear") return write_linear(out, *scaling);
  if (scaling->type == "yarn") return write_yarn(out, *scaling, 0);
  if (scaling->type == "llama3") return {};  // stored in rope_freqs.weight
  if (is_longrope(*scaling)) return write_longrope(out, *scaling);
  if (scaling->type.empty()) {
    out.warn("rope_scaling", "has no type, so no runtime applies it: left out");
  } else {
    out.warn("rope_scaling", fmt::format("is of type '{}', which a GGUF cannot express: it is left out, and the model "
                                         "is right only up to its original context",
                                         scaling->type));
  }
  return {};
}

Status write_rope_scaling_or_none(KeyWriter& out, const Key& key) {
  if (out.config().rope.scaling) return write_rope_scaling(out, key);
  out.text(key.name, "none");
  return {};
}

Status write_rope_scaling_with_log_multiplier(KeyWriter& out, const Key& key) {
  const std::optional<hf::RopeScaling>& scaling = out.config().rope.scaling;
  if (!scaling || scaling->type != "yarn") return write_rope_scaling(out, key);
  return write_yarn(out, *scaling, scaling->mscale_all_dim.value_or(0));
}

Status write_phi3_rope_scaling(KeyWriter& out, const Key& key) {
  const auto original = original_context(out.config());
  const std::optional<hf::RopeScaling>& scaling = out.config().rope.scaling;
  const bool has_factors = scaling && !scaling->long_factor.empty();
  const bool is_written_below = !has_factors && scaling && (scaling->type == "yarn" || is_longrope(*scaling));
  if (original && !is_written_below) MU_TRY(out.count("rope.scaling.original_context_length", *original));
  if (!has_factors) return write_rope_scaling(out, key);
  if (!original) return out.refuse("original_max_position_embeddings", "is missing; longrope needs it");
  const double context = static_cast<double>(context_or_default(out));
  const double scale = context / static_cast<double>(*original);
  const double factor = scaling->type == "yarn" ? (scale > 1 ? 0.1 * std::log(scale) + 1 : 1)
                                                : longrope_attention_factor(context, static_cast<double>(*original));
  MU_TRY(out.real("rope.scaling.attn_factor", factor));
  if (scaling->short_mscale || scaling->long_mscale) {
    out.warn("rope_scaling", "has short_mscale or long_mscale, which a GGUF cannot express: left out");
  }
  return {};
}

namespace {

std::optional<double> alpha_of(const hf::Config& config) {
  const std::optional<double> alpha = config.number_field("rope_parameters.alpha");
  return alpha ? alpha : config.number_field("rope_scaling.alpha");
}

}  // namespace

Status write_scaling_besides_alpha(KeyWriter& out, const Key& key) {
  return alpha_of(out.config()) ? Status{} : write_rope_scaling(out, key);
}

Status write_stretched_theta(KeyWriter& out, const Key& key) {
  const std::optional<double> alpha = alpha_of(out.config());
  const u64 head = out.size(symbol::head_dim);
  if (!alpha || head <= 2) return write_theta(out, key);
  const double theta = rope_theta(out.family(), out.config(), out.is_mlx());
  const double size = static_cast<double>(head);
  return out.real(key.name, theta * std::pow(*alpha, size / (size - 2)));
}

namespace {

constexpr std::size_t sections_wanted = 4;  // time, height, width, and an unused one

// Returns config.json's list, or an empty one if absent.
Result<std::vector<u64>> stated_sections(KeyWriter& out) {
  std::vector<u64> sections;
  for (const std::string_view field : {"rope_parameters.mrope_section", "rope_scaling.mrope_section",
                                       "rope_parameters.xdrope_section", "rope_scaling.xdrope_section"}) {
    const std::optional<json::Element> found = out.config().field(field);
    json::Array list;
    if (!sections.empty() || !found || !found->get(list)) continue;
    for (const json::Element one : list) {
      uint64_t section = 0;
      if (!one.get(section) || sections.size() == sections_wanted) {
        return out.refuse(field, "is not a list of 3 or 4 counts");
      }
      sections.push_back(section);
    }
    if (sections.size() < 3) return out.refuse(field, "is not a list of 3 or 4 counts");
  }
  return sections;
}

}  // namespace

Status write_interleaved_sections(KeyWriter& out, const Key& key) {
  MU_ASSIGN(std::vector<u64> sections, stated_sections(out));
  if (sections.empty()) {
    constexpr u64 usual_pairs = 64;
    const u64 pairs = out.size(symbol::rotated) / 2;
    const u64 third = (pairs + 2) / 3;
    sections = pairs == usual_pairs ? std::vector<u64>{24, 20, 20} : std::vector<u64>{third, third, third};
    out.remark(Severity::note, "mrope_section",
               fmt::format("is missing; {}, {}, {} are written, which cover every pair of a head", sections[0],
                           sections[1], sections[2]));
  }
  sections.resize(sections_wanted, 0);
  return out.counts(key.name, sections);
}

Status write_rope_sections(KeyWriter& out, const Key& key) {
  MU_ASSIGN(std::vector<u64> sections, stated_sections(out));
  if (sections.empty()) {
    out.remark(Severity::note, "mrope_section", "is missing; every pair of a head follows the first position");
    sections.push_back(out.size(symbol::rotated) / 2);
  }
  sections.resize(sections_wanted, 0);
  return out.counts(key.name, sections);
}

Status write_scaling_besides_sections(KeyWriter& out, const Key& key) {
  const std::optional<hf::RopeScaling>& scaling = out.config().rope.scaling;
  return scaling && (scaling->type == "mrope" || scaling->type.empty()) ? Status{} : write_rope_scaling(out, key);
}

Result<std::optional<std::vector<float>>> generate(std::string_view generator, const Family& family,
                                                   const hf::Config& config, const Sizes& sizes, bool is_mlx) {
  if (generator == "proportional") return proportional_factors(config, sizes.get(symbol::head_dim));
  if (!config.rope.scaling) return std::nullopt;
  const hf::RopeScaling& scaling = *config.rope.scaling;
  const u64 rotated = sizes.get(symbol::rotated);
  if (generator.starts_with("llama3") && scaling.type == "llama3") {
    Llama3Rope p;
    p.factor = scaling.factor.value_or(p.factor);
    p.low_freq_factor = scaling.low_freq_factor.value_or(p.low_freq_factor);
    p.high_freq_factor = scaling.high_freq_factor.value_or(p.high_freq_factor);
    p.original_context = scaling.original_max_position_embeddings.value_or(
        static_cast<double>(config.u64_field("original_max_position_embeddings").value_or(8192)));
    const double theta = rope_theta(family, config, is_mlx);
    if (generator == "llama3") return llama3_rope_freqs(theta, rotated, p);
    std::vector<float> freqs = llama3_rope_freqs(theta, rotated / 2, p);
    freqs.resize(static_cast<std::size_t>(rotated / 2), 1);
    return freqs;
  }
  if (!generator.starts_with("longrope") || !is_longrope(scaling)) return std::nullopt;
  const bool is_long = generator == "longrope-long";
  const std::vector<double>& factors = is_long ? scaling.long_factor : scaling.short_factor;
  if (factors.size() != rotated / 2) {
    return input_error("convert-rope",
                       fmt::format("has {} for rope_factors_{}.weight, but {} are needed",
                                   counted(factors.size(), "factor"), is_long ? "long" : "short", rotated / 2),
                       "rope_scaling", {}, config.path);
  }
  return std::vector<float>(factors.begin(), factors.end());
}

Status check_rope_tensors(const Family& family, const hf::Config& config) {
  if (!config.rope.scaling) return {};
  const hf::RopeScaling& scaling = *config.rope.scaling;
  if (scaling.type == "llama3" && !has_generator(family, "llama3") && !has_generator(family, "llama3-half")) {
    return input_error("convert-rope", "is of type llama3, which llama.cpp does not support for this architecture",
                       "rope_scaling", {}, config.path);
  }
  if (is_longrope(scaling) && !has_generator(family, "longrope-long")) {
    return input_error("convert-rope", "is of type longrope, which llama.cpp does not support for this architecture",
                       "rope_scaling", {}, config.path);
  }
  return {};
}

}  // namespace modelutils::arch
