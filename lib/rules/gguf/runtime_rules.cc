// Checks the tensors of architectures that no directory converts to against those llama.cpp's loader asks for.
#include "arch/families/runtime_only.h"
#include "arch/names.h"
#include "gguf/keys.h"
#include "rules/gguf/loader_rules.h"

namespace modelutils {

namespace {

// Returns the weight that a factor belongs to (any weight may have one for its values or its input), or the name
// itself.
std::string weight_of(std::string_view name) {
  for (const std::string_view suffix : {".input_scale", ".scale"}) {
    if (name.ends_with(suffix)) return std::string(name.substr(0, name.size() - suffix.size())) + ".weight";
  }
  return std::string(name);
}

}  // namespace

FindingLog runtime_findings(const gguf::SplitSet& set) {
  FindingLog log;
  const gguf::Index keys(set.files.front().document);
  const std::string_view known = arch::runtime_tensors(keys.architecture());
  if (known.empty() || keys.string_value("general.type").value_or("model") != "model") return log;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      if (arch::has_runtime_tensor(known, weight_of(tensor.name))) continue;
      log.warning(Scope::model, "loader-tensor-extra",
                  "is not one that llama.cpp asks for in this architecture, so it refuses the whole file",
                  at_tensor(tensor.name));
    }
  }
  return log;
}

}  // namespace modelutils
