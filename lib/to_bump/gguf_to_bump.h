// gguf2bump: plan from the headers, refuse everything that must be refused, then stream. Source: docs/formats/bump.md,
// docs/formats/bump5.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "arch/rope_scaling.h"
#include "bump/header.h"
#include "gguf/split_set.h"
#include "io/atomic_output.h"
#include "io/progress.h"
#include "to_bump/bump5_mapping.h"
#include "to_bump/mapping.h"

namespace modelutils {

struct GgufToBumpReport;

struct GgufToBumpOptions {
  std::string input;  ///< a GGUF file, or one of a split model
  /// "-" is standard output; may be absent with dry_run. For BUMPWGT5 also a folder.
  std::optional<std::string> output;
  std::optional<std::string> config;  ///< default: config.json beside a regular output file
  bool no_config = false;
  std::optional<std::string> manifest;  ///< for BUMPWGT5 the engine's own, next to the weights unless given
  BumpRequest request;
  OutsideLinks links = OutsideLinks::refuse;  ///< symbolic links out of a split model's folder: a note, or none
  bool force = false;
  bool dry_run = false;
  /// Gets the finished report before the outputs have their names: where it fails, none appears.
  std::function<Status(const GgufToBumpReport&)> deliver;
};

/// Files that are (or would be) written.
struct BumpOutputPaths {
  std::optional<std::string> output, config, manifest;
  std::optional<std::string> map;         ///< BUMPWGT5
  std::optional<std::string> new_folder;  ///< of the output; made before, and removed if nothing is written
};

/// The plan and, unless it was a dry run, what was made of it.
struct GgufToBumpReport {
  std::vector<std::string> inputs;
  BumpOutputPaths paths;
  bool dry_run = false;
  BumpMapping mapping;                ///< BUMPWGT3
  std::optional<Bump5Mapping> bump5;  ///< BUMPWGT5, instead of it
  std::optional<Llama3Rope> rope;
  std::string config_text;         ///< empty with no_config or after a refusal
  std::vector<Error> refusals;     ///< not empty: nothing was written
  std::vector<std::string> notes;  ///< remarks for the user, raw file text possible
  bump::Numbering numbering = bump::Numbering::original;

  /// Of whichever version it is.
  const BumpPlan& plan() const { return bump5 ? static_cast<const BumpPlan&>(*bump5) : mapping; }
  u64 file_size = 0;              ///< of the weights, metadata included
  bump::Digest sha256{};          ///< of the payload, as in the header
  std::optional<u64> disk_bytes;  ///< what the file takes on the disk: holes are not counted
  double seconds = 0;
};

/// Converts. A report with refusals is a plan that cannot be carried out. Errors: input that cannot be opened or is
/// broken, a source that changes while it is read ("gguf2bump-changed"), outputs that cannot be written, wrong
/// combinations of outputs (kind usage). After an error nothing is left under the final names.
Result<GgufToBumpReport> convert_gguf_to_bump(const GgufToBumpOptions& options, Progress& progress);

}  // namespace modelutils
