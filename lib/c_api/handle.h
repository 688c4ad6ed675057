// The contents of a mu_model and what the API functions share: argument checks, the last error of each thread, the
// boundary at which exceptions become statuses, and texts.
#pragma once

#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/name_index.h"
#include "base/types.h"
#include "c_api/modelutils.h"
#include "formats/gguf/document.h"
#include "io/random_access_file.h"
#include "model/listing/chat_source.h"
#include "model/memory/fit.h"
#include "model/model.h"
#include "store/store_names.h"
#include "tokenizer/encode/encoder.h"
#include "tokenizer/encode/vocabulary.h"

namespace modelutils::c_api {

// The last error of each thread, and the boundary at which exceptions become statuses.

/// Stores the error for the calling thread and returns the status for its code.
mu_status fail(Error error) noexcept;
/// Like fail(), for out-of-memory errors; does not allocate.
mu_status fail_without_memory() noexcept;

/// Returns an error "api-argument"; `what` describes the wrong argument.
inline tl::unexpected<Error> bad_argument(std::string what) {
  return input_error("api-argument", std::move(what));
}
inline tl::unexpected<Error> null_argument(std::string_view name) {
  return bad_argument(std::string(name) + " is NULL");
}

/// Runs the body of an API function, which returns a Status, and converts errors and exceptions to a status.
template <typename Body>
mu_status guarded(Body&& body) noexcept {
  try {
    Status status = std::forward<Body>(body)();
    return status ? MU_OK : fail(std::move(status.error()));
  } catch (const std::bad_alloc&) {
    return fail_without_memory();
  } catch (const std::length_error&) {  // the size exceeds what a container can hold
    return fail_without_memory();
  } catch (const std::exception& exception) {
    return fail(internal_error(exception.what()).value());
  } catch (...) {
    return fail(internal_error("unknown exception").value());
  }
}

/// Returns the path that the caller names, directly or as a model in a store. "-" is a file name here, but means
/// standard input to the readers.
Result<std::string> named_path(const char* named, Manifests manifests = Manifests::to_model);

/// Returns `error` about the path of `named`, or a clearer error from clearer_name_error().
inline tl::unexpected<Error> about_named(Error error, const char* named) {
  auto better = clearer_name_error(error, named);
  return tl::make_unexpected(better ? std::move(*better) : std::move(error));
}

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
  std::span<const modelutils::gguf::KeyValue> metadata;  ///< `own_metadata`, or the keys of the first GGUF file
  std::vector<std::size_t> entries;                      ///< positions in `metadata`, by index in `keys`
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

/// Copies the members of `full` that the caller's structure has room for. `first_version` is the size that the
/// structure had when it was introduced.
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

// Memory estimates for an open model.

/// Validates and converts the caller's request; nullptr means an empty request.
Result<memory::FitRequest> fit_request_of(const mu_fit_request* given);
/// Estimates the memory of a GGUF; for a directory, that of the GGUF which mlx2gguf would write.
Result<memory::FitReport> fit_of(const Model& model, const memory::FitRequest& request);

// The tokenizer and the chat templates of an open model.

/// Returns the tokenizer's settings. Fails with "hf-tok-missing" or "tok-missing" if there is none, or if reading
/// fails.
Result<tokenizer::EncodeKeys> tokenizer_keys(const Model& model);
/// Returns the chat template of that name; see chat_source().
Result<ChatSource> chat_of(const Model& model, std::string_view name);

// Helpers for functions that return a mu_text.

/// Runs `body`, which appends to a text, and returns that text to the caller. `name` is the name of the output
/// argument.
template <typename Body>
mu_status give_report(mu_text** out, Body&& body, std::string_view name = "json") noexcept {
  return guarded([&]() -> Status {
    if (out == nullptr) return null_argument(name);
    *out = nullptr;
    auto result = std::make_unique<mu_text>();
    MU_TRY(body(result->text));
    *out = result.release();
    return {};
  });
}

inline Status check_flags(u32 flags, u32 known) {
  if ((flags & ~known) != 0) return bad_argument("unknown flags");
  return {};
}

}  // namespace modelutils::c_api
