#include "rules/pytorch/rules.h"

#include "model/safetensors_catalog.h"
#include "rules/safetensors/rules.h"

namespace modelutils {

Result<CheckedModel> check_pytorch(const Model& model, unsigned /*threads*/) {
  CheckedModel checked;
  checked.format_text = "PyTorch checkpoint";
  checked.findings = safetensors_container_rules(model.safetensors->set);
  checked.catalog = safetensors_catalog(model.safetensors->set);
  checked.catalog.format = format_info(Format::pytorch).name;
  return checked;
}

}  // namespace modelutils
