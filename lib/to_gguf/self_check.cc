#include "to_gguf/self_check.h"

#include "arch/prediction_block.h"
#include "gguf/parse.h"
#include "rules/gguf/loader_rules.h"
#include "rules/gguf/rules.h"
#include "transfer/planned_source.h"

namespace modelutils::to_gguf {

namespace {

Status check(std::vector<std::shared_ptr<ByteSource>> sources, bool with_vocabulary) {
  gguf::SplitSet set;
  for (std::shared_ptr<ByteSource>& source : sources) {
    MU_ASSIGN(gguf::Document document, gguf::parse(*source));
    set.files.push_back({source->name(), source, std::move(document)});
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

}  // namespace

Status check_plan(const GgufPlan& plan, bool with_vocabulary) {
  std::vector<std::shared_ptr<ByteSource>> sources;
  for (const PlannedFile& file : plan.files) {
    sources.push_back(std::make_shared<PlannedSource>(file.layout.header, file.layout.file_size, file.path));
  }
  return check(std::move(sources), with_vocabulary);
}

}  // namespace modelutils::to_gguf
