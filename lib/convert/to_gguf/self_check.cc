// A separate file, since programs that only plan need no rules for GGUF.
#include "arch/prediction_rows.h"
#include "convert/to_gguf/plan.h"
#include "rules/gguf/component_rules.h"
#include "rules/gguf/image_rules.h"
#include "rules/gguf/loader_rules.h"
#include "rules/gguf/rules.h"

namespace modelutils::to_gguf {

namespace {

// Adds what llama.cpp does otherwise with a projector, although it loads it, in terms of the directory.
void add_warnings(const FindingLog& log, TransferReport& report) {
  for (Finding finding : log) {
    if (finding.severity != Severity::warning) continue;
    for (const TensorReport& tensor : report.tensors) {
      if (finding.where != at_tensor(tensor.name).text()) continue;
      finding.where = at_tensor(tensor.source);
      break;
    }
    finding.offset = {};
    report.remarks.add(std::move(finding));
  }
}

}  // namespace

Status check_plan(GgufPlan& plan, bool with_vocabulary) {
  const gguf::SplitSet& set = *plan.target.gguf;
  FindingLog log = gguf_structure_rules(set);
  if (plan.image) {
    log.add_all(image_findings(set));
  } else if (!plan.own_keys.empty()) {
    const FindingLog found = projector_findings(set);
    add_warnings(found, plan.report);
    log.add_all(found);
  } else if (!arch::is_prediction_alone(set)) {
    log.add_all(loader_findings(set, with_vocabulary));
  }
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
