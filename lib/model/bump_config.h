// Reads the config.json next to a BUMPWGT3 file for the values that its header lacks. Source: docs/formats/bump.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/finding_log.h"
#include "bump/layout.h"

namespace modelutils {

/// A number that config.json states, and the BUMPWGT3 file's value if the header has the number too.
struct BumpConfigField {
  std::string_view key;
  u64 bump::Dimensions::*value;
};
std::span<const BumpConfigField> bump_config_fields();

/// The values of a config.json; fields that it lacks are empty.
struct BumpConfig {
  bump::Dimensions dimensions;  ///< 0 if not stated; aligned_* are never stated
  bool has_rope_scaling = false;
};
/// Reads the config.json beside the file; nullopt if there is none. An invalid one adds a finding and leaves all values
/// empty.
std::optional<BumpConfig> read_bump_config(const std::string& bump_path, FindingLog& log);

}  // namespace modelutils
