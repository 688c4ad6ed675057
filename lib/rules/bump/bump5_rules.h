// The parts of verify's rules for BUMPWGT4 and BUMPWGT5 weights: the embedded tokenizer, and the texts that accompany
// the weights (metadata, manifest, map, config.json). Source of the rules: docs/formats/bump5.md.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/log.h"
#include "formats/bump/bump5_layout.h"
#include "io/model_folder.h"
#include "json/reader.h"
#include "model/model.h"

namespace modelutils {

/// An element of the manifest's `entries`.
struct Bump5ManifestEntry {
  std::string_view name;  ///< views into the manifest
  std::string_view dtype;
  u64 offset = 0;
  u64 size = 0;
};

/// The companion texts that could be read.
struct Bump5Companions {
  std::unique_ptr<json::Document> metadata;  ///< nullptr if absent or unreadable
  std::shared_ptr<json::Document> manifest;  ///< nullptr if absent or unreadable
  std::vector<Bump5ManifestEntry> entries;   ///< from the manifest
};

/// Reads metadata and manifest and checks each by itself: hashes, syntax, members, numbers against the header.
/// Findings: "bump-metadata", "bump-manifest", "bump-no-manifest". Errors: those of reading the weights.
Result<Bump5Companions> read_bump5_companions(const Bump5Model& model, const ModelFolder& folder, FindingLog& log);

/// Compares the manifest's entries and quant_summary with the payload ("bump-manifest", "bump-quant-summary"), and the
/// map beside it ("bump-map", "bump-no-map").
void check_bump5_entries(const Bump5Companions& companions, std::span<const bump5::Entry> entries, bool untied,
                         u32 version, FindingLog& log);
void check_bump5_map(const ModelFolder& folder, std::span<const bump5::Entry> entries, const bump5::Document& document,
                     FindingLog& log);

/// A number of the header and its key in the JSON texts.
struct Bump5Number {
  std::string_view key;
  u64 bump5::Header::*value;
};

/// Compares those of `numbers` that `object` has with the header. A finding's place is "WHAT KEY".
void compare_bump5_numbers(json::Element object, std::span<const Bump5Number> numbers, const bump5::Header& header,
                           std::string_view code, std::string_view what, std::string_view file, FindingLog& log);

/// Compares config.json with the header, the payload (`untied`: it has an output.weight) and the manifest's config
/// ("bump-config", "bump-no-config").
void check_bump5_config(const ModelFolder& folder, const bump5::Document& document, const Bump5Companions& companions,
                        bool untied, FindingLog& log);

/// Checks that offsets start at 0, increase and follow a NUL; that each text ends with a NUL; and that each merge joins
/// the texts of two ids into the text of the third. Finding: "bump-vocabulary". Errors: those of reading.
Status check_bump5_vocabulary(const ByteSource& source, std::span<const bump5::Entry> entries, FindingLog& log);

}  // namespace modelutils
