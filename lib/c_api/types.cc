#include "tensor/types.h"

#include <fmt/format.h>

#include "c_api/last_error.h"
#include "gguf/document.h"

using namespace modelutils;
using namespace modelutils::c_api;

namespace {

// The header's numbers are those of the library's own tables.
#define MU_SAME(name) static_assert(MU_TYPE_##name == static_cast<int>(TensorType::name))
// clang-format off
MU_SAME(F32); MU_SAME(F16); MU_SAME(Q4_0); MU_SAME(Q4_1); MU_SAME(Q5_0); MU_SAME(Q5_1); MU_SAME(Q8_0); MU_SAME(Q8_1);
MU_SAME(Q2_K); MU_SAME(Q3_K); MU_SAME(Q4_K); MU_SAME(Q5_K); MU_SAME(Q6_K); MU_SAME(Q8_K); MU_SAME(IQ2_XXS);
MU_SAME(IQ2_XS); MU_SAME(IQ3_XXS); MU_SAME(IQ1_S); MU_SAME(IQ4_NL); MU_SAME(IQ3_S); MU_SAME(IQ2_S); MU_SAME(IQ4_XS);
MU_SAME(I8); MU_SAME(I16); MU_SAME(I32); MU_SAME(I64); MU_SAME(F64); MU_SAME(IQ1_M); MU_SAME(BF16); MU_SAME(TQ1_0);
MU_SAME(TQ2_0); MU_SAME(MXFP4); MU_SAME(NVFP4); MU_SAME(Q1_0); MU_SAME(Q2_0); MU_SAME(BOOL); MU_SAME(U8);
MU_SAME(U16); MU_SAME(U32); MU_SAME(U64); MU_SAME(F8_E4M3); MU_SAME(F8_E5M2); MU_SAME(F8_E8M0); MU_SAME(F8_E4M3FNUZ);
MU_SAME(F8_E5M2FNUZ); MU_SAME(F4); MU_SAME(F6_E2M3); MU_SAME(F6_E3M2); MU_SAME(C64);
// clang-format on
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
    name = found->name.data();  // the whole of a literal
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
