// Checks the layout of the tensors against the layout that the files' metadata state.
#include <fmt/core.h>

#include "rules/directory/mlx_rule_parts.h"

namespace modelutils::mlx_rules {

void check_layout(const SafetensorsModel& model, FindingLog& log) {
  const StatedLayout layout = layout_of_tensors(model);
  if (layout.is_mixed()) {
    log.error(Scope::model, "hf-layout-mixed",
              fmt::format("has mlx-lm's layout, but '{}' has the published one, so the values of the other tensors "
                          "cannot be interpreted",
                          layout.as_published),
              at_tensor(layout.of_mlx));
    return;
  }
  if (!layout.has_any() || layout.is_mlx() == says_mlx(model)) return;
  log.note(Scope::model, "hf-layout-metadata",
           layout.is_mlx()
               ? "has mlx-lm's layout, although the files do not say that MLX wrote them; the tensors decide"
               : "has the published layout, although the files say that MLX wrote them; the tensors decide",
           at_tensor(layout.is_mlx() ? layout.of_mlx : layout.as_published));
}

}  // namespace modelutils::mlx_rules
