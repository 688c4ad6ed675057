// In a file of its own, since programs that only plan need no rules of GGUF.
#include "arch/prediction_rows.h"
#include "convert/to_gguf/plan.h"
#include "rules/gguf/loader_rules.h"
#include "rules/gguf/rules.h"

namespace modelutils::to_gguf {

Status check_plan(const GgufPlan& plan, bool with_vocabulary) {
  const gguf::SplitSet& set = *plan.target.gguf;
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
