// Recognises directories of PEFT and mlx-lm: an adapter_config.json next to an adapter's weights.
#pragma once

#include <optional>
#include <string>

#include "io/model_folder.h"

namespace modelutils {

/// The fields of adapter_config.json; empty if absent.
struct PeftAdapter {
  bool is_mlx = false;  ///< mlx-lm's adapter: it has fine_tune_type instead of peft_type
  std::string method;   ///< peft_type: "LORA", "IA3" …; fine_tune_type: "lora", "dora"
  std::optional<u64> rank;
  std::optional<double> alpha;
  std::string base_model;  ///< base_model_name_or_path, model

  /// Returns a description: "PEFT adapter, LORA, rank 8, alpha 16, of org/base", "mlx-lm adapter, lora, rank 8, of
  /// org/base".
  std::string text() const;
};

/// Returns nullopt if the folder has no readable adapter_config.json, or has a config.json, which makes it a model.
std::optional<PeftAdapter> peft_adapter(const ModelFolder& folder);

}  // namespace modelutils
