// The command line of gguf2mlx.
#pragma once

#include "cli/command.h"
#include "convert/to_directory/gguf_to_mlx.h"

namespace modelutils::cli {

struct Gguf2mlxArguments {
  to_directory::GgufToMlxOptions convert;
  std::optional<u64> shard_size;
  std::string fallback, scales = "auto", dequantize, dtype, report;
  std::string base, adapter;
  bool follow_links = false;

  /// Converts the strings above and stores the results in `convert`.
  void settle();
};

/// Defines all flags. parse() fills `arguments`, which must outlive the command.
Command gguf2mlx_command(Gguf2mlxArguments& arguments);

}  // namespace modelutils::cli
