// gguf2bump: plan from the headers, refuse everything that must be refused, then stream. Source: docs/formats/bump.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arch/rope_scaling.h"
#include "bump/header.h"
#include "gguf/split_set.h"
#include "io/atomic_output.h"
#include "io/progress.h"
#include "plan/bump_mapping.h"

namespace modelutils {

struct GgufToBumpOptions {
  std::string input;                  ///< a GGUF file, or one of a split model
  std::optional<std::string> output;  ///< "-" is standard output; may be absent with dry_run
  std::optional<std::string> config;  ///< default: config.json beside a regular output file
  bool no_config = false;
  std::optional<std::string> manifest;
  BumpRequest request;
  OutsideLinks links = OutsideLinks::refuse;  ///< symbolic links out of a split model's folder: a note, or none
  bool force = false;
  bool dry_run = false;
};

/// The plan and, unless it was a dry run, what was made of it.
struct GgufToBumpReport {
  std::vector<std::string> inputs;
  std::optional<std::string> output, config, manifest;  ///< files that are (or would be) written
  bool dry_run = false;
  BumpMapping mapping;
  std::optional<Llama3Rope> rope;
  std::string config_text;         ///< empty with no_config or after a refusal
  std::vector<Error> refusals;     ///< not empty: nothing was written
  std::vector<std::string> notes;  ///< remarks for the user, raw file text possible
  bump::Numbering numbering = bump::Numbering::original;

  bump::Digest sha256{};          ///< of the payload, as in the header
  std::optional<u64> disk_bytes;  ///< what the file takes on the disk: holes are not counted
  double seconds = 0;
};

/// Converts. A report with refusals is a plan that cannot be carried out. Errors: input that cannot be opened or is
/// broken, a source that changes while it is read ("gguf2bump-changed"), outputs that cannot be written, wrong
/// combinations of outputs (kind usage). After an error nothing is left under the final names.
Result<GgufToBumpReport> convert_gguf_to_bump(const GgufToBumpOptions& options, Progress& progress);

}  // namespace modelutils
