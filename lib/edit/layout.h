// Decides the layout of an edited model (one file or several, with a filler key if requested) and writes its files:
// header, then the tensor data, copied or shared by the kernel if possible.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "convert/transfer/plan.h"
#include "edit/edited_model.h"
#include "formats/gguf/write.h"
#include "io/atomic_output.h"
#include "io/standard_output.h"

namespace modelutils::edit {

/// --split-…: parts with the names, numbers and tensors that llama.cpp's splitter would give them.
struct SplitOptions {
  std::optional<u64> max_size;     ///< limit on the padded tensor data bytes per part
  std::optional<u64> max_tensors;  ///< limit on tensors per part
  bool no_tensor_first = false;    ///< the first part has only keys

  bool is_wanted() const { return max_size || max_tensors || no_tensor_first; }
};

/// A piece of tensor data to copy. Tensors that are adjacent in both files share a piece.
struct EditedPiece {
  std::size_t file = 0;  ///< index into the set's files
  u64 from = 0;          ///< absolute in that file
  u64 to = 0;            ///< absolute in the output
  u64 size = 0;
};

struct EditedFile : PlannedFile {
  std::vector<EditedPiece> pieces;  ///< ordered by `to`
  std::size_t tensors = 0;
};

struct LayoutOptions {
  std::string output;
  SplitOptions split;
  std::optional<u64> reserve;          ///< --reserve: size of the filler key in bytes; 0 removes it
  std::optional<u64> old_data_offset;  ///< the data gets the same offset within a block as this
};

/// Returns views of the tensors to write.
gguf::OutTensors out_tensors(std::span<const EditedTensor> tensors);

/// Lays out the files. Errors: those of gguf::layout(); of kind usage if there are more than 65,535 parts or the model
/// cannot be split.
Result<std::vector<EditedFile>> lay_out(const EditedModel& model, const LayoutOptions& options);

/// Adds, resizes or removes the filler key so that the data section begins at `data_offset`. Error of kind output:
/// "edit-no-room".
Status fit_header(std::vector<gguf::OutKey>& keys, const gguf::OutTensors& tensors, u64 alignment, u64 data_offset);

// Writes the files of an edited model: header, then the tensor data, copied or shared by the kernel if possible.

/// Writes every file under its temporary name (or in order into a pipe), reads its header back, and then renames all of
/// them. Restarts `progress` with the number of bytes to write. Errors: those of reading, of AtomicOutput and of
/// check_written().
Status write_edited(const std::vector<EditedFile>& files, const gguf::SplitSet& set, const OutputOptions& options,
                    Progress& progress);

}  // namespace modelutils::edit
