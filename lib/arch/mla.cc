#include "arch/mla.h"

#include <cmath>

#include "arch/geometry.h"
#include "arch/key_writer.h"
#include "arch/rope.h"

namespace modelutils::arch {

std::optional<u64> mla_head(const hf::Config& config, const Sizes& sizes) {
  const auto plain = config.count_field("qk_nope_head_dim");
  const auto rotated = sizes.find(symbol::rotated);
  return plain && rotated ? std::optional(*plain + *rotated) : std::nullopt;
}

Status write_mla_rope_scaling(KeyWriter& out, const Key& key) {
  const std::optional<hf::RopeScaling>& scaling = out.config().rope.scaling;
  if (!scaling || scaling->type.find("yarn") == std::string::npos) return write_rope_scaling(out, key);
  MU_TRY(write_yarn_keys(out, *scaling));
  const double factor = scaling->factor.value_or(1);
  const double on_rotated = yarn_magnitude(*scaling, out.is_mlx());
  const double on_all = yarn_magnitude(factor, scaling->mscale_all_dim.value_or(0));
  const double per_multiplier = yarn_magnitude(factor, 1) - 1;
  const double multiplier = per_multiplier > 0 ? (on_all / on_rotated - 1) / per_multiplier : 0;
  const double fixed = multiplier == 0 ? yarn_magnitude(factor, 1) : 1;
  if (multiplier != 0) MU_TRY(out.real("rope.scaling.yarn_log_multiplier", 0.1 * multiplier));
  return std::abs(on_rotated - fixed) > 1e-6 ? out.real("rope.scaling.attn_factor", on_rotated / fixed) : Status{};
}

}  // namespace modelutils::arch
