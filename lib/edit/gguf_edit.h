// gguf-edit: changes the keys, names and layout of a GGUF model. Copies tensor data or leaves it in place; never
// decodes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "edit/in_place.h"
#include "edit/layout.h"
#include "edit/operation.h"
#include "io/standard_output.h"

namespace modelutils::edit {

struct EditOptions {
  std::string model;
  std::string output;  ///< empty for none; "-" streams to standard output
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

/// The outcome of an edit, or of a dry run.
struct EditPlan {
  Findings remarks;                    ///< rules that --force overrode, and parts that were left out
  gguf::SplitSet before;               ///< without tensors, except in a dry run that changes some
  gguf::SplitSet after;                ///< the planned files; without tensors in a dry run that changes none. Unless
                                       ///< edited in place, their data reads as zeros
  std::vector<gguf::SetFile> grafted;  ///< other files that provide tensors
  std::vector<EditedFile> files;
  std::vector<std::string> headers;    ///< storage for the headers of `after` when editing in place
  std::optional<HeaderChange> change;  ///< nullopt unless edited in place and some byte changes
};

/// Plans and checks an edit without writing. Everything that can be refused is refused here.
///
/// Errors: those of apply_edits(), read_edited_model() and lay_out(); a rule that the edit would break, under its own
/// code (kind input); in place also "edit-in-cache", "edit-in-place-data", "edit-in-place-parts" (kind input),
/// "edit-no-room" (kind output); with an output those of AtomicOutput::check().
Result<EditPlan> plan_edit(const EditOptions& options);

/// Carries out the plan. Returns the files written, none if edited in place. Errors: those of write_edited() and
/// change_header().
Result<std::vector<WrittenFile>> perform_edit(const EditOptions& options, EditPlan& plan, Progress& progress);

/// --recover: recovers every file of a set, or one file with the given journal. Errors: those of recover_header().
Result<Recovery> recover_edit(const std::string& model, const RecoverOptions& options, Findings& remarks);

}  // namespace modelutils::edit
