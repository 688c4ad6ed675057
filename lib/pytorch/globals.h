// The names that a checkpoint's pickle may import: constructors of tensors, and plain data types. Any other name is a
// finding. Source: docs/formats/pytorch.md, "The pickle".
#pragma once

#include <optional>
#include <string_view>

#include "tensor/types.h"

namespace modelutils::pytorch {

enum class GlobalRole : u8 {
  ordered_dict,
  counter,
  encode,  ///< _codecs.encode, which protocol 2 uses to write bytes
  set,
  plain,  ///< bytearray, complex, torch.device and the like: any plain arguments, yields an object
  size,   ///< torch.Size, a tuple
  dtype,
  numpy_dtype,
  rebuild_tensor,
  rebuild_tensor_v2,
  rebuild_tensor_v3,
  rebuild_parameter,
  rebuild_parameter_with_state,
  parameter,
  storage_class,
};

struct KnownGlobal {
  GlobalRole role;
  std::optional<TensorType> type;  ///< for dtypes and storage classes; nullopt if we do not support the type
  u32 element_bytes = 1;           ///< for dtypes and storage classes
};

/// Returns nullopt if module and name together are not on the list.
std::optional<KnownGlobal> known_global(std::string_view module, std::string_view name);

}  // namespace modelutils::pytorch
