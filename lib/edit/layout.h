// Where everything of an edited model goes: one file or several, with the filler key where it is wanted.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "edit/edited_model.h"
#include "gguf/out_tensors.h"

namespace modelutils::edit {

/// --split-…: parts with the names, numbers and tensors that llama.cpp's splitter gives them.
struct SplitOptions {
  std::optional<u64> max_size;     ///< padded bytes of tensor data in one part
  std::optional<u64> max_tensors;  ///< tensors in one part
  bool no_tensor_first = false;    ///< the first part has only keys

  bool is_wanted() const { return max_size || max_tensors || no_tensor_first; }
};

/// A piece of tensor data to be copied: tensors that follow each other in both files are one.
struct EditedPiece {
  std::size_t file = 0;  ///< of the set it comes from
  u64 from = 0;          ///< absolute, in that file
  u64 to = 0;            ///< absolute, in the output
  u64 size = 0;
};

struct EditedFile {
  std::string path;
  gguf::OutLayout layout;
  std::vector<EditedPiece> pieces;  ///< in rising order of `to`
  std::size_t tensors = 0;
};

struct LayoutOptions {
  std::string output;
  SplitOptions split;
  std::optional<u64> reserve;          ///< --reserve: bytes of the filler key; 0 takes it away
  std::optional<u64> old_data_offset;  ///< the data shall begin at the same place within a block as it does there
};

/// Tensors as they are to be written; views into them.
gguf::OutTensors out_tensors(std::span<const EditedTensor> tensors);

/// Lays out the files. Errors: those of gguf::layout(); kind usage: more than 65,535 parts, or no way to split.
Result<std::vector<EditedFile>> lay_out(const EditedModel& model, const LayoutOptions& options);

/// Gives the filler key the length with which the data section begins at `data_offset`; adds or removes it as needed.
/// Error of kind output: "edit-no-room".
Status fit_header(std::vector<gguf::OutKey>& keys, const gguf::OutTensors& tensors, u64 alignment, u64 data_offset);

}  // namespace modelutils::edit
