#include "pytorch/globals.h"

#include <algorithm>
#include <array>

namespace modelutils::pytorch {

namespace {

struct Row {
  std::string_view module;
  std::string_view name;
  GlobalRole role;
};

constexpr Row rows[] = {
    {"collections", "OrderedDict", GlobalRole::ordered_dict},
    {"collections", "Counter", GlobalRole::counter},
    {"_codecs", "encode", GlobalRole::encode},
    {"builtins", "set", GlobalRole::set},
    {"builtins", "frozenset", GlobalRole::set},
    {"builtins", "bytearray", GlobalRole::plain},
    {"builtins", "complex", GlobalRole::plain},
    {"__builtin__", "set", GlobalRole::set},
    {"__builtin__", "frozenset", GlobalRole::set},
    {"__builtin__", "bytearray", GlobalRole::plain},
    {"__builtin__", "complex", GlobalRole::plain},
    {"torch", "Size", GlobalRole::size},
    {"torch", "device", GlobalRole::plain},
    {"torch.serialization", "_get_layout", GlobalRole::plain},
    {"numpy.core.multiarray", "scalar", GlobalRole::plain},
    {"numpy._core.multiarray", "scalar", GlobalRole::plain},
    {"numpy", "dtype", GlobalRole::numpy_dtype},
    {"torch._utils", "_rebuild_tensor", GlobalRole::rebuild_tensor},
    {"torch._utils", "_rebuild_tensor_v2", GlobalRole::rebuild_tensor_v2},
    {"torch._utils", "_rebuild_tensor_v3", GlobalRole::rebuild_tensor_v3},
    {"torch._utils", "_rebuild_parameter", GlobalRole::rebuild_parameter},
    {"torch._utils", "_rebuild_parameter_with_state", GlobalRole::rebuild_parameter_with_state},
    {"torch.nn.parameter", "Parameter", GlobalRole::parameter},
};

/// An element type: torch's dtype, its older alias, and the matching storage class.
struct Element {
  std::string_view dtype;
  std::string_view alias;
  std::string_view storage;
  std::optional<TensorType> type;
  u32 bytes;
};

constexpr Element elements[] = {
    {"float32", "float", "FloatStorage", TensorType::F32, 4},
    {"float16", "half", "HalfStorage", TensorType::F16, 2},
    {"bfloat16", {}, "BFloat16Storage", TensorType::BF16, 2},
    {"float64", "double", "DoubleStorage", TensorType::F64, 8},
    {"int8", {}, "CharStorage", TensorType::I8, 1},
    {"uint8", {}, "ByteStorage", TensorType::U8, 1},
    {"int16", "short", "ShortStorage", TensorType::I16, 2},
    {"int32", "int", "IntStorage", TensorType::I32, 4},
    {"int64", "long", "LongStorage", TensorType::I64, 8},
    {"bool", {}, "BoolStorage", TensorType::BOOL, 1},
    {"complex64", "cfloat", "ComplexFloatStorage", TensorType::C64, 8},
    {"complex128", "cdouble", "ComplexDoubleStorage", std::nullopt, 16},
    {"uint16", {}, {}, TensorType::U16, 2},
    {"uint32", {}, {}, TensorType::U32, 4},
    {"uint64", {}, {}, TensorType::U64, 8},
    {"float8_e4m3fn", {}, {}, TensorType::F8_E4M3, 1},
    {"float8_e5m2", {}, {}, TensorType::F8_E5M2, 1},
    {"float8_e4m3fnuz", {}, {}, TensorType::F8_E4M3FNUZ, 1},
    {"float8_e5m2fnuz", {}, {}, TensorType::F8_E5M2FNUZ, 1},
    {"float8_e8m0fnu", {}, {}, TensorType::F8_E8M0, 1},
};

constexpr std::string_view untyped_storages[] = {"UntypedStorage", "TypedStorage"};

}  // namespace

std::optional<KnownGlobal> known_global(std::string_view module, std::string_view name) {
  for (const Row& row : rows) {
    if (row.module == module && row.name == name) return KnownGlobal{row.role, {}, 1};
  }
  if (module == "torch") {
    for (const Element& element : elements) {
      if (name == element.dtype || (!element.alias.empty() && name == element.alias)) {
        return KnownGlobal{GlobalRole::dtype, element.type, element.bytes};
      }
    }
  }
  if (module == "torch" || module == "torch.cuda") {
    for (const Element& element : elements) {
      if (!element.storage.empty() && name == element.storage) {
        return KnownGlobal{GlobalRole::storage_class, element.type, element.bytes};
      }
    }
  }
  if (module == "torch.storage" && std::ranges::find(untyped_storages, name) != std::end(untyped_storages)) {
    return KnownGlobal{GlobalRole::storage_class, {}, 1};
  }
  return std::nullopt;
}

}  // namespace modelutils::pytorch
