// gguf2bump: plans from the headers, refuses what cannot be converted, then streams. Source: docs/formats/bump.md,
// docs/formats/bump5.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "arch/rope.h"
#include "convert/to_bump/bump5_mapping.h"
#include "convert/to_bump/mapping.h"
#include "formats/bump/header.h"
#include "formats/gguf/split_set.h"
#include "io/atomic_output.h"
#include "io/standard_output.h"

namespace modelutils {

struct GgufToBumpReport;

struct GgufToBumpOptions {
  std::string input;  ///< a GGUF file, or a part of a split model
  /// "-" is standard output; may be absent in a dry run. For BUMPWGT5 it may be a folder.
  std::optional<std::string> output;
  std::optional<std::string> config;  ///< default: config.json next to a regular output file
  bool no_config = false;
  std::optional<std::string> manifest;  ///< for BUMPWGT5 the engine's manifest, next to the weights by default
  BumpRequest request;
  OutsideLinks links = OutsideLinks::refuse;  ///< policy for symbolic links out of a split model's folder
  bool force = false;
  bool dry_run = false;
  /// Receives the finished report before the outputs get their final names. If it fails, no output appears.
  std::function<Status(const GgufToBumpReport&)> deliver;
};

/// The files that are (or would be) written.
struct BumpOutputPaths {
  std::optional<std::string> output, config, manifest;
  std::optional<std::string> map;         ///< BUMPWGT5
  std::optional<std::string> new_folder;  ///< the output's folder, created first; removed if nothing is written
};

/// The plan and, unless it was a dry run, the results.
struct GgufToBumpReport {
  std::vector<std::string> inputs;
  BumpOutputPaths paths;
  bool dry_run = false;
  BumpMapping mapping;                ///< BUMPWGT3
  std::optional<Bump5Mapping> bump5;  ///< BUMPWGT5; replaces `mapping`
  std::optional<Llama3Rope> rope;
  std::string config_text;         ///< empty with no_config or after a refusal
  std::vector<Error> refusals;     ///< if not empty, nothing was written
  std::vector<std::string> notes;  ///< remarks for the user; may contain raw text from the file
  bump::Numbering numbering = bump::Numbering::original;

  /// Returns the plan of either version.
  const BumpPlan& plan() const { return bump5 ? static_cast<const BumpPlan&>(*bump5) : mapping; }
  u64 file_size = 0;              ///< of the weights, including metadata
  bump::Digest sha256{};          ///< of the payload, as in the header
  std::optional<u64> disk_bytes;  ///< space used on disk, not counting holes
  double seconds = 0;
};

/// Converts. A report with refusals is a plan that cannot be carried out. Errors: an input that cannot be opened or is
/// broken, a source that changes while it is read ("gguf2bump-changed"), outputs that cannot be written, invalid
/// combinations of outputs (kind usage). After an error there are no files under the final names.
Result<GgufToBumpReport> convert_gguf_to_bump(const GgufToBumpOptions& options, Progress& progress);

}  // namespace modelutils
