#include "tensor/types.h"

#include <fmt/core.h>

#include "c_api/last_error.h"
#include "gguf/document.h"

using namespace modelutils;
using namespace modelutils::c_api;

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
