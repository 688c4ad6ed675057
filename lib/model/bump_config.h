// The config.json next to a BUMPWGT3 file: what its header does not say. Source: docs/formats/bump.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/finding_log.h"
#include "bump/layout.h"

namespace modelutils {

/// A number that config.json and a BUMPWGT3 file, or only config.json, say.
struct BumpConfigField {
  std::string_view key;
  u64 bump::Dimensions::*value;
};
std::span<const BumpConfigField> bump_config_fields();

/// What config.json says, as far as it says it.
struct BumpConfig {
  bump::Dimensions dimensions;  ///< 0: not said; aligned_* never are
  bool has_rope_scaling = false;
};
/// Reads the config.json beside the file; nothing if there is none. A broken one is a finding, and says nothing.
std::optional<BumpConfig> read_bump_config(const std::string& bump_path, FindingLog& log);

}  // namespace modelutils
