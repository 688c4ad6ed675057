#include "rules/pytorch/rules.h"

#include "rules/safetensors/rules.h"

namespace modelutils {

Result<CheckedModel> check_pytorch(const Model& model, unsigned /*threads*/) {
  CheckedModel checked;
  checked.format_text = "PyTorch checkpoint";
  checked.findings = safetensors_container_rules(model.safetensors->set);
  checked.catalog = model.catalog();
  return checked;
}

}  // namespace modelutils
