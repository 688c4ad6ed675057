// A GGUF model as gguf-edit changes it: keys with their values in memory, tensors by where their data is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edit/operation.h"
#include "gguf/split_set.h"
#include "gguf/write.h"

namespace modelutils::edit {

/// The key that takes room in a header and gives it back: a string of spaces.
inline constexpr std::string_view reserve_key = "modelutils.reserve";
/// Bytes of its record without the string itself.
inline constexpr u64 reserve_record_bytes = 8 + reserve_key.size() + 4 + 8;
/// The filler where there is no room for that name: a text, or where that does not fit either, a bool.
inline constexpr std::string_view short_reserve_key = "_";
inline constexpr u64 short_reserve_text_bytes = 8 + short_reserve_key.size() + 4 + 8;
inline constexpr u64 short_reserve_bool_bytes = 8 + short_reserve_key.size() + 4 + 1;
/// The names of fillers, which are no keys of the model.
inline bool is_filler(std::string_view key) {
  return key == reserve_key || key == short_reserve_key;
}

inline constexpr u64 default_alignment = 32;

/// A part of a tensor's data, from its beginning on.
struct DataSlice {
  u64 from = 0;
  u64 size = 0;
};

struct EditedTensor {
  gguf::OutTensor out;
  std::size_t file = 0;                ///< of the set it comes from
  u64 offset = 0;                      ///< absolute, in that file
  u64 bytes = 0;                       ///< without padding
  u64 alignment = 32;                  ///< of that file
  std::vector<DataSlice> slices = {};  ///< what of the data there becomes the tensor; empty: all of it
};

struct EditedModel {
  u32 version = 3;
  std::vector<gguf::OutKey> keys;  ///< those of the first file
  std::vector<EditedTensor> tensors;
  bool is_end_padded = true;           ///< false: the file ends with the last tensor's last byte
  std::size_t files = 1;               ///< of the set that was opened
  std::vector<gguf::SetFile> grafted;  ///< further files that tensors come from, numbered after those
  std::vector<u64> kept_layers;        ///< where layers were dropped: what number each of the others had
  Findings remarks;                    ///< what --force has overridden

  gguf::OutKey* find_key(std::string_view key);
  EditedTensor* find_tensor(std::string_view name);
  /// The value of general.alignment, or 32 if absent.
  u64 alignment() const;
};

/// How many layers a model has, and how many of them predict further tokens.
struct BlockCounts {
  std::string architecture;
  u64 blocks = 0;
  u64 predicting = 0;

  u64 trunk() const { return blocks - predicting; }
  std::string key(std::string_view suffix) const { return architecture + "." + std::string(suffix); }
};

/// Returns a key's value as a count; 0 if it is missing or not a u32.
u64 count_of(EditedModel& model, const std::string& key);

BlockCounts counts_of(EditedModel& model);

struct ReadOptions {
  bool force = false;
  bool split_keys = false;  ///< keep split.* of the first of several files
};

/// Reads a model that is sound as a container. With `force`, what is not whole is left out, each with a remark: a
/// key or a tensor that is there twice, tensors whose type is not known or whose data is not in the file. Errors: the
/// first container rule of class error that the model breaks; "gguf-big-endian"; reading.
Result<EditedModel> read_edited_model(const gguf::SplitSet& set, ReadOptions options);

/// Applies the operations in order. Errors of kind usage: values, types and roles that do not parse; of kind no_match:
/// globs that select nothing; of kind input: "edit-no-key", "edit-no-tensor", "edit-no-token", "edit-exists" (a name
/// that is taken), "edit-reserved-key" (keys that only their own operations change; with `force` a remark), reading.
Status apply_edits(EditedModel& model, const std::vector<EditOperation>& operations, bool force);

/// --set-token: the key of the role, and the type of the token.
Status set_token(EditedModel& model, const EditOperation& operation);

/// Is the key one of the layout (general.alignment, that of a part of a set, fillers), which only its own options
/// change?
bool is_layout_key(std::string_view key);

}  // namespace modelutils::edit
