// The texts that belong to BUMPWGT5 weights, against the weights: metadata, manifest, map, config.json. Source of the
// rules: docs/formats/bump5.md.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/finding_log.h"
#include "bump/bump5_parse.h"
#include "io/model_folder.h"
#include "json/reader.h"
#include "model/model.h"

namespace modelutils {

/// A member of the manifest's `entries`.
struct Bump5ManifestEntry {
  std::string_view name;  ///< views into the manifest
  std::string_view dtype;
  u64 offset = 0;
  u64 size = 0;
};

/// What was read of the companions.
struct Bump5Companions {
  std::unique_ptr<json::Document> metadata;  ///< nullptr: none, or it cannot be read
  std::shared_ptr<json::Document> manifest;  ///< the same
  std::vector<Bump5ManifestEntry> entries;   ///< of the manifest
};

/// Reads and checks metadata and manifest by themselves: hashes, syntax, members, numbers against the header. Errors:
/// reading the weights. Findings: "bump-metadata", "bump-manifest", "bump-no-manifest".
Result<Bump5Companions> read_bump5_companions(const Bump5Model& model, const ModelFolder& folder, FindingLog& log);

/// The manifest's entries and quant_summary against those of the payload ("bump-manifest", "bump-quant-summary"), and
/// the map next to it ("bump-map", "bump-no-map").
void check_bump5_entries(const Bump5Companions& companions, std::span<const bump5::Entry> entries, bool untied,
                         u32 version, FindingLog& log);
void check_bump5_map(const ModelFolder& folder, std::span<const bump5::Entry> entries, const bump5::Document& document,
                     FindingLog& log);

}  // namespace modelutils
