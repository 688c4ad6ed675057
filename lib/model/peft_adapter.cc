#include "model/peft_adapter.h"

#include <fmt/core.h>

#include "json/reader.h"

namespace modelutils {

std::string PeftAdapter::text() const {
  std::string text = is_mlx ? "mlx-lm adapter" : "PEFT adapter";
  if (!method.empty()) text += ", " + method;
  if (rank) text += fmt::format(", rank {}", *rank);
  if (alpha) text += fmt::format(", alpha {}", *alpha);
  if (!base_model.empty()) text += ", of " + base_model;
  return text;
}

std::optional<PeftAdapter> peft_adapter(const ModelFolder& folder) {
  if (is_present(folder.file("config.json"))) return std::nullopt;
  const auto document = json::load_if_present(folder, "adapter_config.json");
  if (!document || *document == nullptr) return std::nullopt;
  const json::Element root = (*document)->root;
  PeftAdapter adapter;
  adapter.method = json::string_member(root, "peft_type").value_or("");
  adapter.rank = json::u64_member(root, "r");
  adapter.alpha = json::number_member(root, "lora_alpha");
  adapter.base_model = json::string_member(root, "base_model_name_or_path").value_or("");
  const auto parameters = json::member(root, "lora_parameters");
  if (!json::member(root, "peft_type") && (parameters || json::member(root, "fine_tune_type"))) {
    adapter.is_mlx = true;
    adapter.method = json::string_member(root, "fine_tune_type").value_or("lora");
    adapter.rank = parameters ? json::u64_member(*parameters, "rank") : std::nullopt;
    adapter.base_model = json::string_member(root, "model").value_or("");
  }
  return adapter;
}

}  // namespace modelutils
