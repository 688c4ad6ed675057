// Quantising on behalf of gguf-quantize and mlx2gguf --type.
#pragma once

#include "cli/quantize_options.h"

namespace modelutils::cli {

/// Settles the types, quantises and shows the report ("json" or empty: for people). Gives the exit status.
int run_quantize(requantize::QuantizeRequest& request, const TypeArguments& types, std::string_view report_form,
                 const CommonOptions& common, const Messages& messages);

}  // namespace modelutils::cli
