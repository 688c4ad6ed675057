// gguf-edit: keys, names and layout of a GGUF model changed; tensor data is copied or left where it is, never decoded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "edit/in_place.h"
#include "edit/layout.h"
#include "edit/operation.h"
#include "io/progress.h"

namespace modelutils::edit {

struct EditOptions {
  std::string model;
  std::string output;  ///< empty: none; "-" streams to standard output
  bool in_place = false;
  bool dry_run = false;
  bool force = false;
  std::vector<EditOperation> operations;
  SplitOptions split;
  std::optional<u64> reserve;
};

struct WrittenFile {
  std::string path;
  u64 bytes = 0;
  u64 tensors = 0;
};

/// What an edit does, or with dry_run would do.
struct EditPlan {
  Findings remarks;                    ///< rules that --force has overridden, and what was left out
  gguf::SplitSet before;               ///< without its tensors, unless it is a dry run that changes some
  gguf::SplitSet after;                ///< the files as planned: their data reads as zeros unless edited in place; of a
                                       ///< dry run that changes no tensor without them
  std::vector<gguf::SetFile> grafted;  ///< files that tensors come from besides `before`
  std::vector<EditedFile> files;
  std::vector<std::string> headers;    ///< that `after` reads, if edited in place
  std::optional<HeaderChange> change;  ///< in place: nothing if no byte changes
};

/// Plans and checks an edit; writes nothing. Whatever can be refused is refused here.
///
/// Errors: "convert-…" never; those of apply_edits(), read_edited_model(), lay_out(); a rule that the edit would break,
/// under its own code (kind input); in place also "edit-in-cache", "edit-in-place-data", "edit-in-place-parts" (kind
/// input), "edit-no-room" (kind output); with an output those of AtomicOutput::check().
Result<EditPlan> plan_edit(const EditOptions& options);

/// Does what was planned. Gives the files written; none in place. Errors: those of write_edited() and change_header().
Result<std::vector<WrittenFile>> perform_edit(const EditOptions& options, EditPlan& plan, Progress& progress);

/// --recover, for every file of a set, or with a journal that is named for the one file. Errors: those of
/// recover_header().
Result<Recovery> recover_edit(const std::string& model, const RecoverOptions& options, Findings& remarks);

}  // namespace modelutils::edit
