#include "verify/safetensors_rules.h"

#include "model/safetensors_catalog.h"
#include "safetensors/parse.h"
#include "verify/safetensors_rule_parts.h"

namespace modelutils {

FindingLog safetensors_container_rules(const safetensors::Document& document) {
  FindingLog log(document.findings);
  if (document.data_offset == 0) return log;  // not even the header could be found
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

bool recognises_safetensors(const PathProbe& probe) {
  if (probe.is_directory) return safetensors::is_model_folder(probe.path);
  return safetensors::is_index(probe.path, probe.head) || safetensors::is_safetensors(probe.head, probe.path);
}

Result<CheckedModel> check_safetensors(const PathProbe& probe) {
  MU_ASSIGN(safetensors::ShardSet set, safetensors::open_set(probe.path, probe.links));
  CheckedModel model;
  model.format_text = "safetensors";
  model.findings = safetensors_container_rules(set);
  // Nothing is looked up by name from here on: room for the catalog, in models of a million tensors.
  for (safetensors::ShardFile& file : set.files) file.document.names = {};
  model.catalog = safetensors_catalog(set);
  return model;
}

}  // namespace modelutils
