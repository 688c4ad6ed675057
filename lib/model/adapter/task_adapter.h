// Adapters of tasks in a model's own directory (Jina v3): "X.parametrizations.weight.0.lora_A" has the factors of all
// tasks of config.json's lora_adaptations for the module X.
#pragma once

#include <string_view>

#include "arch/names.h"
#include "base/error.h"
#include "model/adapter/adapter.h"
#include "model/safetensors_model.h"

namespace modelutils::adapter {

/// Reads the headers of one task's factors, under the module names of `names`. The pair of the token types, which
/// llama.cpp would ignore, becomes part of the tokens' embedding. Precondition: model.config is set. Errors of kind
/// input: "adapter-config" (no such task, or an unusable alpha), "adapter-pair", "adapter-tensor", "adapter-merge" as
/// in read_adapter(), "st-offsets".
Result<Adapter> read_task(const SafetensorsModel& model, const arch::Names& names, std::string_view task);

}  // namespace modelutils::adapter
