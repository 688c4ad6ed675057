#include <fmt/core.h>

#include "base/text.h"
#include "edit/safetensors/edited_set.h"
#include "rules/norm_means.h"

namespace modelutils::to_safetensors {

Status shift_norms(EditedSet& set) {
  const std::vector<ShiftedNorms> groups = shifted_norms(set.model, set.model.catalog());
  if (groups.empty()) {
    return input_error("edit-norms", "--shift-norms: verify --data finds no norms that are shifted", {}, {},
                       set.report.input);
  }
  const std::vector<std::size_t> places = set.places();
  for (const ShiftedNorms& group : groups) {
    std::string first;
    u64 changed = 0;
    for (const std::size_t norm : group.tensors) {
      if (places[norm] == no_place) continue;
      EditedTensor& tensor = set.tensors[places[norm]];
      tensor.operation = arch::Operation::add;
      tensor.operand = group.shift;
      if (changed++ == 0) first = tensor.name;
    }
    set.report.changes.push_back(fmt::format(
        "{} of {} ({}…): mean {:.2f} → {:.2f}", group.shift > 0 ? "1 added to the gains" : "1 taken from the gains",
        counted(changed, "norm"), first, group.mean, group.mean + static_cast<double>(group.shift)));
  }
  return {};
}

}  // namespace modelutils::to_safetensors
