// The parts of what verify says of BUMPWGT4 and BUMPWGT5 weights: the tokenizer in them, and the texts that belong to
// them (metadata, manifest, map, config.json) against them. Source of the rules: docs/formats/bump5.md.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
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

/// A number that the header has, too, by its key in JSON.
struct Bump5Number {
  std::string_view key;
  u64 bump5::Header::*value;
};

/// The numbers that `object` has, against the header. A finding's place is "WHAT KEY".
void compare_bump5_numbers(json::Element object, std::span<const Bump5Number> numbers, const bump5::Header& header,
                           std::string_view code, std::string_view what, std::string_view file, FindingLog& log);

/// config.json against the header, the payload (`untied`: it has an output.weight) and the manifest's config
/// ("bump-config", "bump-no-config").
void check_bump5_config(const ModelFolder& folder, const bump5::Document& document, const Bump5Companions& companions,
                        bool untied, FindingLog& log);

/// Offsets that rise from 0 and follow a NUL, texts that end with one, merges of ids whose texts joined are the
/// third's: "bump-vocabulary". Errors: reading.
Status check_bump5_vocabulary(const ByteSource& source, std::span<const bump5::Entry> entries, FindingLog& log);

}  // namespace modelutils
