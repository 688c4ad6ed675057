// What verify says of a BUMPWGT3 file. Source of the rules: docs/formats/bump.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/finding_log.h"
#include "bump/document.h"
#include "verify/formats.h"
#include "verify/manifest.h"

namespace modelutils {

/// Header, dtype table, exact size, reserved bytes, config.json beside the file, and always the payload's checksum.
Result<CheckedModel> check_bump(const Model& model);

/// Compares header and dtype table with what gguf2bump's manifest records of them, naming field and entry; where the
/// file cannot be laid out by itself, the manifest's places of the entries make up the catalog.
void check_bump_manifest(const Model& model, const Manifest& manifest, CheckedModel& checked);

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
