// The contents of a mu_model, and argument checks shared by the API functions.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked_math.h"
#include "base/name_index.h"
#include "c_api/last_error.h"
#include "gguf/document.h"
#include "io/mapped_file.h"
#include "model/model.h"
#include "tokenizer/encode/encoder.h"

namespace modelutils::c_api {

/// The strings of an array, each followed by a NUL.
struct StringArray {
  std::string text;
  std::vector<u64> begin;  ///< start of each string in `text`, and the end of the last one
};

}  // namespace modelutils::c_api

/// Immutable after mu_open(), except for the caches, which only grow and are protected by the mutex.
struct mu_model {
  explicit mu_model(modelutils::Model from);
  mu_model(const mu_model&) = delete;
  mu_model& operator=(const mu_model&) = delete;

  modelutils::Model opened;
  std::string architecture;
  modelutils::c_api::StringArray names;                  ///< of the tensors
  std::vector<modelutils::gguf::KeyValue> own_metadata;  ///< __metadata__ in the form of GGUF's keys
  std::span<const modelutils::gguf::KeyValue> metadata;  ///< that, or the keys of the first GGUF file
  std::vector<std::size_t> entries;                      ///< places in `metadata`, by their number in `keys`
  modelutils::NameIndex keys;

  mutable std::mutex mutex;
  mutable std::vector<std::shared_ptr<modelutils::MappedFile>> mappings;  ///< one per file; null until first use
  mutable std::map<std::size_t, std::unique_ptr<modelutils::c_api::StringArray>> string_arrays;  ///< by metadata index
  mutable std::unique_ptr<modelutils::tokenizer::Encoder> encoder;  ///< null until first use
};

struct mu_text {
  std::string text;
};

namespace modelutils::c_api {

/// Return the entry with this index. Errors: "api-argument" for a null model, "api-range".
Result<const gguf::KeyValue*> metadata_entry(const mu_model* model, u64 index);
Result<const Tensor*> tensor_entry(const mu_model* model, u64 index);

/// Copies `full` to the caller's structure, as far as that reaches. `first_version` is the structure's size in the
/// first version that had it.
template <typename T>
Status give_struct(T full, T* out, std::size_t first_version) {
  const std::size_t room = out->struct_size;
  if (room < first_version) return bad_argument("struct_size is too small: set it to the size of the structure");
  const std::size_t size = room < sizeof(T) ? room : sizeof(T);
  full.struct_size = static_cast<u32>(size);
  std::memcpy(out, &full, size);
  return {};
}

inline int32_t packing_of(mlx::Mode mode) {
  switch (mode) {
    case mlx::Mode::affine: return MU_PACKING_AFFINE;
    case mlx::Mode::mxfp4: return MU_PACKING_MXFP4;
    case mlx::Mode::nvfp4: return MU_PACKING_NVFP4;
    case mlx::Mode::mxfp8: return MU_PACKING_MXFP8;
  }
  return MU_PACKING_NONE;
}

/// Return the row length and the number of rows. A scalar is one row of one element.
inline u64 columns_of(const Model& model, const Tensor& tensor) {
  const std::span<const u64> ne = model.ne_of(tensor);
  return ne.empty() ? 1 : ne.front();
}
inline u64 rows_of(const Model& model, const Tensor& tensor) {
  const u64 columns = columns_of(model, tensor);
  return columns == 0 ? 0 : model.elements_of(tensor) / columns;
}

/// Returns `text` and its size to the caller. The text must be followed by a NUL.
inline void give_text(std::string_view text, const char** out, u64* size) {
  *out = text.data();
  if (size != nullptr) *size = text.size();
}

}  // namespace modelutils::c_api
