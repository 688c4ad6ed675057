#include "rules/imatrix/rules.h"

#include <fmt/core.h>

#include "base/error.h"

namespace modelutils {

Result<CheckedModel> check_imatrix(const Model& model, unsigned /*threads*/) {
  const quantize::ImportanceMatrix& matrix = *model.importance;
  CheckedModel checked;
  checked.format_text = "importance matrix";
  checked.catalog = model.catalog();
  for (const quantize::ImportanceEntry& entry : matrix.entries()) {
    if (entry.never_used() == 0) continue;
    checked.findings.warning(
        Scope::model, "imatrix-calls",
        fmt::format("the number of calls is {}: its values are used as weights unchanged", entry.counts.front()),
        at_tensor(entry.name), entry.record_offset);
  }
  return checked;
}

}  // namespace modelutils
