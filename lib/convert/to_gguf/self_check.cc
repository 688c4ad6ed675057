#include "convert/to_gguf/self_check.h"

#include "arch/prediction_rows.h"
#include "convert/transfer/recipe.h"
#include "rules/gguf/loader_rules.h"
#include "rules/gguf/rules.h"

namespace modelutils::to_gguf {

Status check_plan(const GgufPlan& plan, bool with_vocabulary) {
  gguf::SplitSet set;
  for (const PlannedFile& file : plan.files) {
    MU_ASSIGN(gguf::SetFile planned, planned_file(file.layout, file.path));
    set.files.push_back(std::move(planned));
  }
  FindingLog log = gguf_structure_rules(set);
  if (!arch::is_prediction_alone(set)) log.add_all(loader_findings(set, with_vocabulary));
  if (const Finding* broken = first_error(log)) {
    Error error = *broken;
    error.kind = ErrorKind::internal;
    error.code = "convert-self-check";
    error.file = set.files.front().path;
    error.message += " [" + broken->code + "]";
    return tl::make_unexpected(std::move(error));
  }
  return {};
}

}  // namespace modelutils::to_gguf
