// The command line of mlx2gguf.
#pragma once

#include "cli/command.h"
#include "cli/quantize_options.h"
#include "convert/to_gguf/mlx_to_gguf.h"

namespace modelutils::cli {

struct Mlx2ggufArguments {
  to_gguf::MlxToGgufOptions convert;
  std::string fallback;  ///< empty for the default
  std::string report;
  TypeArguments types;
  std::string mtp;
  std::string base;  ///< the base model of an adapter
  std::string task;  ///< the task whose adapter is written, of a model with one per task
  std::vector<std::string> adapters;
  bool follow_links = false;
  bool rerank = false, no_rerank = false;
};

/// Defines all flags. parse() fills `arguments`, which must outlive the command.
Command mlx2gguf_command(Mlx2ggufArguments& arguments);

}  // namespace modelutils::cli
