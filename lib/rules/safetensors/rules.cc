#include "rules/safetensors/rules.h"

#include "adapter/adapter.h"
#include "model/peft_adapter.h"
#include "rules/safetensors/rule_parts.h"

namespace modelutils {

namespace {

// Reports what would make mlx2gguf refuse the adapter itself. Does not judge methods other than LoRA.
void check_adapter(const SafetensorsModel& model, FindingLog& log) {
  const auto read = adapter::read_adapter(model.folder, model.set);
  if (read) return;
  Finding finding = without_path(read.error(), Scope::model);
  if (finding.code == "adapter-method") finding.severity = Severity::note;
  const bool is_of_container = finding.code.starts_with("st-") || finding.code.starts_with("pt-");
  if (!is_of_container) log.add(std::move(finding));  // those of the container are reported already
}

}  // namespace

FindingLog safetensors_container_rules(const safetensors::Document& document) {
  FindingLog log(document.findings);
  if (document.data_offset == 0) return log;  // the header was not found
  safetensors_rules::check_tensors(document, log);
  safetensors_rules::check_layout(document, log);
  return log;
}

FindingLog safetensors_container_rules(const safetensors::ShardSet& set) {
  const bool name_files = set.is_directory || !set.index_path.empty();
  FindingLog all(set.findings);
  for (const safetensors::ShardFile& file : set.files) {
    FindingLog log = safetensors_container_rules(file.document);
    if (name_files) log.set_file(file.base_name);
    all.add_all(std::move(log));
  }
  return all;
}

Findings safetensors_container_findings(const safetensors::ShardSet& set) {
  return safetensors_container_rules(set).findings();
}

Result<CheckedModel> check_safetensors(const Model& model, unsigned /*threads*/) {
  CheckedModel checked;
  const SafetensorsModel& opened = *model.safetensors;
  const std::optional<PeftAdapter> adapter =
      opened.set.is_directory ? peft_adapter(opened.folder) : std::optional<PeftAdapter>();
  checked.format_text = adapter ? adapter->text() : "safetensors";
  checked.findings = safetensors_container_rules(model.safetensors->set);
  if (opened.set.is_directory && adapter::is_adapter(opened.folder)) check_adapter(opened, checked.findings);
  checked.catalog = model.catalog();
  return checked;
}

}  // namespace modelutils
