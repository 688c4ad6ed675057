// Directories of PEFT and mlx-lm: an adapter_config.json next to the weights of an adapter.
#pragma once

#include <optional>
#include <string>

#include "io/model_folder.h"

namespace modelutils {

/// What adapter_config.json says; empty where it does not.
struct PeftAdapter {
  bool is_mlx = false;  ///< mlx-lm's: it has no peft_type, but a fine_tune_type
  std::string method;   ///< peft_type: "LORA", "IA3" …; fine_tune_type: "lora", "dora"
  std::optional<u64> rank;
  std::optional<double> alpha;
  std::string base_model;  ///< base_model_name_or_path, model

  /// "PEFT adapter, LORA, rank 8, alpha 16, of org/base", "mlx-lm adapter, lora, rank 8, of org/base"
  std::string text() const;
};

/// Nothing if the folder has no adapter_config.json that can be read, or is a model's all the same (config.json).
std::optional<PeftAdapter> peft_adapter(const ModelFolder& folder);

}  // namespace modelutils
