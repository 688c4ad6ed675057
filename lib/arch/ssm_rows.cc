#include "arch/ssm_rows.h"

#include <fmt/core.h>

#include "arch/geometry.h"
#include "arch/key_writer.h"
#include "base/checked_math.h"

namespace modelutils::arch {

std::optional<u64> inner_width(const hf::Config& config, const Sizes& sizes) {
  const auto heads = config.count_field("mamba_num_heads|mamba_n_heads|num_heads");
  const auto width = config.count_field("mamba_head_dim|mamba_d_head|hidden_size_per_head|head_dim");
  if (heads && width) return checked_mul(*heads, *width);
  const auto expansion = config.count_field("mamba_expand|expand");
  return expansion ? checked_mul(*expansion, sizes.get(symbol::embedding)) : std::nullopt;
}

Status warn_of_groups(KeyWriter& out) {
  const u64 groups = out.size("Gs");
  if (groups > 1) {
    out.warn("n_groups", fmt::format("is {}: llama.cpp normalises each group by itself, mlx-lm all together", groups));
  }
  return {};
}

Status warn_of_time_step_limit(KeyWriter& out) {
  const auto found = out.config().field("time_step_limit");
  json::Array limits;
  if (!found || !found->get(limits) || limits.size() != 2) return {};
  double low = 0;
  double high = 0;
  if (!limits.at(0)->get(low) || !limits.at(1)->get(high)) return {};
  // Infinity is parsed as the largest number; no time step comes near a million.
  if (low > 0 || high < 1e6) out.warn("time_step_limit", "limits the time steps, which llama.cpp does not");
  return {};
}

}  // namespace modelutils::arch
