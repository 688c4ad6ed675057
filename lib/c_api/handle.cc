#include "c_api/handle.h"

#include <fmt/core.h>

#include <optional>

#include "base/escape.h"
#include "formats/gguf/document.h"
#include "tensor/types.h"

using namespace modelutils;
using namespace modelutils::c_api;

namespace modelutils::c_api {

namespace {

struct LastError {
  mu_status status = MU_OK;
  std::string code;
  std::string message;
  std::string file;
  std::optional<u64> offset;
};

LastError& last_error() noexcept {
  thread_local LastError error;
  return error;
}

struct StatusOfCode {
  std::string_view code;
  mu_status status;
};

// Codes of errors that are not about broken or unreadable files.
constexpr StatusOfCode statuses[] = {
    {"api-argument", MU_ERROR_ARGUMENT},
    {"api-buffer", MU_ERROR_BUFFER},
    {"api-memory", MU_ERROR_MEMORY},
    {"api-not-found", MU_ERROR_NOT_FOUND},
    {"api-range", MU_ERROR_RANGE},
    {"api-type", MU_ERROR_TYPE},
    {"mlx-pack-empty", MU_ERROR_ARGUMENT},
    {"mlx-pack-mismatch", MU_ERROR_ARGUMENT},
    {"mlx-pack-size", MU_ERROR_ARGUMENT},
    {"template-missing", MU_ERROR_NOT_FOUND},
    {"tensor-no-decoder", MU_ERROR_UNSUPPORTED},
};

mu_status status_of(const Error& error) {
  for (const StatusOfCode& row : statuses) {
    if (row.code == error.code) return row.status;
  }
  if (error.kind == ErrorKind::usage) return MU_ERROR_ARGUMENT;
  return error.kind == ErrorKind::internal ? MU_ERROR_INTERNAL : MU_ERROR_INPUT;
}

std::string line_of(const Error& error) {
  std::string line;
  if (!error.file.empty()) line += escape(error.file) + ": ";
  return line + placed_message(error);
}

}  // namespace

mu_status fail(Error error) noexcept {
  try {
    LastError fresh{status_of(error), {}, line_of(error), {}, error.offset};
    fresh.code = std::move(error.code);
    fresh.file = std::move(error.file);
    last_error() = std::move(fresh);
    return last_error().status;
  } catch (...) {
    return fail_without_memory();
  }
}

mu_status fail_without_memory() noexcept {
  LastError& error = last_error();
  error.status = MU_ERROR_MEMORY;
  // Short enough not to allocate (small string optimisation).
  error.code = "api-memory";
  error.message = "out of memory";
  error.file.clear();
  error.offset.reset();
  return error.status;
}

Result<std::string> named_path(const char* named, Manifests manifests) {
  return model_path(std::string_view(named) == "-" ? "./-" : named, manifests);
}

}  // namespace modelutils::c_api

using modelutils::c_api::last_error;

const char* mu_status_name(mu_status status) {
  switch (status) {
    case MU_OK: return "MU_OK";
    case MU_ERROR_ARGUMENT: return "MU_ERROR_ARGUMENT";
    case MU_ERROR_RANGE: return "MU_ERROR_RANGE";
    case MU_ERROR_NOT_FOUND: return "MU_ERROR_NOT_FOUND";
    case MU_ERROR_TYPE: return "MU_ERROR_TYPE";
    case MU_ERROR_BUFFER: return "MU_ERROR_BUFFER";
    case MU_ERROR_UNSUPPORTED: return "MU_ERROR_UNSUPPORTED";
    case MU_ERROR_INPUT: return "MU_ERROR_INPUT";
    case MU_ERROR_MEMORY: return "MU_ERROR_MEMORY";
    case MU_ERROR_INTERNAL: return "MU_ERROR_INTERNAL";
    default: return "unknown status";
  }
}

mu_status mu_last_error_status(void) {
  return last_error().status;
}

const char* mu_last_error_code(void) {
  return last_error().code.c_str();
}

const char* mu_last_error_message(void) {
  return last_error().message.c_str();
}

const char* mu_last_error_file(void) {
  return last_error().file.c_str();
}

int32_t mu_last_error_offset(uint64_t* offset) {
  const std::optional<std::uint64_t>& known = last_error().offset;
  if (offset != nullptr) *offset = known.value_or(0);
  return known ? 1 : 0;
}

namespace {

// The header's numbers equal those in the library's own tables.
#define MU_SAME(name, ...) static_assert(MU_TYPE_##name == static_cast<int>(TensorType::name));
MU_TENSOR_TYPES(MU_SAME)
#undef MU_SAME
static_assert(MU_VALUE_U8 == static_cast<int>(gguf::ValueType::u8));
static_assert(MU_VALUE_F32 == static_cast<int>(gguf::ValueType::f32));
static_assert(MU_VALUE_BOOL == static_cast<int>(gguf::ValueType::boolean));
static_assert(MU_VALUE_STRING == static_cast<int>(gguf::ValueType::string));
static_assert(MU_VALUE_ARRAY == static_cast<int>(gguf::ValueType::array));
static_assert(MU_VALUE_U64 == static_cast<int>(gguf::ValueType::u64));
static_assert(MU_VALUE_F64 == static_cast<int>(gguf::ValueType::f64));

const TypeInfo* find_type(int32_t type) {
  for (const TypeInfo& row : all_types()) {
    if (static_cast<int32_t>(row.type) == type) return &row;
  }
  return nullptr;
}

Result<const TypeInfo*> type_or_error(int32_t type) {
  const TypeInfo* found = find_type(type);
  if (found == nullptr) return input_error("api-not-found", fmt::format("{} is not a tensor element type", type));
  return found;
}

}  // namespace

const char* mu_type_name(int32_t type) {
  if (type == MU_TYPE_UNKNOWN) return "unknown";
  const char* name = nullptr;
  guarded([&]() -> Status {
    MU_ASSIGN(const TypeInfo* const found, type_or_error(type));
    name = found->name.data();  // NUL-terminated, because it is a whole literal
    return {};
  });
  return name;
}

mu_status mu_type_block(int32_t type, uint32_t* elements, uint32_t* bytes) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const TypeInfo* const found, type_or_error(type));
    if (elements != nullptr) *elements = found->block_elements;
    if (bytes != nullptr) *bytes = found->block_bytes;
    return {};
  });
}

const char* mu_text_data(const mu_text* text, uint64_t* size) {
  if (size != nullptr) *size = text == nullptr ? 0 : text->text.size();
  return text == nullptr ? nullptr : text->text.c_str();
}

void mu_text_free(mu_text* text) {
  delete text;
}
