// A GGUF model while gguf-edit changes it: keys with values in memory, tensors as references to their data. Edits that
// break a rule which the model kept need --force.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "edit/operation.h"
#include "formats/gguf/split_set.h"
#include "formats/gguf/write.h"

namespace modelutils::edit {

/// The filler key, a string of spaces that reserves room in the header for later edits.
inline constexpr std::string_view reserve_key = "modelutils.reserve";
/// Size of its record without the string's bytes.
inline constexpr u64 reserve_record_bytes = 8 + reserve_key.size() + 4 + 8;
/// The filler if that name does not fit: a string, or a bool if even that does not fit.
inline constexpr std::string_view short_reserve_key = "_";
inline constexpr u64 short_reserve_text_bytes = 8 + short_reserve_key.size() + 4 + 8;
inline constexpr u64 short_reserve_bool_bytes = 8 + short_reserve_key.size() + 4 + 1;
/// True for the names of fillers, which are not keys of the model.
inline bool is_filler(std::string_view key) {
  return key == reserve_key || key == short_reserve_key;
}

inline constexpr u64 default_alignment = 32;

/// A range of a tensor's data, relative to its start.
struct DataSlice {
  u64 from = 0;
  u64 size = 0;
};

struct EditedTensor {
  gguf::OutTensor out;
  std::size_t file = 0;                ///< index into the set's files
  u64 offset = 0;                      ///< absolute in that file
  u64 bytes = 0;                       ///< without padding
  u64 alignment = 32;                  ///< the file's alignment
  std::vector<DataSlice> slices = {};  ///< ranges of the data that make up the tensor; empty for all of it
};

struct EditedModel {
  u32 version = 3;
  std::vector<gguf::OutKey> keys;  ///< of the first file
  std::vector<EditedTensor> tensors;
  bool is_end_padded = true;                ///< false if the file ends with the last byte of the last tensor
  std::size_t files = 1;                    ///< number of files in the opened set
  gguf::Limits limits = gguf::ggml_limits;  ///< of the model's readers
  std::vector<gguf::SetFile> grafted;       ///< additional files with tensors, numbered after the set's files
  std::vector<u64> kept_layers;             ///< after --drop-layers, the old number of each remaining layer
  Findings remarks;                         ///< problems that --force overrode

  /// Return the key or tensor with this name; nullptr if there is none.
  gguf::OutKey* find_key(std::string_view key);
  EditedTensor* find_tensor(std::string_view name);
  /// Returns the value of general.alignment, or 32 if absent.
  u64 alignment() const;
};

/// The number of layers in a model, and how many of them predict further tokens.
struct BlockCounts {
  std::string architecture;
  u64 blocks = 0;
  u64 predicting = 0;

  u64 trunk() const { return blocks - predicting; }
  std::string key(std::string_view suffix) const { return architecture + "." + std::string(suffix); }
};

/// Returns a key's value as a count, or 0 if it is missing or not a u32.
u64 count_of(EditedModel& model, const std::string& key);

/// Reads general.architecture, ARCH.block_count and ARCH.nextn_predict_layers; missing counts are 0.
BlockCounts counts_of(EditedModel& model);

struct ReadOptions {
  bool force = false;
  bool split_keys = false;  ///< keep the split.* keys of the first of several files
};

/// Reads a model that is sound as a container. With `force`, leaves out what is not sound, with a remark for each:
/// repeated keys and tensors, and tensors of unknown type or with missing data. Errors: the first container rule of
/// severity error that the model breaks; "gguf-big-endian"; those of reading.
Result<EditedModel> read_edited_model(const gguf::SplitSet& set, ReadOptions options);

/// Applies the operations in order. Errors of kind usage: values, types and roles that do not parse. Errors of kind
/// no_match: globs that match nothing. Errors of kind input: "edit-no-key", "edit-no-tensor", "edit-no-token",
/// "edit-exists" (the name is taken), "edit-reserved-key" (a key with an operation of its own; with `force` a remark),
/// those of reading.
Status apply_edits(EditedModel& model, const std::vector<EditOperation>& operations, bool force);

/// --set-token: sets the role's key and the token's type.
Status set_token(EditedModel& model, const EditOperation& operation);

/// True for keys that describe the file's layout (general.alignment, split.*, fillers). Only their own options may
/// change them.
bool is_layout_key(std::string_view key);

// Detects edits that break a rule which the model satisfied before. They need --force.

/// Returns the findings in `after` that are not in `before`: every error, and warnings about keys that a loader ignores
/// or refuses (an id beyond the vocabulary, an array of the wrong length, a known key of the wrong type, text that is
/// not UTF-8). Also "edit-architecture" if the architectures differ. The findings have no offsets, since the file does
/// not exist yet. `before` may lack its tensors, which are read again if needed; `was_whole` is is_whole_model() of it.
/// Errors: those of reading.
Result<Findings> broken_by_edit(gguf::SplitSet& before, bool was_whole, const gguf::SplitSet& after);

/// forget_tensors() frees the documents' tensor infos; remember_tensors() reads them again. Errors: those of reading.
void forget_tensors(gguf::SplitSet& set);
Status remember_tensors(gguf::SplitSet& set);

/// Parses the planned file: every key and tensor must be read as it was written. Error: "edit-self-check" (a bug).
Status check_read_back(const gguf::SetFile& file, std::string_view header, gguf::Limits limits);

}  // namespace modelutils::edit
