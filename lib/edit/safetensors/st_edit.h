// st-edit and pt2st: change a model in safetensors files (layout, types, names, layers) or convert a PyTorch
// checkpoint. Plans from the headers, then streams, checks and renames; bytes that do not change are copied, by the
// kernel if possible. Executes nothing in a checkpoint. Source: docs/st-edit.md, docs/formats/pytorch.md.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "convert/transfer/plan.h"
#include "edit/in_place.h"
#include "edit/safetensors/edited_set.h"
#include "io/atomic_output.h"
#include "io/model_folder.h"
#include "io/standard_output.h"
#include "tensor/value_sums.h"

namespace modelutils::to_safetensors {

struct StEditOptions {
  std::string input;   ///< a safetensors file, an index, a directory, a checkpoint, or an address of one
  std::string output;  ///< FILE.safetensors for a single file, "-" for a pipe, else a directory
  std::vector<StOperation> operations;
  std::optional<u64> max_shard_size;  ///< maximum bytes of tensors per file, unless a single tensor is larger
  bool single = false;                ///< one file
  bool weights_only = false;          ///< without the files beside the weights
  std::optional<u64> reserve;         ///< bytes of white space at the end of every header
  bool ignore_index = false;
  bool force = false;
  bool dry_run = false;
  bool is_pt2st = false;  ///< the name under which the report is made
  OutsideLinks links = OutsideLinks::refuse;
  unsigned threads = default_threads();
  /// Receives the finished report before the outputs are renamed. If it fails, no output appears.
  std::function<Status(const StReport&)> deliver;
};

/// Maximum bytes of tensors per file in a directory made of a checkpoint.
inline constexpr u64 usual_shard_size = 5'000'000'000;

/// Carries out the operations. Errors: those of plan_st_edit(); "edit-overflow" for a value that the type cannot hold;
/// those of writing; "out-check" if the output cannot be read back.
Result<StReport> st_edit(const StEditOptions& options, Progress& progress);

/// The plan of an edit, with the source of each tensor's bytes. A run of copied bytes may hold several tensors.
struct StPlan : Plan {
  std::vector<CopiedFrom> copied_from;  ///< parallel to `stream`
  EditedSet edited;
  std::vector<std::size_t> encoded;  ///< by stream tensor: index into the edited tensors, or no_place for copied runs
  bool to_directory = false;
  std::string index;                ///< contents of the index; empty for a single file
  std::vector<std::string> copied;  ///< files beside the weights: "tokenizer.json", "1_Pooling/config.json"
};

/// Plans and checks everything that needs no output. The plan must not move: parts of it refer to others. Errors: those
/// of open_edited_set() and apply_operations(); "st-write-…"; usage errors.
Result<std::unique_ptr<StPlan>> plan_st_edit(const StEditOptions& options);

/// Lays out the tensors in files: headers, places, index. Internal.
Status lay_out(StPlan& plan, const StEditOptions& options);

/// Lists the files beside the weights, also those in folders. A folder with weights of its own is left out with a note,
/// unless modules.json names it, and so are links to folders. Errors: those of listing; "pt2st-input" if there are too
/// many or a file is too large; "io-link-outside". Internal.
Status list_side_files(StPlan& plan);
/// Copies one of them. Errors: the same, and those of writing. Internal.
Status copy_side_file(const StPlan& plan, const std::string& name, AtomicOutput& to);

/// Fills `out` with the elements [first, first + count) of a tensor. `error`, if any, receives the cast's error. Fails
/// if reading fails, or with "edit-overflow". Internal.
Status encode_tensor(const EditedSet& set, const EditedTensor& tensor, u64 first, u64 count, MutableBytes out,
                     ValueSums* error);
/// True if casting may change a value, so that its error is measured. Internal.
bool may_round(const EditedSet& set, const EditedTensor& tensor);

/// --fix-index: rebuilds the index of a directory from the headers of its files, in place. Returns a sentence for the
/// user. Errors of kind input: those of reading; "st-shard-incomplete", "st-shard-two-files" and other container
/// findings of the files. Errors of kind output: those of AtomicOutput.
Result<std::string> fix_index(const std::string& directory, bool dry_run);

// --in-place: changes __metadata__ in a file's header if the new text fits into the header and the white space after
// it. Uses gguf-edit's journal.

/// Plans --set and --unset in place: a change for each file whose metadata changes. All files are closed again. Errors
/// of kind usage: operations other than --set and --unset. Errors: those of open_edited_set(); "edit-in-cache",
/// "edit-in-place-data" (kind input); "edit-no-room" (kind output).
Result<std::vector<edit::HeaderChange>> plan_metadata_edit(const StEditOptions& options);
/// Applies these changes, one file after the other. Errors: those of edit::change_header().
Status edit_metadata_in_place(const std::vector<edit::HeaderChange>& changes, bool force, Findings& remarks);
/// --recover: undoes or completes an interrupted edit of a file, or of all files of a directory. Errors: those of
/// edit::recover_header().
Result<edit::Recovery> recover_metadata_edit(const std::string& path, const edit::RecoverOptions& options,
                                             Findings& remarks);

/// Returns an index as huggingface_hub writes it. `entries` are pairs of tensor and file.
std::string index_text(std::vector<std::pair<std::string, std::string>> entries, u64 total_size);

}  // namespace modelutils::to_safetensors
