// Quantises a model, for gguf-quantize and mlx2gguf --type.
#pragma once

#include "cli/quantize_options.h"

namespace modelutils::cli {

/// Chooses the types, quantises, and prints the report: JSON if `report_form` is "json", text if empty. Returns the
/// exit status.
int run_quantize(requantize::QuantizeRequest& request, const TypeArguments& types, std::string_view report_form,
                 const CommonOptions& common, const Messages& messages);

}  // namespace modelutils::cli
