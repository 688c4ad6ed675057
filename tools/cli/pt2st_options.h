// The flags of pt2st.
#pragma once

#include <string>

#include "cli/command.h"
#include "convert/to_safetensors/checkpoint_to_safetensors.h"

namespace modelutils::cli {

struct Pt2stArguments {
  to_safetensors::CheckpointOptions convert;
  std::optional<u64> shard_size;
  bool follow_links = false;
  std::string report;

  /// Stores the values of the flags in `convert`.
  void settle();
};

Command pt2st_command(Pt2stArguments& arguments);

}  // namespace modelutils::cli
